/** Runs one write, or the changes of a catalogue, in a transaction of the caller: in the server and in the process for long writes. */
import type { Database } from 'better-sqlite3'
import { MAX_RESULT_ROW_BYTES } from '../../iql/limits.ts'
import { ReturnedRows, type RowReader } from '../bounded-rows.ts'
import { type Bindable, sizeOfAll } from '../emit/slots.ts'
import type {
  ChangeRequest,
  IdempotencyKey,
  StoredResponse,
  WriteOutcome,
  WriteReply,
  WriteRequest,
} from '../engine.ts'
import { type ResponseRow, readResponse, writeOutcome } from '../idempotency.ts'
import { rowFilterError, rowTooLongError } from '../runtime-error.ts'
import { applyChanges } from './catalogue.ts'
import { resetTrackedRows } from './functions.ts'
import { type RawRow, rowReader } from './representation.ts'
import type { StatementCache } from './statement-cache.ts'

/** Plain data, which can cross to the process for long writes. */
export type WriteJob = Omit<WriteRequest, 'running' | 'owner' | 'tables'>
export type ChangeJob = Omit<ChangeRequest, 'signal' | 'owner'>

export function runWrite(database: Database, statements: StatementCache, job: WriteJob): WriteReply {
  const { idempotencyKey } = job
  if (idempotencyKey === undefined) return { outcome: execute(database, statements, job), isReplay: false }
  const first = findResponse(database, idempotencyKey)
  if (first !== undefined) return { outcome: first, isReplay: true }
  return storeResponse(database, { idempotencyKey, outcome: execute(database, statements, job) })
}

export function runChange(database: Database, { changes, response }: ChangeJob): WriteReply | undefined {
  const first = response === undefined ? undefined : findResponse(database, response.idempotencyKey)
  if (first !== undefined) return { outcome: first, isReplay: true }
  applyChanges(database, changes)
  return response === undefined ? undefined : storeResponse(database, response)
}

export function findResponse(database: Database, idempotencyKey: IdempotencyKey): WriteOutcome | undefined {
  const row = database
    .prepare<[string, string], ResponseRow>(
      'SELECT fingerprint, answer FROM main._gh_requests WHERE owner = ? AND key = ?',
    )
    .get(idempotencyKey.owner, idempotencyKey.key)
  return row === undefined ? undefined : readResponse(row, idempotencyKey)
}

function storeResponse(database: Database, { idempotencyKey, outcome }: StoredResponse): WriteReply {
  const { owner, key, fingerprint, now } = idempotencyKey
  database
    .prepare('INSERT INTO main._gh_requests (owner, key, fingerprint, answer, created) VALUES (?, ?, ?, ?, ?)')
    .run(owner, key, fingerprint, writeOutcome(outcome), now)
  return { outcome, isReplay: false }
}

function execute(database: Database, statements: StatementCache, job: WriteJob): WriteOutcome {
  const { returning, isChecked, isShort } = job
  const returned = new ReturnedRows(job, readerOf(returning))
  let rowsAffected = 0
  for (const { sql, parameterSets, returned: places } of job.steps) {
    const statement = statements.get(sql)
    for (const parameters of parameterSets) {
      if (places !== undefined) {
        const row = givenRow(parameters, places)
        rowsAffected += statement.run(...parameters).changes
        returned.add(row)
        continue
      }
      if (!statement.reader) {
        rowsAffected += statement.run(...parameters).changes
        continue
      }
      if (job.tracksRows) resetTrackedRows(database)
      // An iterator costs more for each row, an array holds all rows at once.
      const rows = isShort ? statement.all(...parameters) : statement.iterate(...parameters)
      for (const raw of rows as Iterable<RawRow>) {
        if (isChecked && raw[returning.length] !== 1n) throw rowFilterError()
        rowsAffected++
        returned.add(raw)
      }
    }
  }
  return returned.outcome(rowsAffected)
}

/** By the columns of a plan, which every run of it shares. */
const readers = new WeakMap<WriteJob['returning'], RowReader<RawRow>>()

function readerOf(returning: WriteJob['returning']): RowReader<RawRow> {
  let reader = readers.get(returning)
  if (reader === undefined) {
    reader = rowReader(returning)
    readers.set(returning, reader)
  }
  return reader
}

/** A row as SQLite would return it. Refuses one that is too long, as the emitted RETURNING does (emit/long-rows.ts). */
function givenRow(parameters: readonly Bindable[], places: readonly number[]): RawRow {
  const row = places.map((place) => parameters[place] ?? null)
  // A UTF-16 code unit takes at most three bytes.
  if (sizeOfAll(row) * 3 > MAX_RESULT_ROW_BYTES && bytesOf(row) > MAX_RESULT_ROW_BYTES)
    throw rowTooLongError(MAX_RESULT_ROW_BYTES)
  return row
}

function bytesOf(row: readonly Bindable[]): number {
  const lengths = row.map((value) =>
    typeof value === 'string' || value instanceof Uint8Array ? Buffer.byteLength(value) : 0,
  )
  return lengths.reduce((sum, length) => sum + length, 0)
}
