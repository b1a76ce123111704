/** Runs planned statements for a caller. */

import { type BoundStatement, type CreateTable, insertQuery, type Query } from 'gatehouse-iql'
import { inTurns, STEPS_PER_PAUSE, type Steps } from '../../lib/turns.ts'
import { describeLicences, writeLicences } from '../catalogue/licence-labels.ts'
import type { WrittenTable } from '../engines/commit-listeners.ts'
import { constraintText } from '../engines/constraint-text.ts'
import { type Bindable, bindParameters, sizeOfAll } from '../engines/emit/parameters.ts'
import { findRowTracking, isChecked } from '../engines/emit/write.ts'
import type { WriteReply, WriteStep } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { isBounded } from '../model/cost-class.ts'
import { reportsTruncation } from '../model/result.ts'
import { whenPlanned } from '../plan/long-plans.ts'
import { describeWholeReads } from '../plan/whole-reads.ts'
import { TextEncoders } from '../results/encoders.ts'
import { analyze } from './analyze.ts'
import {
  type CallPart,
  callOwner,
  type ExecutionEnv,
  isSmall,
  listParts,
  mayBeSmall,
  type QueryResult,
  type RunningCall,
  readRun,
  runValues,
} from './call.ts'
import { writeToCatalogue } from './catalogue-table.ts'
import { define } from './define.ts'
import { explainColumns } from './explain-columns.ts'
import { explainRetention } from './explain-retention.ts'
import { introspect } from './introspect.ts'
import { catchUpHeld, readHeld } from './licensed.ts'

/** Rows that one call may write in a commit shared with others. */
const MAX_SHARED_ROWS = 1000
/** The length of all values that one call may write in a commit shared with others, which for SQLite is on the event loop. */
const MAX_SHARED_LENGTH = 1024 * 1024

/** What the caller may run: step-up was required, and the attributes are known. */
export async function execute(run: RunningCall, env: ExecutionEnv): Promise<QueryResult> {
  const { bound, encoders, readsAuditLog, snapshot } = run.planned
  const { statement } = bound
  run.running.explainLimit?.(() => describeWholeReads(statement, (table) => snapshot.findIndexes(table)))
  if (readsAuditLog) await env.auditTable.catchUp(run.running.signal)
  switch (statement.kind) {
    case 'query':
      return read(run, env)
    case 'insert':
    case 'update':
    case 'delete':
      return statement.table.isSystem ? toResult(run, await writeToCatalogue(statement, run, env)) : write(run, env)
    case 'explain': {
      const plan = introspect(statement, run, env.engine)
      const lines = [...(await explainColumns(statement.statement, run, env))]
      lines.push(...writeLicences(describeLicences(bound.tables, env.copies)))
      if (statement.analyzed !== undefined) lines.push(...(await analyze(statement.analyzed, run, env)))
      return { kind: 'rows', encoders, rows: [...plan, ...lines.map((line) => [line])], isTruncated: false }
    }
    case 'explain-retention':
      return { kind: 'rows', encoders, rows: [await explainRetention(statement, run, env)], isTruncated: false }
    case 'explain-live':
    case 'describe':
    case 'show-tables':
      return { kind: 'rows', encoders, rows: introspect(statement, run, env.engine), isTruncated: false }
    case 'refresh-view': {
      const rows = await env.kept.refresh(statement.view.name, statement.isFull, run.running.signal)
      return { kind: 'rows', encoders, rows: [], rowsAffected: rows, isTruncated: false }
    }
    case 'create-kept-view':
      await env.kept.requireUpgraded()
      await define(statement, run, env)
      if (!statement.exists) await env.kept.created(statement, run.running.signal)
      return { kind: 'rows', encoders, rows: [], rowsAffected: 0, isTruncated: false }
    case 'drop-kept-view': {
      const rowsAffected = statement.view === undefined ? 0 : await env.kept.countStaying(statement.view.name)
      await define(statement, run, env)
      return { kind: 'rows', encoders, rows: [], rowsAffected, isTruncated: false }
    }
    default:
      await define(statement, run, env)
      if (statement.kind === 'create-table' && statement.query !== undefined && !statement.exists)
        return fill(statement, statement.query, run, env)
      return { kind: 'rows', encoders, rows: [], rowsAffected: 0, isTruncated: false }
  }
}

/** CREATE TABLE … AS query: a table that cannot be filled is dropped again. */
async function fill(
  { name, writeScope, readScope }: CreateTable,
  query: Query,
  run: RunningCall,
  env: ExecutionEnv,
): Promise<QueryResult> {
  const scopes = new Set([...run.principal.scopes, ...[readScope, writeScope].filter((scope) => scope !== undefined)])
  try {
    const built = { key: `fill ${run.requestId}`, statement: () => insertQuery(name, query) }
    const planned = await whenPlanned(() =>
      env.planner.plan({ scopes, tables: run.rights.tables }, env.catalogue.snapshot, '', built),
    )
    return await write({ ...run, planned, valueSets: [[]] }, env)
  } catch (error) {
    await env.catalogue.change([{ change: { kind: 'drop', name, isView: false }, fill: null }])
    throw error
  }
}

