/** Keeps the table `auditlog` up to date: rows that the audit log has gained or lost are copied before a statement reads it. */
import { abortable } from '../../lib/abortable.ts'
import type { AuditRow } from '../../store/database/schema.ts'
import type { AuditCopy, CopiedAuditRow } from '../engines/audit-copy.ts'

/** The audit log itself. The query service has no other access to it. */
export interface AuditSource {
  /** At most `limit` rows after the given one, oldest first; undefined if the log does not contain that row. */
  read(after: CopiedAuditRow | undefined, limit: number): Promise<AuditPart | undefined>
}

export interface AuditPart {
  readonly rows: readonly AuditRow[]
  /** The number of the oldest row in the log. */
  readonly first: number
}

export interface AuditTable {
  /** Resolves when the table holds every row that was in the log at the time of the call. */
  catchUp(signal: AbortSignal): Promise<void>
  /** Deletes rows that the log no longer has. */
  trim(): Promise<void>
}

const BATCH_ROWS = 1_000

export function createAuditTable(source: AuditSource, copy: AuditCopy): AuditTable {
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  return {
    async catchUp(signal) {
      // A call during a copy waits for the next copy, since the running one may have read the log already.
      next ??= running
        .catch(() => {})
        .then(() => {
          running = next ?? running
          next = undefined
          return copyRows(source, copy)
        })
      // A cancelled statement stops waiting immediately; the copy continues for the next ones.
      await abortable(next, signal)
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

async function copyRows(source: AuditSource, copy: AuditCopy): Promise<void> {
  for (;;) {
    const last = await copy.last()
    const part = await source.read(last, BATCH_ROWS)
    if (part === undefined) {
      // The log is a different one, as after a restore, or has lost all copied rows: start again.
      if (last !== undefined) await copy.clear(last)
      continue
    }
    // If another node has appended rows first, the next round continues after them.
    const isAppended = part.rows.length === 0 || (await copy.append(last, part.rows))
    if (!isAppended || part.rows.length === BATCH_ROWS) continue
    await trimTo(copy, part.first)
    return
  }
}

async function trimTo(copy: AuditCopy, first: number): Promise<void> {
  while ((await copy.trim(first, BATCH_ROWS)) === BATCH_ROWS);
}
