/** Runs one write inside a transaction of the caller; the same code in the server and in the process for long writes. */
import type { Database, Statement } from 'better-sqlite3'
import type { ResultColumn } from '../../result/encoding.ts'
import type { Bindable, Once, PreparedChange, Remembered, WriteOutcome, WriteReply, WriteStep } from '../engine.ts'
import { mismatch, readOutcome, writeOutcome } from '../requests.ts'
import { ReturnedRows } from '../returned-rows.ts'
import { iqlError } from '../runtime-error.ts'
import { applyChange } from './define.ts'
import type { Statements } from './execute.ts'
import { cellReader } from './representation.ts'
import { forgetTouchedRows } from './touched-rows.ts'

/** What crosses to the process for long writes: plain data only. */
export interface WriteJob {
  readonly steps: readonly WriteStep[]
  readonly returning: readonly ResultColumn[]
  readonly isChecked: boolean
  readonly notesRows: boolean
  readonly isShort: boolean
  readonly rowLimit: number
  readonly mustBeWhole: boolean
  readonly once: Once | undefined
}

/** Changes of the catalogue that take long, on the same way. */
export interface ChangeJob {
  readonly changes: readonly PreparedChange[]
  readonly record: Remembered | undefined
}

export function runWrite(database: Database, statements: Statements, job: WriteJob): WriteReply {
  const { once } = job
  if (once === undefined) return { outcome: execute(database, statements, job), isRepeated: false }
  const known = recall(database, once)
  if (known !== undefined) return { outcome: known, isRepeated: true }
  return remember(database, { once, outcome: execute(database, statements, job) })
}

/** Changes of the catalogue that nobody has to remember have no reply. */
export function runChange(database: Database, { changes, record }: ChangeJob): WriteReply | undefined {
  const known = record === undefined ? undefined : recall(database, record.once)
  if (known !== undefined) return { outcome: known, isRepeated: true }
  for (const { change, fill } of changes) applyChange(database, change, fill)
  return record === undefined ? undefined : remember(database, record)
}

export function recall(database: Database, once: Once): WriteOutcome | undefined {
  const known = database
    .prepare<[string, string], { fingerprint: string; answer: string }>(
      'SELECT fingerprint, answer FROM main._gh_requests WHERE owner = ? AND key = ?',
    )
    .get(once.owner, once.key)
  if (known === undefined) return undefined
  if (known.fingerprint !== once.fingerprint) throw mismatch(once)
  return readOutcome(known.answer)
}

function remember(database: Database, { once, outcome }: Remembered): WriteReply {
  database
    .prepare('INSERT INTO main._gh_requests (owner, key, fingerprint, answer, created) VALUES (?, ?, ?, ?, ?)')
    .run(once.owner, once.key, once.fingerprint, writeOutcome(outcome), once.now)
  return { outcome, isRepeated: false }
}

function execute(database: Database, statements: Statements, job: WriteJob): WriteOutcome {
  const readers = job.returning.map(cellReader)
  const returned = new ReturnedRows(job)
  let rowsAffected = 0
  for (const { sql, parameterSets } of job.steps) {
    const statement = statements.get(sql)
    for (const parameters of parameterSets) {
      if (!statement.reader) {
        rowsAffected += statement.run(...parameters).changes
        continue
      }
      if (job.notesRows) forgetTouchedRows(database)
      for (const raw of givenRows(statement, parameters, job.isShort)) {
        if (job.isChecked && raw[readers.length] !== 1n) throw hiddenRow()
        rowsAffected++
        returned.add(() => readers.map((read, index) => read(raw[index])))
      }
    }
  }
  return returned.outcome(rowsAffected)
}

/** An iterator costs more for each row, and an array all the rows at once. */
function givenRows(statement: Statement, parameters: readonly Bindable[], areFew: boolean): Iterable<unknown[]> {
  return (areFew ? statement.all(...parameters) : statement.iterate(...parameters)) as Iterable<unknown[]>
}

export function hiddenRow(): Error {
  return iqlError('RowFilter', 'A row would be written that its writer may not read')
}
