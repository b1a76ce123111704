/** The file of rejected rows: each as it was, after its line and the reason, which an import of the file leaves out. */
import { sameName } from 'gatehouse-iql'
import { closingQuote, csvField } from './record.ts'

export interface RejectedRecord {
  readonly line: number
  readonly raw: string
  readonly reason: string
}

/** Names that a column of the rows themselves hardly has. */
const NOTES: readonly string[] = ['rejected_line', 'rejected_reason']

export function rejectedHeader(names: readonly string[], delimiter: string): string {
  return [...NOTES, ...names].map((name) => csvField(name, delimiter)).join(delimiter)
}

export function rejectedLine({ line, reason, raw }: RejectedRecord, delimiter: string): string {
  return [line, csvField(reason, delimiter), raw].join(delimiter)
}

/** Whether the columns of a file begin with those of a file of rejected rows. */
export function hasNotes(names: readonly string[]): boolean {
  return NOTES.every((name, index) => sameName(names[index] ?? '', name))
}

/** The record as it was before it was rejected. */
export function withoutNotes(raw: string, delimiter: string): string {
  let at = 0
  for (const _ of NOTES) {
    const closing = raw[at] === '"' ? closingQuote(raw, at) : at
    const end = closing === -1 ? -1 : raw.indexOf(delimiter, closing)
    // Too few fields; the rows below show it.
    if (end === -1) return raw
    at = end + 1
  }
  return raw.slice(at)
}
