/**
 * Attacks a regular expression with texts made from its own parts, and finds one on which it backtracks more than in proportion to the
 * length. Not a proof: what repeats, what precedes it and what makes it fail are tried, not every combination.
 */

/** A part that matches one character, or a group. */
type Part =
  | { readonly kind: 'character'; readonly matches: readonly string[]; readonly most: number; readonly least: number }
  | { readonly kind: 'group'; readonly choices: readonly Part[][]; readonly most: number; readonly least: number }

/** Quadratic backtracking takes some 8 million steps for this many of one character, linear matching less than a millisecond. */
const LENGTH = 4096
/** Exponential backtracking shows in these, each of which takes at most 64 times as long as the one before. */
const SHORT = [18, 24, 30, 512, 2048]
const SLOW_MS = 4
const RUNS = 5
/** Between twice the time for twice the text, which a busy machine may show too, and four times. */
const MORE_THAN_DOUBLE = 2.8
const MOST_PAIRS = 40
const FAILING = ['', '\u0001', '\n', '!']
const CANDIDATES = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...['\u00a0', 'é', 'ß', '\u2028', '中', '\ud800', '😀'],
].toSorted((one, other) => Number(/[a-z0-9]/.test(other)) - Number(/[a-z0-9]/.test(one)))

/** The text, shortened, on which it is slow; undefined if none was found. */
export function findBacktracking(expression: RegExp): string | undefined {
  for (const { before, pump, after } of attacksOn(expression)) {
    // A longer pump repeats less often in a text of the same length.
    const slow = [...SHORT, LENGTH * Math.ceil(Math.sqrt(pump.length))].find((length) => {
      const text = (most: number) => before + pump.repeat(Math.ceil(most / pump.length)) + after
      return isSlow(expression, text(length), text(length / 2))
    })
    if (slow !== undefined) return JSON.stringify(`${before}${pump.repeat(2)}…${after}`)
  }
  return undefined
}

/** By the least processor time of a few runs in turn, which another process on the machine can hardly lengthen. */
function isSlow(expression: RegExp, text: string, half: string): boolean {
  let least = Number.POSITIVE_INFINITY
  let leastOfHalf = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    least = Math.min(least, measure(expression, text))
    if (least < SLOW_MS) return false
    leastOfHalf = Math.min(leastOfHalf, measure(expression, half))
  }
  return least > MORE_THAN_DOUBLE * leastOfHalf
}

function measure(expression: RegExp, text: string): number {
  expression.lastIndex = 0
  const before = process.threadCpuUsage()
  expression.test(text)
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

interface Attack {
  readonly before: string
  readonly pump: string
  readonly after: string
}

function* attacksOn(expression: RegExp): Generator<Attack> {
  const choices = new Parser(expression).parse()
  const pumps = new Map<string, Set<string>>()
  const add = (pump: string, before: string): void => {
    if (pump !== '') pumps.set(pump, (pumps.get(pump) ?? new Set([''])).add(before))
  }
  const representatives = distinctCharacters(choices)
  for (const { part, before } of repeated(choices)) {
    for (const character of representatives) add(character, before)
    if (part.kind === 'group') for (const choice of part.choices) add(sample(choice), before)
    // What starts a search again at each of its places.
    add(before + sample([part]), '')
  }
  for (const [pump, befores] of pumps)
    for (const before of befores) for (const after of FAILING) yield { before, pump, after }
  if (pumps.size === 0) return
  const pairs = representatives.flatMap((one) => representatives.map((other) => one + other))
  for (const pump of pairs.slice(0, MOST_PAIRS)) yield { before: '', pump, after: '\u0001' }
}

/** One character for each set of parts that match the same ones. */
function distinctCharacters(choices: readonly Part[][]): string[] {
  const sets = [...characterParts(choices)].map(({ matches }) => new Set(matches))
  const bySets = new Map<string, string>()
  for (const character of CANDIDATES) {
    const key = sets.map((set) => Number(set.has(character))).join('')
    if (key.includes('1') && !bySets.has(key)) bySets.set(key, character)
  }
  return [...bySets.values()]
}

function* characterParts(choices: readonly Part[][]): Generator<Extract<Part, { kind: 'character' }>> {
  for (const part of choices.flat()) {
    if (part.kind === 'character') yield part
    else yield* characterParts(part.choices)
  }
}

/** Each part without an upper bound, and a text that leads to it. */
function* repeated(
  choices: readonly Part[][],
  before = '',
): Generator<{ readonly part: Part; readonly before: string }> {
  for (const choice of choices) {
    let passed = before
    for (const part of choice) {
      if (part.most === Number.POSITIVE_INFINITY) yield { part, before: passed }
      if (part.kind === 'group') yield* repeated(part.choices, passed)
      passed += sample([part])
    }
  }
}

function sample(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      const once = part.kind === 'character' ? (part.matches[0] ?? '') : sample(part.choices[0] ?? [])
      return once.repeat(Math.min(Math.max(part.least, 1), 64))
    })
    .join('')
}