async function read(run: RunningCall, env: ExecutionEnv): Promise<QueryResult> {
  const { held, running, planned } = run
  const { read: prepared } = planned
  if (prepared === undefined) throw new Error('A query without a plan')
  const values = readRun(run, env)
  // For a round trip that others share. A stream waits for its turn first.
  running.onRead?.()
  const whole = mayBeSmall(run) && isSmall(values) ? await prepared.readBatched?.(values) : undefined
  if (whole !== undefined) {
    const catchingUp = catchUpHeld(held, running)
    if (catchingUp !== undefined) await catchingUp
    return { kind: 'whole', read: whole }
  }
  const chunks = prepared.readStream(values, running)
  return { kind: 'stream', chunks: held === undefined ? chunks : readHeld(chunks, held, running) }
}

async function write(run: RunningCall, env: ExecutionEnv): Promise<QueryResult> {
  const { statement, columns } = run.planned.bound
  const parts = listParts(run)
  const bound = inTurns(bindWrite(run, parts, env))
  const { steps, rows, length } = bound instanceof Promise ? await bound : bound
  const reply = await env.engine.write({
    owner: callOwner(run.principal),
    tables: parts.flatMap(({ planned }) => writtenBy(planned.bound.statement)),
    steps,
    returning: columns,
    tracksRows: statement.kind === 'insert' && findRowTracking(statement, env.engine.dialect) !== undefined,
    isShort:
      rows <= MAX_SHARED_ROWS && length <= MAX_SHARED_LENGTH && parts.every(({ planned }) => isBounded(planned.cost)),
    rowLimit: run.limits.rows,
    byteLimit: run.limits.returnedBytes,
    mustBeWhole: columns.length > 0 && !reportsTruncation(run.encoding),
    running: run.running,
    idempotencyKey: run.idempotencyKey,
    erases: run.erases,
  })
  return toResult(run, reply)
}

function constraintTexts(statement: BoundStatement): WriteStep['constraints'] {
  const isWritten = statement.kind === 'insert' || statement.kind === 'update'
  return isWritten && isChecked(statement) ? statement.constraints.map(constraintText) : undefined
}

/** The length of values after which other work gets a turn. */
const LONG_ROW = 4096

interface BoundWrite {
  readonly steps: readonly WriteStep[]
  readonly rows: number
  /** The length of all values together. */
  readonly length: number
}

function* bindWrite(run: RunningCall, parts: readonly CallPart[], env: ExecutionEnv): Steps<BoundWrite> {
  // All rows have the same time of the clock.
  const given = runValues(run, [], env)
  const steps: WriteStep[] = []
  let rows = 0
  let length = 0
  for (const { planned, valueSets } of parts) {
    const { emitted, bound } = planned
    if (emitted === undefined) throw unwritable(bound.statement)
    const parameterSets: Bindable[][] = []
    // One object for all rows: a copy of it for each takes longer than the values.
    const values = { ...given, literals: planned.literals }
    for (const parameters of valueSets) {
      values.parameters = parameters
      const set = bindParameters(emitted, values, env.engine.bind)
      parameterSets.push(set)
      const size = sizeOfAll(set)
      length += size
      rows++
      if (size > LONG_ROW || rows % STEPS_PER_PAUSE === 0) yield
    }
    steps.push({
      sql: emitted.sql,
      parameterSets,
      returned: emitted.returned,
      constraints: constraintTexts(bound.statement),
    })
  }
  return { steps, rows, length }
}

/** A later part that no engine runs: writes to a system table change definitions, and are no part of a write of rows. */
function unwritable(statement: BoundStatement): Error {
  const [table] = writtenBy(statement)
  if (table === undefined) return new Error('A write without a plan')
  return refuse('Request.Unsupported', `Rows of the system table ${table.name} are written by a statement of their own`)
}

function writtenBy(statement: BoundStatement): WrittenTable[] {
  const isWrite = statement.kind === 'insert' || statement.kind === 'update' || statement.kind === 'delete'
  return isWrite ? [statement.table] : []
}

function toResult({ planned }: RunningCall, { outcome, isReplay }: WriteReply): QueryResult {
  const { rows, rowsAffected, isTruncated } = outcome
  // The table may have changed since the response of a replay was stored.
  const encoders = isReplay && outcome.columns !== undefined ? new TextEncoders(outcome.columns) : planned.encoders
  return { kind: 'rows', encoders, rows, rowsAffected, isTruncated }
}
