/** Statements of the recordings on our tables whose answers differ from PostgreSQL's, and why. */

export interface Difference {
  readonly why: string
  /** In the text of the statement. */
  readonly text: RegExp
  /** The SQLSTATE with which it is refused; absent where only values or types differ. */
  readonly code?: string
}

export const DIFFERENCES: readonly Difference[] = [
  { why: 'the version of the server', text: /\bversion\(\)/ },
  { why: 'the time of the statement', text: /\bnow\(\)/ },
  { why: 'timestamp is a time in UTC', text: /::timestamp( AS value)?$/ },
  { why: 'EXTRACT gives an Integer', text: /\bextract\(/i },
  { why: 'the scale of a quotient', text: /AS vwap\b/ },
  { why: 'the unit of date_trunc is a literal', text: /date_trunc\(\$1::VARCHAR/, code: '42883' },
]

export function findDifference(text: string): Difference | undefined {
  return DIFFERENCES.find(({ text: pattern }) => pattern.test(text))
}

/** IQL has one type of whole numbers and one of texts: what int2, int4, varchar and name are here. */
const SAME_TYPES: ReadonlyMap<number, number> = new Map([
  [21, 20],
  [23, 20],
  [19, 25],
  [1043, 25],
])

export function ourType(type: number): number {
  return SAME_TYPES.get(type) ?? type
}
