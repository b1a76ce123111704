/** Runs one write inside a transaction of the caller; the same code in the server and in the process for long writes. */
import type { Database, Statement } from 'better-sqlite3'
import type { Cell, ResultColumn } from '../../result/encoding.ts'
import type { Bindable, Once, PreparedChange, Remembered, WriteOutcome, WriteReply, WriteStep } from '../engine.ts'
import { mismatch, readOutcome, writeOutcome } from '../requests.ts'
import { iqlError } from '../runtime-error.ts'
import { applyChange } from './define.ts'
import type { Statements } from './execute.ts'
import { cellReader } from './representation.ts'

/** What crosses to the process for long writes: plain data only. */
export interface WriteJob {
  readonly steps: readonly WriteStep[]
  readonly returning: readonly ResultColumn[]
  readonly isChecked: boolean
  readonly isIdentified: boolean
  readonly isShort: boolean
  readonly rowLimit: number
  readonly once: Once | undefined
}

/** Changes of the catalogue that take long, on the same way. */
export interface ChangeJob {
  readonly changes: readonly PreparedChange[]
  readonly record: Remembered | undefined
}

export function runWrite(database: Database, statements: Statements, job: WriteJob): WriteReply {
  const { once } = job
  if (once === undefined) return { outcome: execute(statements, job), isRepeated: false }
  const known = recall(database, once)
  if (known !== undefined) return { outcome: known, isRepeated: true }
  return remember(database, { once, outcome: execute(statements, job) })
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

function execute(statements: Statements, job: WriteJob): WriteOutcome {
  const readers = job.returning.map(cellReader)
  const rows: Cell[][] = []
  let rowsAffected = 0
  let isTruncated = false
  for (const { sql, parameterSets } of job.steps) {
    const statement = statements.get(sql)
    for (const parameters of parameterSets) {
      if (!statement.reader) {
        rowsAffected += statement.run(...parameters).changes
        continue
      }
      const seen = new Set<unknown>()
      for (const raw of givenRows(statement, parameters, job.isShort)) {
        if (job.isChecked && raw[readers.length] !== 1n) throw hiddenRow()
        if (job.isIdentified) {
          if (seen.has(raw.at(-1))) throw rowTwice()
          seen.add(raw.at(-1))
        }
        rowsAffected++
        if (rows.length < job.rowLimit) rows.push(readers.map((read, index) => read(raw[index])))
        else isTruncated = readers.length > 0
      }
    }
  }
  return { rowsAffected, columns: job.returning, rows: readers.length === 0 ? [] : rows, isTruncated }
}

/** An iterator costs more for each row, and an array all the rows at once. */
function givenRows(statement: Statement, parameters: readonly Bindable[], areFew: boolean): Iterable<unknown[]> {
  return (areFew ? statement.all(...parameters) : statement.iterate(...parameters)) as Iterable<unknown[]>
}

function rowTwice(): Error {
  return iqlError('RowTwice', 'Two of the rows given have the same key, and one of them would change the other')
}

export function hiddenRow(): Error {
  return iqlError('RowFilter', 'A row would be written that its writer may not read')
}
