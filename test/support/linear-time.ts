/**
 * Attacks a scanner with repeated texts and finds inputs on which its time grows faster than their length. Judged by the processor time
 * of this thread, the least of several runs, so that a busy machine does not matter.
 */

export interface Scanner {
  readonly name: string
  /** May throw or return a promise: only its time counts. */
  readonly scan: (text: string) => unknown
  /** What is repeated; at random also several of them together. */
  readonly tokens: readonly string[]
  /** What comes before and after it. */
  readonly around?: readonly (readonly [before: string, after: string])[]
  /** The longest text that a caller can send. */
  readonly most: number
  /** How many times as long as others it may take for a byte; its time still has to grow as the length. */
  readonly slowness?: number
}

export interface Finding {
  readonly scanner: string
  readonly input: string
  readonly milliseconds: number
}

/** Short enough that even an exponential scanner ends: a step adds a third. */
const FIRST_COUNTS = [4, 8, 12, 14, 16, 18, 20, 22, 24, 32, 48, 64]
const LENGTHS = [2048, 8192, 32_768, 131_072, 524_288]
/** A step to four times the length may take this many times as long. */
const MOST_GROWTH = 9
/** Below this, noise is larger than growth. */
const LEAST_MS = 40
/** For any text: 1.5 µs a byte is slower than any scanner here, also before it is compiled. */
const allowedMs = (length: number): number => 30 + length * 0.0015
const RUNS = 6

/** The inputs with which a scanner is attacked: each as a function of how often the token is repeated. */
export function* attacks(scanner: Scanner, random?: () => number): Generator<(count: number) => string> {
  const { tokens, around = [['', '']] } = scanner
  const pumps = random === undefined ? tokens : mixtures(tokens, random)
  for (const pump of pumps)
    for (const [before, after] of around) yield (count) => before + pump.repeat(Math.max(1, count)) + after
}

function* mixtures(tokens: readonly string[], random: () => number): Generator<string> {
  const pick = (): string => tokens[Math.floor(random() * tokens.length)] ?? ''
  for (let count = 0; count < 100; count++) yield Array.from({ length: 1 + Math.floor(random() * 5) }, pick).join('')
}

/** The first size at which this attack is too slow. */
export async function findSlow(scanner: Scanner, attack: (count: number) => string): Promise<Finding | undefined> {
  const pumpLength = Math.max(1, attack(2).length - attack(1).length)
  const counts = [
    ...FIRST_COUNTS,
    ...LENGTHS.filter((length) => length <= scanner.most).map((length) => length / pumpLength),
  ]
  let before = { length: 0, milliseconds: Number.POSITIVE_INFINITY }
  for (const count of counts) {
    const text = attack(Math.floor(count))
    if (text.length > scanner.most || text.length <= before.length) continue
    const isSlow = (milliseconds: number): boolean => {
      const steps = Math.log(text.length / before.length) / Math.log(4)
      const grows = milliseconds > LEAST_MS && milliseconds > before.milliseconds * MOST_GROWTH ** Math.max(1, steps)
      return grows || milliseconds > allowedMs(text.length) * (scanner.slowness ?? 1)
    }
    let milliseconds = await measure(scanner, text)
    for (let run = 1; run < RUNS && isSlow(milliseconds); run++)
      milliseconds = Math.min(milliseconds, await measure(scanner, text))
    if (isSlow(milliseconds)) return { scanner: scanner.name, input: describe(text), milliseconds }
    // The rest of what is too fast to be measured is not taken for growth.
    before = { length: text.length, milliseconds: Math.max(milliseconds, LEAST_MS / MOST_GROWTH) }
  }
  return undefined
}

async function measure({ scan }: Scanner, text: string): Promise<number> {
  const before = process.threadCpuUsage()
  try {
    const scanned = scan(text)
    if (scanned instanceof Promise) await scanned
  } catch {
    // A refusal.
  }
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

function describe(text: string): string {
  return `${text.length} characters: ${JSON.stringify(text.slice(0, 60))}…${JSON.stringify(text.slice(-20))}`
}
