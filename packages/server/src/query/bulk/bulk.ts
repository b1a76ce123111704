/**
 * Bulk inserts, the one entry of this folder: the rows of a body are read by columns, checked and kept in a spool file; then the engine
 * inserts them, all or none. A slow sender holds no lock and no connection.
 */
import { createHash } from 'node:crypto'
import { setImmediate as immediate } from 'node:timers/promises'
import type { TableView } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import { findColumn } from '../catalogue/find-column.ts'
import { heldError } from '../catalogue/retention.ts'
import { requireTable, viewFor } from '../catalogue/snapshot.ts'
import type { BulkEmission } from '../engines/emit/emission.ts'
import type { DuplicateRows, Duplicates, IdempotencyKey, Stoppable } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { shown } from '../json.ts'
import type { PlanRights } from '../plan/plan-caches.ts'
import type { Planned } from '../plan/planner.ts'
import { callOwner, type ExecutionEnv } from '../run/call.ts'
import { insertRows, permitRows, type RowsCall } from '../run/insert-rows.ts'
import { planLicensed } from '../run/licensed.ts'
import { type RunEnv, runWork, type Work } from '../run/run.ts'
import type { RunningQuery } from '../run/running.ts'
import { type CheckedColumn, checkBatch } from './check-batch.ts'
import { findClosed } from './closed-rows.ts'
import { otherDelimiter } from './csv.ts'
import { type BulkFormat, chooseNames, openReader } from './formats.ts'
import { keepBody } from './kept-body.ts'
import { type BulkPlan, planBulk } from './plan.ts'
import type { BodyStore, BulkReader, ByteSource } from './reader.ts'
import { type Spool, SpoolRows, type Spools } from './spools.ts'

export interface BulkCall {
  readonly principal: Principal
  readonly requestId: string
  readonly address: string
  readonly table: string
  /** Names of columns; needed where the format has none, otherwise in place of those of the body. */
  readonly columns?: readonly string[] | undefined
  readonly format: BulkFormat
  readonly source: ByteSource
  readonly duplicates: Duplicates
  readonly fillsDefaults: BulkEmission['fillsDefaults']
  /** Whether the rows are only read and checked. */
  readonly isDryRun?: boolean
  readonly running: Stoppable & Pick<RunningQuery, 'stop'>
  /** The key of the request, given a digest of the body. */
  readonly idempotencyKey?: ((digest: string) => IdempotencyKey) | undefined
  /** Called when all rows have arrived: throws if the caller has lost access in the meantime. Returns who the caller is now. */
  readonly recheck?: () => Promise<Principal>
}

export interface BulkOutcome {
  readonly rowsAffected: number
  /** Unless duplicates are rejected. */
  readonly duplicates: DuplicateRows | undefined
  readonly isReplay: boolean
  /** The columns of a dry run, in the order of the body. */
  readonly columns?: readonly CheckedColumn[]
}

export interface BulkEnv extends ExecutionEnv {
  readonly spools: Spools
}

export interface BulkRun extends Work, Omit<BulkCall, 'source' | 'running'> {
  readonly source: (running: RunningQuery) => AsyncGenerator<Uint8Array, void, void>
}

/** A bulk insert as one run, from its first byte. */
export function runBulk(call: BulkRun, env: BulkEnv & RunEnv): Promise<BulkOutcome> {
  return runWork(call, env, async (running) => {
    running.beginImport()
    const source = call.source(running)
    try {
      return await bulkInsert({ ...call, source, running }, env)
    } finally {
      // A refused body is not read to its end.
      void source.return()
    }
  })
}

async function bulkInsert(call: BulkCall, env: BulkEnv): Promise<BulkOutcome> {
  // Before a byte is read.
  refuseUnfit(findTable(call, env), call)
  const spool = await env.spools.open(callOwner(call.principal))
  try {
    const received = await receive(call, env, spool)
    const principal = (await call.recheck?.()) ?? call.principal
    call.running.signal.throwIfAborted()
    const { rows: rowsAffected, columns } = received
    if (call.isDryRun) return { rowsAffected, duplicates: undefined, isReplay: false, columns }
    return await insert({ ...call, principal }, env, { ...received, spool })
  } finally {
    await spool.remove()
  }
}

/**
 * For a caller that takes the rows first and inserts them later: refuses what no row could change, which are rights, step-up, the table and
 * its columns. bulkInsert checks them again.
 */
