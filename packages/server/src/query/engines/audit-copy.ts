/** The engine's copy of the audit log, which the service fills and callers can only read. */
import type { AuditRow } from '../../store/database/schema.ts'
import type { Bindable } from './emit/parameters.ts'

/** A row of the log. Its hash covers all earlier rows: equal positions mean equal logs up to there. */
export type AuditPosition = Pick<AuditRow, 'seq' | 'hash'>

export interface AuditCopy {
  last(): Promise<AuditPosition | undefined>
  /** Adds the rows if the copy still ends with `after`; otherwise another node was faster, and the result is false. */
  append(after: AuditPosition | undefined, rows: readonly AuditRow[]): Promise<boolean>
  /** Deletes the oldest rows before `first`, at most `count`; returns how many. */
  trim(first: number, count: number): Promise<number>
  /** Deletes everything if the copy still ends with `last`. */
  clear(last: AuditPosition): Promise<void>
}

export interface AuditCopyOptions {
  readonly table: string
  readonly placeholder: (position: number) => string
  /** A query for the columns of `AUDIT_COLUMNS`, over a parameter that is a JSON array of rows. */
  readonly rowsFrom: (placeholder: string) => string
  readonly last: (sql: string) => Promise<AuditPosition | undefined>
  /** Runs a statement while no other node changes the copy; returns the rows affected. */
  readonly execute: (sql: string, parameters: readonly Bindable[]) => Promise<number>
}

export const AUDIT_COLUMNS = 'seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash'

export function createAuditCopy({ table, placeholder, rowsFrom, last, execute }: AuditCopyOptions): AuditCopy {
  const [first, second] = [placeholder(1), placeholder(2)]
  const lastHash = `coalesce((SELECT hash FROM ${table} ORDER BY seq DESC LIMIT 1), '')`
  const appendSql = `INSERT INTO ${table} (${AUDIT_COLUMNS}) ${rowsFrom(first)} WHERE ${lastHash} = ${second}`
  const trimSql = `DELETE FROM ${table} WHERE seq IN (SELECT seq FROM ${table} WHERE seq < ${first} ORDER BY seq LIMIT ${second})`
  return {
    last: () => last(`SELECT seq, hash FROM ${table} ORDER BY seq DESC LIMIT 1`),
    append: async (after, rows) => (await execute(appendSql, [JSON.stringify(rows), after?.hash ?? ''])) > 0,
    trim: (before, count) => execute(trimSql, [before, count]),
    async clear({ hash }) {
      await execute(`DELETE FROM ${table} WHERE ${lastHash} = ${first}`, [hash])
    },
  }
}
