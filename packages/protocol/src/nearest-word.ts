/** The known word nearest to a misspelled one, for "did you mean …". Case is ignored. */

/** Longer words are not typed by hand, and comparing them costs too much. */
const MAX_LENGTH = 64
/** Pairs of letters compared at most, so that a long list cannot make an error slow: some milliseconds, for a thousand words or more. */
const MAX_COMPARED = 100_000

/** Undefined if none is near. `tolerance` is the edit distance that is allowed in a short word. */
export function nearest(word: string, known: Iterable<string>, tolerance = 2): string | undefined {
  if (word.length > MAX_LENGTH) return undefined
  const wanted = word.toLowerCase()
  let best: string | undefined
  let limit = Math.max(tolerance, Math.floor(wanted.length / 3)) + 1
  let compared = 0
  for (const candidate of known) {
    if (Math.abs(candidate.length - wanted.length) >= limit) continue
    const [rest, other] = withoutCommonEnds(wanted, candidate.toLowerCase())
    compared += rest.length * other.length
    if (compared > MAX_COMPARED) break
    const distance = editDistance(rest, other)
    if (distance >= limit || distance >= wanted.length) continue
    best = candidate
    limit = distance
  }
  return best
}

/** A common prefix or suffix of two words does not change their distance. Names of one catalogue often share a long prefix. */
function withoutCommonEnds(a: string, b: string): [string, string] {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a[start] === b[start]) start++
  let end = 0
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)]
}

/** The number of insertions, deletions, substitutions and swaps of neighbours that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let distance = Math.min(substitution, at(previous, j) + 1, at(row, j - 1) + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        distance = Math.min(distance, at(beforePrevious, j - 2) + 1)
      row.push(distance)
    }
    beforePrevious = previous
    previous = row
  }
  return at(previous, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