export function checkBulk(call: Omit<BulkCall, 'source' | 'running'>, env: BulkEnv): TableView {
  const table = findTable(call, env)
  refuseUnfit(table, call)
  if (call.columns === undefined) return table
  const { planned } = planInsert(call, table, checkColumns(table, call.columns, call, env), env, withoutLicences(call))
  permitRows(rowsCall(call, planned), env)
  return table
}

interface Received {
  readonly digest: string | undefined
  readonly rows: number
  readonly columns: readonly CheckedColumn[]
  /** As it was when the rows were read. */
  readonly definition: TableView
}

/** Reads, checks and spools the rows. */
async function receive(call: BulkCall, env: BulkEnv, spool: Spool): Promise<Received> {
  const hash = call.idempotencyKey === undefined ? undefined : createHash('sha256')
  const source = bounded(call, env.spools.importBytes, (part) => hash?.update(part))
  const owner = callOwner(call.principal)
  const memory = env.spools.memory.open(owner)
  const files: Spool[] = []
  const openFile = async (): Promise<Spool> => {
    const file = await env.spools.open(owner)
    files.push(file)
    return file
  }
  const { signal } = call.running
  const store: BodyStore = { keep: (body) => keepBody(body, openFile), memory, openFile, signal }
  try {
    const read = await readRows(call, env, spool, await openReader(call.format, source, call.columns, store))
    // What follows the end that a format has.
    for await (const _ of source);
    return { digest: hash?.digest('base64url'), ...read }
  } finally {
    memory.end()
    for (const file of files) await file.remove()
  }
}

async function readRows(
  call: BulkCall,
  env: BulkEnv,
  spool: Spool,
  reader: BulkReader,
): Promise<Omit<Received, 'digest'>> {
  const table = findTable(call, env)
  const columns = checkColumns(table, chooseNames(reader, call.columns), call, env)
  // Rights, before more is read.
  const { planned } = planInsert(call, table, columns, env, withoutLicences(call))
  permitRows(rowsCall(call, planned), env)
  await planWithLicences(call, table, columns, env)
  const { duplicates, isDryRun = false, idempotencyKey } = call
  const judged = { table: env.catalogue.snapshot.findDefinition(table.name), columns, duplicates, isDryRun }
  // A request that was answered before is answered as it was, however old its rows are now.
  const isOnce = idempotencyKey !== undefined && !isDryRun
  const closed = isOnce ? undefined : await findClosed(judged, env.engine.retention)
  const rows = new SpoolRows(spool, env.engine.spoolEncoder(columns))
  for await (const batch of reader.read(columns)) {
    call.running.signal.throwIfAborted()
    checkBatch(batch, columns, rows.count, closed)
    await rows.add(batch)
    // To read and to encode a batch takes some milliseconds each.
    await immediate()
  }
  await rows.end()
  return { rows: rows.count, columns, definition: table }
}

async function insert(
  call: BulkCall,
  env: BulkEnv,
  { spool, digest, rows, columns, definition }: Received & { readonly spool: Spool },
): Promise<BulkOutcome> {
  const table = findTable(call, env)
  if (!isSameForm(table, definition, columns))
    throw refuse('Data.Conflict', `The table ${table.name} was changed while the rows arrived; nothing was inserted`)
  const { retention, isHeld } = env.catalogue.snapshot.findDefinition(table.name) ?? {}
  if (isHeld && call.duplicates === 'replace') throw heldError(table.name)
  const { plan, held } = await planWithLicences(call, table, columns, env)
  const keyColumns = table.primaryKey.map((name) => columns.findIndex((column) => column.name === name))
  const { signal } = call.running
  const request = {
    tables: [table],
    spool: spool.path,
    rows,
    columns: columns.map(({ name, type }) => ({ name, type })),
    keyColumns: keyColumns.includes(-1) ? [] : keyColumns,
    primaryKey: table.primaryKey,
    timeColumn: columns.findIndex(({ name }) => name === retention?.on),
    duplicates: call.duplicates,
    constraints: plan.constraints,
    // Without `restart`: a bulk insert has the time of an export.
    running: { signal },
    idempotencyKey: digest === undefined ? undefined : call.idempotencyKey?.(digest),
  }
  const unwatch = held?.onLowered((reason) => call.running.stop(reason))
  const { outcome, isReplay } = await insertRows(rowsCall(call, plan.planned), request, plan.statements, env).finally(
    () => unwatch?.(),
  )
  return { rowsAffected: outcome.rowsAffected, duplicates: outcome.duplicates, isReplay }
}

