/** Compares the answer to a statement on the catalogue with a recorded one, but for listed exceptions. */
import { CUT, EXCEPTIONS, type Exception } from './catalogue-exceptions.ts'

export interface Rows {
  readonly columns: readonly { readonly name: string }[]
  readonly rows: readonly (readonly (string | null)[])[]
}

interface Recorded extends Rows {
  /** Of all rows, where only some are recorded. */
  readonly rowCount?: number | undefined
}

export interface Comparison {
  readonly problem: string | undefined
  /** Those without which there would be a difference. */
  readonly used: readonly Exception[]
  /** Only the columns and the number of rows can be compared. */
  readonly isCut: boolean
}

export function exceptionsFor(text: string): readonly Exception[] {
  return EXCEPTIONS.filter((one) => one.text === undefined || one.text.test(text))
}

export function compareRows(text: string, recorded: Recorded, ours: Rows): Comparison {
  const { rowCount } = recorded
  if (rowCount !== undefined) return compareCut(text, recorded, rowCount, ours)
  if (readLines(recorded, text, NONE).join('\n') === readLines(ours, text, NONE).join('\n'))
    return { problem: undefined, used: [], isCut: false }
  const exceptions = exceptionsFor(text)
  const names = new Set(ours.columns.map(({ name }) => name))
  const masking = exceptions.filter(({ columns = [] }) => columns.some((name) => names.has(name)))
  const hidden = new Set(masking.flatMap(({ columns = [] }) => columns))
  const theirLines = readLines(recorded, text, hidden)
  const ourLines = readLines(ours, text, hidden)
  const missing = without(theirLines, ourLines)
  const added = without(ourLines, theirLines)
  const used = [
    ...masking,
    ...exceptions.filter(({ lacks }) => lacks !== undefined && missing.some((line) => lacks.test(line))),
    ...exceptions.filter(({ adds }) => adds !== undefined && added.some((line) => adds.test(line))),
  ]
  const unexplained = [
    ...missing.filter((line) => !exceptions.some(({ lacks }) => lacks?.test(line))).map((line) => `lacks ${line}`),
    ...added.filter((line) => !exceptions.some(({ adds }) => adds?.test(line))).map((line) => `adds ${line}`),
  ]
  const [first] = unexplained
  const isInOrder = without(theirLines, missing).join('\n') === without(ourLines, added).join('\n')
  return { problem: first ?? (isInOrder ? undefined : 'other order'), used, isCut: false }
}

function compareCut(text: string, recorded: Recorded, rowCount: number, ours: Rows): Comparison {
  if (CUT.some((one) => one.test(text))) return { problem: undefined, used: [], isCut: true }
  const first = ours.rows.slice(0, recorded.rows.length)
  const isSame = !isOrdered(text) || JSON.stringify(first) === JSON.stringify(recorded.rows)
  const problem = rowCount === ours.rows.length && isSame ? undefined : `${ours.rows.length} rows, not ${rowCount}`
  return { problem, used: [], isCut: false }
}

const NONE: ReadonlySet<string> = new Set()

/** Rows without an order, or with one that leaves rows equal, are compared as a set. */
function readLines({ columns, rows }: Rows, text: string, hidden: ReadonlySet<string>): string[] {
  const isHidden = columns.map(({ name }) => hidden.has(name))
  const lines = rows.map((row) => JSON.stringify(row.map((value, index) => (isHidden[index] ? 'hidden' : value))))
  return isOrdered(text) ? lines : lines.sort()
}

function isOrdered(text: string): boolean {
  return /ORDER BY(?!\s+(depth|pg_namespace\.oid$))[^()]*$/i.test(text)
}

/** In their order, each as often as it is in the first list more than in the second. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1)
  return lines.filter((line) => {
    const count = counts.get(line) ?? 0
    counts.set(line, count - 1)
    return count <= 0
  })
}
