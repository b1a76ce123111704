/** A bulk insert on PostgreSQL: each batch of the spool file is one statement whose parameters are arrays; all in one transaction. */
import { open } from 'node:fs/promises'
import { MICROS_PER_DAY, readTimestamp } from 'gatehouse-iql'
import type { PoolClient } from 'pg'
import { type ColumnBatch, findBelow } from '../../batches/batch.ts'
import { atPlace } from '../../batches/row-error.ts'
import { readSpool } from '../../batches/spool-file.ts'
import type { BulkRequest, BulkStatement, WriteOutcome, WriteReply } from '../engine.ts'
import { keyTakenError, verdictError } from '../runtime-error.ts'
import { MAX_SKIPPED_ROWS } from '../skipped-rows.ts'
import { arrayBytes, elementType } from './bulk-arrays.ts'
import { asRefusal } from './failure.ts'
import { runOnce } from './idempotency-keys.ts'
import type { Acquire } from './pool.ts'
import { BEGIN, mustCommit, mustRun } from './protocol/pipeline.ts'
import { withRetries } from './retry.ts'

export function writeBulk(acquire: Acquire, request: BulkRequest): Promise<WriteReply> {
  const { owner, running, idempotencyKey } = request
  return withRetries(acquire, { owner, running, isLong: true, inTransaction: true }, async (client) => {
    await mustRun(client, [BEGIN])
    if (idempotencyKey !== undefined) return runOnce(client, idempotencyKey, () => insertAll(client, request))
    const outcome = await insertAll(client, request)
    await mustCommit(client)
    return { outcome, isReplay: false }
  })
}

async function insertAll(client: PoolClient, request: BulkRequest): Promise<WriteOutcome> {
  const { columns, duplicates, spool, running } = request
  const run = new BulkRun(request)
  const file = await open(spool, 'r')
  try {
    // The next batch is read and encoded while the database inserts the last one.
    let last = Promise.resolve()
    for await (const batch of readSpool(file, columns.length)) {
      running.signal.throwIfAborted()
      const values = batch.columns.map((vector, index) => arrayBytes(vector, columns[index]?.type ?? { kind: 'Text' }))
      await last
      last = run.insert(client, batch, values)
      last.catch(() => {})
    }
    await last
  } finally {
    await file.close()
  }
  const { skipped, replaced, skippedRows, rows } = run
  const counts = duplicates === 'reject' ? {} : { duplicates: { skipped, replaced, skippedRows } }
  return { rowsAffected: rows - skipped, rows: [], isTruncated: false, ...counts }
}

class BulkRun {
  readonly #request: BulkRequest
  readonly #sql: string
  readonly #constants: readonly unknown[]
  rows = 0
  skipped = 0
  replaced = 0
  readonly skippedRows: number[] = []

  constructor(request: BulkRequest) {
    const { insert } = request.statements
    this.#request = request
    this.#constants = insert.parameters.map((parameter) => ('value' in parameter ? parameter.value : null))
    this.#sql = insertSql(request, insert)
  }