async function* bounded(
  { source, running }: BulkCall,
  most: number,
  onPart: (part: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void, void> {
  let length = 0
  for await (const part of source) {
    running.signal.throwIfAborted()
    length += part.byteLength
    if (length > most)
      throw refuse('Request.TooLarge', `The body has more than ${most} bytes, the setting query_import_bytes`, {
        headers: { connection: 'close' },
      })
    onPart(part)
    yield part
  }
}

function findTable({ principal, table }: Pick<BulkCall, 'principal' | 'table'>, env: BulkEnv): TableView {
  return requireTable(viewFor(env.catalogue.snapshot, principal.scopes), table)
}

const COPY_FORMATS: ReadonlySet<BulkFormat['kind']> = new Set(['copy-binary', 'copy-text', 'copy-csv'])

function refuseUnfit(table: TableView, { duplicates, format }: Pick<BulkCall, 'duplicates' | 'format'>): void {
  if (table.isSystem && COPY_FORMATS.has(format.kind))
    throw refuse('Request.Unsupported', `COPY cannot write to the system table ${table.name}`, {
      members: { Hint: 'Use INSERT, outside of a transaction block' },
    })
  if (table.isSystem)
    throw refuse('Request.Unsupported', `Rows of the system table ${table.name} are inserted as JSON`, {
      members: { Expected: ['application/json'] },
    })
  if (duplicates === 'replace' && table.primaryKey.length === 0)
    throw refuse('Request.BadParameter', `duplicates=replace needs a primary key, and ${table.name} has none`)
}

function checkColumns(
  table: TableView,
  names: readonly string[],
  call: Pick<BulkCall, 'format' | 'fillsDefaults'>,
  env: BulkEnv,
): CheckedColumn[] {
  const found = findColumns(table, names, call)
  const twice = found.find((name, index) => found.indexOf(name) !== index)
  if (twice !== undefined) throw refuse('Request.BadBody', `The body names the column ${twice} twice`)
  return found.map((name) => {
    const column = table.columns.find((one) => one.name === name)
    if (column === undefined) throw new Error(`${table.name} has no column ${name}`)
    const { type, nullable, hasDefault } = column
    const isRequired = !nullable && !(hasDefault && call.fillsDefaults !== 'never')
    return { name, type, isRequired, maxBytes: env.catalogue.snapshot.keyLimit(table, name) }
  })
}

function findColumns(table: TableView, names: readonly string[], { format }: Pick<BulkCall, 'format'>): string[] {
  try {
    return names.map((name) => findColumn(table, name))
  } catch (error) {
    const delimiter = format.kind === 'csv' ? otherDelimiter(names, format.options) : undefined
    if (delimiter === undefined) throw error
    throw refuse(
      'Request.BadBody',
      `The first line has one name, which seems to be several: ${shown(names[0] ?? '')}`,
      {
        members: { Hint: `add delimiter=${delimiter} to the query of the URL` },
      },
    )
  }
}

/** The plan, for a caller with the licences that it needs. */
function planWithLicences(call: PlannedCall, table: TableView, columns: readonly CheckedColumn[], env: BulkEnv) {
  const { principal, address } = call
  return planLicensed(
    { principal, address, way: env.way },
    env,
    (rights) => planInsert(call, table, columns, env, rights),
    ({ planned }) => [planned],
  )
}

/** To find out what else the caller lacks. */
function withoutLicences({ principal: { scopes } }: Pick<BulkCall, 'principal'>): PlanRights {
  return { scopes }
}

type PlannedCall = Pick<BulkCall, 'principal' | 'address' | 'duplicates' | 'fillsDefaults'>

function planInsert(
  { duplicates, fillsDefaults }: Pick<BulkCall, 'duplicates' | 'fillsDefaults'>,
  table: TableView,
  columns: readonly CheckedColumn[],
  env: BulkEnv,
  rights: PlanRights,
): BulkPlan {
  return planBulk({ rights, table, columns: columns.map(({ name }) => name), duplicates, fillsDefaults }, env)
}

function rowsCall(
  { principal, requestId, address }: Pick<BulkCall, 'principal' | 'requestId' | 'address'>,
  planned: Planned,
): RowsCall {
  return { principal, requestId, address, planned }
}

/** Whether the rows that were read for one definition fit the other. */
function isSameForm(now: TableView, before: TableView, columns: readonly CheckedColumn[]): boolean {
  if (now === before) return true
  const tableForm = (table: TableView): string =>
    JSON.stringify([
      table.primaryKey,
      table.uniques,
      columns.map(({ name }) => table.columns.find((one) => one.name === name)),
    ])
  return tableForm(now) === tableForm(before)
}
