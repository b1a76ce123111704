/** What an engine keeps of the audit log: a copy that the service fills and callers can only read. */
import type { AuditRow } from '../../store/schema.ts'

/** A row of the log. The hash covers all rows before it: equal marks mean equal logs up to there. */
export type AuditMark = Pick<AuditRow, 'seq' | 'hash'>

export interface AuditCopy {
  last(): Promise<AuditMark | undefined>
  /** Adds the rows where the copy still ends with `after`, on whichever node; else does nothing and gives false. */
  append(after: AuditMark | undefined, rows: readonly AuditRow[]): Promise<boolean>
  /** Removes the oldest rows before `first`, no more than `most` of them; gives how many. */
  trim(first: number, most: number): Promise<number>
  /** Removes everything where the copy still ends with `last`. */
  clear(last: AuditMark): Promise<void>
}

export function isSameMark(one: AuditMark | undefined, other: AuditMark | undefined): boolean {
  return one?.seq === other?.seq && one?.hash === other?.hash
}
