/** The engine's copy of the audit log, which the service fills and callers can only read. */
import type { AuditRow } from '../../store/database/schema.ts'
import type { BuildSql, ServiceStore } from './service-store.ts'

/** A row of the log. Its hash covers all earlier rows: equal hashes mean equal logs up to there. */
export type CopiedAuditRow = Pick<AuditRow, 'seq' | 'hash'>

export const AUDIT_COLUMNS = 'seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash'

export class AuditCopy {
  readonly #store: ServiceStore
  readonly #rowsFrom: (placeholder: string) => string
  readonly #table: string
  readonly #lastHash: string

  /** `rowsFrom` is a query for the columns of `AUDIT_COLUMNS`, over a parameter that is a JSON array of rows. */
  constructor(store: ServiceStore, rowsFrom: (placeholder: string) => string) {
    this.#store = store
    this.#rowsFrom = rowsFrom
    this.#table = `${store.schema}._gh_auditlog`
    this.#lastHash = `coalesce((SELECT hash FROM ${this.#table} ORDER BY seq DESC LIMIT 1), '')`
  }

  async last(): Promise<CopiedAuditRow | undefined> {
    const [last] = await this.#store.read<CopiedAuditRow>(
      () => `SELECT seq, hash FROM ${this.#table} ORDER BY seq DESC LIMIT 1`,
    )
    // PostgreSQL sends 64-bit integers as texts.
    return last && { ...last, seq: Number(last.seq) }
  }

  /** Adds the rows if the copy still ends with `after`; otherwise another node was faster, and the result is false. */
  async append(after: CopiedAuditRow | undefined, rows: readonly AuditRow[]): Promise<boolean> {
    const appended = await this.#execute(
      (value) => `INSERT INTO ${this.#table} (${AUDIT_COLUMNS}) ${this.#rowsFrom(value(JSON.stringify(rows)))}
        WHERE ${this.#lastHash} = ${value(after?.hash ?? '')}`,
    )
    return appended > 0
  }

  /** Deletes the oldest rows before `first`, at most `count`; returns how many. */
  trim(first: number, count: number): Promise<number> {
    return this.#execute(
      (value) => `DELETE FROM ${this.#table} WHERE seq IN
        (SELECT seq FROM ${this.#table} WHERE seq < ${value(first)} ORDER BY seq LIMIT ${value(count)})`,
    )
  }

  /** Deletes everything if the copy still ends with `last`. */
  async clear({ hash }: CopiedAuditRow): Promise<void> {
    await this.#execute((value) => `DELETE FROM ${this.#table} WHERE ${this.#lastHash} = ${value(hash)}`)
  }

  #execute(build: BuildSql): Promise<number> {
    return this.#store.write([build], this.#table)
  }
}