  /** The statement returns rows of two columns: what, and a number. */
  async insert(client: PoolClient, batch: ColumnBatch, values: readonly Buffer[]): Promise<void> {
    const { constraints, duplicates, primaryKey } = this.#request
    const before = this.rows
    let [inserted, written, sent] = [0, 0, batch.rows]
    let verdict = -1
    const onRow = ([what, number]: readonly (string | null)[]): void => {
      if (what === 'verdict') verdict = Math.max(verdict, Number(number))
      else if (what === 'inserted') inserted = Number(number)
      else if (what === 'written') written = Number(number)
      else if (what === 'sent') sent = Number(number)
      else if (this.skippedRows.length < MAX_SKIPPED_ROWS) this.skippedRows.push(before + Number(number))
    }
    const parameters = [...this.#constants, ...values] as never
    try {
      await mustRun(client, [{ sql: this.#sql, parameters, onRow }])
    } catch (error) {
      throw this.#atRow(error, batch)
    }
    if (constraints !== undefined && verdict !== -1) throw verdictError(verdict, constraints)
    this.rows += batch.rows
    if (duplicates === 'skip') this.skipped += batch.rows - written
    // The row that has the key may be hidden from the caller.
    if (duplicates === 'replace' && written < sent) throw keyTakenError(primaryKey)
    if (duplicates === 'replace') this.replaced += batch.rows - inserted
  }

  /** A refusal of a row that is too old says which one it is. */
  #atRow(error: unknown, batch: ColumnBatch): unknown {
    const refusal = asRefusal(error)
    if (refusal?.code !== 'Data.TooOld') return error
    const { columns, timeColumn } = this.#request
    const horizon = readTimestamp(String(refusal.details.members?.Horizon)) ?? 0n
    const bound = columns[timeColumn]?.type.kind === 'Date' ? horizon / MICROS_PER_DAY : horizon
    const row = findBelow(batch.columns[timeColumn], bound)
    return row === -1 ? error : atPlace(refusal, { row: this.rows + row + 1 })
  }
}

/** The emitted insert reads the rows of `b`. */
function insertSql(
  { columns, keyColumns, duplicates, constraints }: BulkRequest,
  { sql, parameters }: BulkStatement,
): string {
  const names = columns.map((_column, index) => `c${index}`)
  const arrays = columns.map(({ type }, index) => `$${parameters.length + index + 1}::${elementType(type).name}[]`)
  const rows = `SELECT * FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS u (${[...names, 'n'].join(', ')})`
  const keys = keyColumns.map((column) => `c${column}`)
  // Of rows with one key the last remains.
  const isOncePerKey = duplicates === 'replace' && keys.length > 0
  const source = isOncePerKey
    ? `SELECT DISTINCT ON (${keys.join(', ')}) * FROM (${rows}) AS r ORDER BY ${keys.join(', ')}, n DESC`
    : rows
  // `xmax` is zero in a row that no statement has changed since it was inserted.
  const target = /^INSERT INTO \S+ AS (s\d+) /.exec(sql)?.[1] ?? 's0'
  const extra = [...(duplicates === 'replace' ? [`(${target}.xmax = 0)`] : []), ...keyOutputs()]
  const returning =
    constraints === undefined && extra.length === 0
      ? ' RETURNING 0'
      : extra.length === 0
        ? ''
        : `${constraints === undefined ? ' RETURNING ' : ', '}${extra.join(', ')}`
  const outputs = [
    ...(constraints === undefined ? (extra.length === 0 ? ['zero'] : []) : ['verdict']),
    ...(duplicates === 'replace' ? ['is_new'] : []),
    ...(duplicates === 'skip' ? keys.map((_key, index) => `k${index}`) : []),
  ]
  const facts = [
    `SELECT 'written', count(*) FROM w`,
    ...(constraints === undefined ? [] : [`SELECT 'verdict', coalesce(max(verdict), -1) FROM w`]),
    ...(duplicates === 'replace'
      ? [`SELECT 'inserted', count(*) FROM w WHERE is_new`, `SELECT 'sent', count(*) FROM b`]
      : []),
    ...(duplicates === 'skip' && keys.length > 0 ? [skippedSql(keys)] : []),
  ]
  return `WITH b AS MATERIALIZED (${source}), w (${outputs.join(', ')}) AS (${sql}${returning}) ${facts.join(' UNION ALL ')}`

  function keyOutputs(): string[] {
    if (duplicates !== 'skip') return []
    return keyColumns.map((column) => `${target}."${(columns[column]?.name ?? '').replaceAll('"', '""')}"`)
  }
}

/** The first row of a key that was inserted is the one that was. */
function skippedSql(keys: readonly string[]): string {
  const same = keys.map((key, index) => `w.k${index} = x.${key}`).join(' AND ')
  const numbered = `SELECT n, ${keys.join(', ')}, row_number() OVER (PARTITION BY ${keys.join(', ')} ORDER BY n) AS i FROM b`
  return `(SELECT 'skipped', x.n FROM (${numbered}) AS x WHERE x.i > 1 OR NOT EXISTS (SELECT 1 FROM w WHERE ${same}) ORDER BY x.n)`
}
