/** Finds the known name that a mistyped one most likely stands for. */

/** "did you mean price?" or undefined when nothing is near. Names compare without case. */
export function didYouMean(written: string, known: Iterable<string>): string | undefined {
  const near = nearest(written, known)
  return near === undefined ? undefined : `did you mean ${near}?`
}

/** Names longer than this are never mistyped by hand, and comparing them would cost too much. */
const LONGEST = 64
/** How many known names are looked at, so that a large catalogue cannot make an error slow. */
const MOST_NAMES = 2000

function nearest(written: string, known: Iterable<string>): string | undefined {
  if (written.length > LONGEST) return undefined
  const word = written.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1
  let looked = 0
  for (const name of known) {
    if (++looked > MOST_NAMES) break
    if (Math.abs(name.length - word.length) >= bestDistance) continue
    const distance = editDistance(word, name.toLowerCase())
    if (distance >= bestDistance || distance >= word.length) continue
    best = name
    bestDistance = distance
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(at(previous, j) + 1, at(current, j - 1) + 1, at(previous, j - 1) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, at(beforePrevious, j - 2) + 1)
      }
      current.push(least)
    }
    beforePrevious = previous
    previous = current
  }
  return at(previous, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
