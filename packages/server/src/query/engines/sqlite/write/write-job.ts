/** One write, or the changes of a catalogue, on a connection in a transaction of the caller: in the server, or in the process for long writes. */
import type { Database } from 'better-sqlite3'
import { refuse } from '../../../errors.ts'
import { ReturnedRows } from '../../bounded-rows.ts'
import type { ChangeRequest, WriteOutcome, WriteReply, WriteRequest } from '../../engine.ts'
import { verdictError } from '../../runtime-error.ts'
import { applyChanges } from '../catalogue.ts'
import { resetTrackedRows } from '../functions/functions.ts'
import { requireTerm } from '../keeper-term.ts'
import { type RawRow, rowDecoder } from '../representation.ts'
import { allowClosed, endAllowing } from '../retention/retention-triggers.ts'
import type { StatementCache } from '../statement-cache.ts'
import { givenRow, insertGiven } from './given-rows.ts'
import { findResponse, storeResponse } from './idempotency-keys.ts'

/** Plain data, which can cross to the process for long writes. */
export interface WriteJob extends Omit<WriteRequest, 'running' | 'owner' | 'tables'> {
  /** The caller knows the rows that are returned (given-rows.ts), unless the reply is that of an earlier request. */
  readonly omitsRows?: boolean
}
export type ChangeJob = Omit<ChangeRequest, 'running' | 'owner'>

export function runWrite(database: Database, statements: StatementCache, job: WriteJob): WriteReply {
  const { idempotencyKey } = job
  const first = idempotencyKey === undefined ? undefined : findResponse(database, idempotencyKey)
  if (first !== undefined) return { outcome: first, isReplay: true }
  if (job.erases !== undefined) allowClosed(database, job.erases)
  if (job.term !== undefined) requireTerm(database, job.term)
  const outcome = execute(database, statements, job)
  if (job.erases !== undefined) endAllowing(database, job.erases)
  if (idempotencyKey !== undefined) storeResponse(database, { idempotencyKey, outcome })
  return { outcome: job.omitsRows ? { ...outcome, rows: [] } : outcome, isReplay: false }
}

export function runChange(database: Database, { changes, kept, response }: ChangeJob): WriteReply | undefined {
  const first = response === undefined ? undefined : findResponse(database, response.idempotencyKey)
  if (first !== undefined) return { outcome: first, isReplay: true }
  applyChanges(database, changes, kept)
  return response === undefined ? undefined : storeResponse(database, response)
}

function execute(database: Database, statements: StatementCache, job: WriteJob): WriteOutcome {
  const { returning, isShort } = job
  const needsRows = !job.omitsRows || job.mustBeWhole || job.idempotencyKey !== undefined
  const returned = new ReturnedRows(needsRows ? job : { ...job, returning: [] }, rowDecoder(returning))
  let rowsAffected = 0
  for (const step of job.steps) {
    const { sql, parameterSets, returned: places, constraints } = step
    if (places !== undefined) {
      rowsAffected += insertGiven(statements, step)
      if (needsRows) for (const parameters of parameterSets) returned.add(givenRow(parameters, places))
      continue
    }
    const statement = statements.get(sql)
    for (const parameters of parameterSets) {
      if (!statement.reader) {
        const { changes } = statement.run(...parameters)
        if (step.mustChange && changes === 0) throw refuse('Data.Conflict', 'What is written has just changed')
        rowsAffected += changes
        continue
      }
      if (job.tracksRows) resetTrackedRows(database)
      // An iterator costs more for each row, an array holds all rows at once.
      const rows = isShort ? statement.all(...parameters) : statement.iterate(...parameters)
      for (const raw of rows as Iterable<RawRow>) {
        const verdict = constraints === undefined ? -1 : Number(raw[returning.length])
        if (constraints !== undefined && verdict !== -1) throw verdictError(verdict, constraints)
        rowsAffected++
        returned.add(raw)
      }
    }
  }
  return returned.outcome(rowsAffected)
}