/** Enough of the syntax to find the parts; what a class or an escape matches is asked of the expression of it alone. */
class Parser {
  readonly #source: string
  readonly #flags: string
  readonly #matches = new Map<string, readonly string[]>()
  #at = 0

  constructor({ source, flags }: RegExp) {
    this.#source = source
    this.#flags = flags.replace(/[gyd]/g, '')
  }

  parse(): Part[][] {
    const choices = this.#choices()
    if (this.#at < this.#source.length) throw new Error(`Not understood at ${this.#at}: ${this.#source}`)
    return choices
  }

  #choices(): Part[][] {
    const choices: Part[][] = [[]]
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      if (this.#take(/\|/y) !== undefined) choices.push([])
      else if (this.#take(/\^|\$|\\[bB]/y) === undefined) choices.at(-1)?.push(this.#part())
    }
    return choices
  }

  #part(): Part {
    if (this.#take(/\((?:\?(?::|[=!]|<[=!]|<\w+>|[a-z-]+:))?/y) !== undefined) {
      const choices = this.#choices()
      this.#at++
      return { kind: 'group', choices, ...this.#bounds() }
    }
    const text = this.#take(
      /\[(?:\\.|[^\]\\])*\]|\\(?:u\{\w+\}|u\w{4}|x\w\w|p\{[^}]*\}|P\{[^}]*\}|k<\w+>|c[A-Z]|.)|[\ud800-\udbff][\udc00-\udfff]|./sy,
    )
    return { kind: 'character', matches: this.#matched(text ?? ''), ...this.#bounds() }
  }

  #matched(text: string): readonly string[] {
    const known = this.#matches.get(text)
    if (known !== undefined) return known
    // A reference to a group matches what that matched: nothing here.
    const isReference = /^\\(?:[1-9]|k<)/.test(text)
    const single = isReference ? /^$/ : new RegExp(`^(?:${text})$`, this.#flags)
    const matches = CANDIDATES.filter((character) => single.test(character))
    this.#matches.set(text, matches)
    return matches
  }

  #bounds(): { least: number; most: number } {
    const text = this.#take(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y) ?? '{1}'
    if (text.startsWith('*')) return { least: 0, most: Number.POSITIVE_INFINITY }
    if (text.startsWith('+')) return { least: 1, most: Number.POSITIVE_INFINITY }
    if (text.startsWith('?')) return { least: 0, most: 1 }
    const [, least, comma, most] = /^\{(\d+)(,?)(\d*)/.exec(text) ?? []
    const last = comma === '' ? Number(least) : most === '' ? Number.POSITIVE_INFINITY : Number(most)
    // Long enough for a text of a caller.
    return { least: Number(least), most: last >= 100 ? Number.POSITIVE_INFINITY : last }
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#source)?.[0]
    this.#at += found?.length ?? 0
    return found
  }
}
