/** Keeps the table auditlog: before a statement reads it, what the audit log has gained and lost is carried over. */
import type { AuditRow } from '../store/schema.ts'
import { AUDIT_LOG } from './catalogue/system-tables.ts'
import type { AuditCopy, AuditMark } from './engines/audit-copy.ts'
import type { Bound } from './iql/bound.ts'
import { unlessAborted } from './unless-aborted.ts'

/** The audit log itself, which this service cannot reach in any other way. */
export interface AuditSource {
  /** At most `most` rows after the given one, oldest first; undefined where the log has no such row. */
  read(after: AuditMark | undefined, most: number): Promise<AuditPart | undefined>
}

export interface AuditPart {
  readonly rows: readonly AuditRow[]
  /** The number of the oldest row that the log still has. */
  readonly first: number
}

export interface AuditTable {
  /** Resolves when everything that was in the log at the call is in the table. */
  catchUp(signal: AbortSignal): Promise<void>
  /** Takes away what the log no longer has. */
  trim(): Promise<void>
}

const ROWS_AT_ONCE = 1_000

export function readsAuditLog({ tables }: Bound): boolean {
  return tables.some(({ isSystem, name }) => isSystem && name === AUDIT_LOG)
}

export function createAuditTable(source: AuditSource, copy: AuditCopy): AuditTable {
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  return {
    async catchUp(signal) {
      // Who comes while rows are carried waits for the turn after: the one at work may have read the log already.
      next ??= running
        .catch(() => {})
        .then(() => {
          running = next ?? running
          next = undefined
          return carryOver(source, copy)
        })
      // A statement that is stopped leaves at once; the copy goes on for those that follow.
      await unlessAborted(next, signal)
    },
    async trim() {
      const last = await copy.last()
      if (last === undefined) return
      const part = await source.read(last, 0)
      if (part === undefined) await copy.clear(last)
      else await trimTo(copy, part.first)
    },
  }
}

async function carryOver(source: AuditSource, copy: AuditCopy): Promise<void> {
  for (;;) {
    const last = await copy.last()
    const part = await source.read(last, ROWS_AT_ONCE)
    if (part === undefined) {
      // Another log than the one copied, after a restore, or one whose rows have all gone since: begin anew.
      if (last !== undefined) await copy.clear(last)
      continue
    }
    // Where another node was faster the next round goes on from what it wrote.
    const isAppended = part.rows.length === 0 || (await copy.append(last, part.rows))
    if (!isAppended || part.rows.length === ROWS_AT_ONCE) continue
    await trimTo(copy, part.first)
    return
  }
}

async function trimTo(copy: AuditCopy, first: number): Promise<void> {
  while ((await copy.trim(first, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
}
