/** The delimiter of CSV: detected from its first records, or given. */
import { parseCsvRecord } from './record.ts'

/** The first is assumed where a file has one column only. */
const DELIMITERS = [
  [',', 'comma'],
  [';', 'semicolon'],
  ['\t', 'tab'],
  ['|', 'bar'],
] as const

/** The number of records that are read to detect the delimiter. */
export const DELIMITER_SAMPLE = 100

export function delimiterName(delimiter: string): string {
  return DELIMITERS.find(([character]) => character === delimiter)?.[1] ?? delimiter
}

/** By its name or itself; undefined if there is no such delimiter. */
export function readDelimiter(text: string): string | undefined {
  return DELIMITERS.find((known) => known.some((form) => form === text.toLowerCase()))?.[0]
}

/** The one that splits the most records into as many fields as the header; of equal ones that with more fields. */
export function guessDelimiter(records: readonly string[]): string {
  const scores = DELIMITERS.map(([delimiter]) => {
    const [header = 0, ...counts] = records.map((raw) => countFields(raw, delimiter))
    const agreeing = counts.filter((count) => count === header).length
    return { delimiter, agreeing: header > 1 ? agreeing : -1, fields: header }
  })
  const [best] = scores.toSorted((a, b) => b.agreeing - a.agreeing || b.fields - a.fields)
  return best === undefined || best.agreeing < 0 ? ',' : best.delimiter
}

function countFields(raw: string, delimiter: string): number {
  const parsed = parseCsvRecord(raw, delimiter)
  return 'problem' in parsed ? 0 : parsed.fields.length
}
