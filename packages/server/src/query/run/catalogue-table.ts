/** Writes to CatalogueTable: inserting a row creates a table, deleting it drops the table, updating it changes the table's rights. */
import { setImmediate as immediate } from 'node:timers/promises'
import type {
  BoundExpression,
  BoundQuery,
  ColumnView,
  DefaultValue,
  Delete,
  Insert,
  IqlValue,
  OutputItem,
  ResultColumn,
  TableView,
  Update,
} from 'gatehouse-iql'
import { ACR_LEVELS, type AcrLevel, LONGEST_AGE, readStepUpNeed } from 'gatehouse-protocol'
import type { Json } from '../../lib/exact-json.ts'
import { type ColumnInput, defineTable, expressionText, rebind } from '../catalogue/create-table.ts'
import { type CatalogueChange, type TableDefinition, writeDefinition } from '../catalogue/definition.ts'
import { viewFor } from '../catalogue/snapshot.ts'
import { toRules, writeNeed } from '../catalogue/step-up.ts'
import { bindParameters } from '../engines/emit/parameters.ts'
import type { WriteReply } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { isList, isObject, readJson } from '../json.ts'
import type { Cell } from '../model/result.ts'
import { estimateCost } from '../plan/cost.ts'
import { callOwner, type ExecutionEnv, listParts, type RunningCall, runValues } from './call.ts'
import { recordChanges } from './define.ts'
import { readRows } from './read-rows.ts'

export async function writeToCatalogue(
  statement: Insert | Update | Delete,
  run: RunningCall,
  env: ExecutionEnv,
): Promise<WriteReply> {
  const returning = statement.returning.map(returnedColumn)
  const { idempotencyKey, running } = run
  const replay = idempotencyKey === undefined ? undefined : await env.engine.findResponse(idempotencyKey)
  if (replay !== undefined) return { outcome: replay, isReplay: true }
  const { tables, changes } = await planChanges(statement, run, env)
  for (const change of changes) {
    const before = change.kind === 'create' ? undefined : run.planned.snapshot.findDefinition(change.name)
    if (before?.stepUp !== undefined)
      env.stepUp.require(run.principal, writeNeed(before), { ...run, resource: before.name })
  }
  const rows = returning.length === 0 ? [] : tables.map((table) => returning.map((column) => readCell(table, column)))
  const outcome = { rowsAffected: tables.length, columns: run.planned.bound.columns, rows, isTruncated: false }
  if (changes.length === 0 && idempotencyKey === undefined) return { outcome, isReplay: false }
  const response = idempotencyKey === undefined ? undefined : { idempotencyKey, outcome }
  const reply = await env.catalogue.change(
    changes.map((change) => ({ change, fill: null })),
    { owner: callOwner(run.principal), running, response },
  )
  if (reply?.isReplay) return reply
  recordChanges(env.audit, run, changes)
  return { outcome, isReplay: false }
}

interface TableChanges {
  readonly changes: readonly CatalogueChange[]
  readonly tables: readonly TableDefinition[]
}

function planChanges(statement: Insert | Update | Delete, run: RunningCall, env: ExecutionEnv): Promise<TableChanges> {
  switch (statement.kind) {
    case 'insert':
      return create(run, env)
    case 'update':
      return changeRights(statement, run, env)
    case 'delete':
      return drop(statement, run, env)
  }
}

/** Tables that are defined in one turn of the event loop. */
const DEFINED_AT_ONCE = 20

async function create(run: RunningCall, env: ExecutionEnv): Promise<TableChanges> {
  const tables: TableDefinition[] = []
  for (const { planned, valueSets } of listParts(run)) {
    const { statement } = planned.bound
    if (statement.kind !== 'insert') throw new Error(`Not an INSERT: ${statement.kind}`)
    for (const values of valueSets) {
      for (const row of await insertedRows(statement, run, values, env)) {
        tables.push(defineFrom(row, run, env))
        if (tables.length % DEFINED_AT_ONCE === 0) await immediate()
      }
    }
  }
  return { tables, changes: tables.map((table) => ({ kind: 'create', table })) }
}

type CatalogueRow = ReadonlyMap<string, IqlValue>

async function insertedRows(
  insert: Insert,
  run: RunningCall,
  values: RunningCall['valueSets'][number],
  env: ExecutionEnv,
) {
  if (insert.onConflict !== undefined)
    throw refuse('Request.BadBody', 'CatalogueTable does not take ON CONFLICT; use CREATE TABLE IF NOT EXISTS')
  const queries =
    insert.rows.kind === 'query' ? [insert.rows.query] : insert.rows.rows.map((row) => valuesQuery(insert, row))
  const rows: CatalogueRow[] = []
  for (const [index, query] of queries.entries()) {
    if (index % DEFINED_AT_ONCE === DEFINED_AT_ONCE - 1) await immediate()
    for (const row of await evaluateRows(query, run, values, env))
      rows.push(new Map(insert.columns.map(({ name }, index) => [name, row[index] ?? null])))
  }
  return rows
}

/** A row of VALUES as a query without FROM. */
function valuesQuery(insert: Insert, row: Extract<Insert['rows'], { kind: 'values' }>['rows'][number]): BoundQuery {
  const outputs = row.map((value, index): OutputItem => {
    const column = insert.columns[index]
    if (column === undefined) throw new Error('A value without a column')
    return toOutput(column, value)
  })
  return buildSelect(outputs, undefined, undefined)
}

/** No column of CatalogueTable has a default other than NULL. */
function toOutput({ name, type }: ColumnView, value: BoundExpression | DefaultValue): OutputItem {
  return { name, expression: value.kind === 'default' ? { kind: 'literal', value: null, type, nullable: true } : value }
}

function buildSelect(
  outputs: readonly OutputItem[],
  from: { id: number; table: TableView } | undefined,
  where: BoundExpression | undefined,
): BoundQuery {
  const columns: ResultColumn[] = outputs.map(({ name, expression: { type } }) => ({ name, type, nullable: true }))
  return {
    kind: 'query',
    with: [],
    body: {
      kind: 'select',
      distinct: false,
      outputs,
      from: from === undefined ? undefined : { kind: 'table', filter: undefined, ...from },
      where,
      grouped: false,
      groupBy: [],
      having: undefined,
      columns,
    },
    orderBy: [],
    limit: undefined,
    offset: undefined,
    columns,
  }
}

async function evaluateRows(
  query: BoundQuery,
  run: RunningCall,
  values: RunningCall['valueSets'][number],
  env: ExecutionEnv,
): Promise<readonly (readonly IqlValue[])[]> {
  const emitted = env.planner.emitter.emitQuery(query)
  const parameters = bindParameters(emitted, runValues(run, values, env), env.engine.bind)
  const cost = estimateCost(query, () => [])
  return readRows(env.engine, {
    sql: emitted.sql,
    parameters,
    columns: query.columns,
    cost,
    owner: callOwner(run.principal),
    running: run.running,
  })
}

/** The definition is bound like the caller's own CREATE TABLE. */
function defineFrom(row: CatalogueRow, run: RunningCall, env: ExecutionEnv): TableDefinition {
  const table = {
    name: String(row.get('name')),
    columns: readColumns(readJson(String(row.get('columns')))),
    readScope: toText(row.get('readscope')),
    writeScope: toText(row.get('writescope')),
    rowFilter: toText(row.get('rowfilter')),
    stepUp: readStepUp((column) => row.get(column)),
    description: toText(row.get('description')),
    isLive: row.get('live') !== false,
    isColumnar: row.get('columnar') === true,
  }
  return defineTable(table, viewFor(run.planned.snapshot, run.principal.scopes), BigInt(env.clock()) * 1000n)
}

const COLUMN_SHAPE =
  'columns is an array of objects with name, type and optionally nullable, primarykey, unique, default'
const COLUMN_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['type', 'type'],
  ['nullable', 'nullable'],
  ['primarykey', 'primarykey'],
  ['primary_key', 'primarykey'],
  ['isprimarykey', 'primarykey'],
  ['unique', 'unique'],
  ['default', 'default'],
])

function readColumns(json: Json): ColumnInput[] {
  if (!isList(json) || json.length === 0) throw refuse('Request.BadBody', COLUMN_SHAPE)
  return json.map((item) => {
    if (!isObject(item)) throw refuse('Request.BadBody', COLUMN_SHAPE)
    const members = new Map<string, Json>()
    for (const [name, value] of Object.entries(item)) {
      const known = COLUMN_MEMBERS.get(name.toLowerCase())
      if (known === undefined) throw refuse('Request.BadBody', `${COLUMN_SHAPE}; ${JSON.stringify(name)} is unknown`)
      members.set(known, value)
    }
    const [name, type, expression] = [members.get('name'), members.get('type'), members.get('default') ?? undefined]
    if (typeof name !== 'string' || typeof type !== 'string') throw refuse('Request.BadBody', COLUMN_SHAPE)
    if (expression !== undefined && typeof expression !== 'string')
      throw refuse('Request.BadBody', 'default is an IQL expression in a string')
    const primaryKey = flag(members, 'primarykey', false)
    return {
      name,
      type,
      primaryKey,
      nullable: flag(members, 'nullable', !primaryKey),
      unique: flag(members, 'unique', false),
      default: expression,
    }
  })
}

function flag(members: ReadonlyMap<string, Json>, name: string, otherwise: boolean): boolean {
  const value = members.get(name) ?? otherwise
  if (typeof value !== 'boolean') throw refuse('Request.BadBody', `${name} is true or false`)
  return value
}

async function drop(statement: Delete, run: RunningCall, env: ExecutionEnv): Promise<TableChanges> {
  const names = await matchingRows(statement, [], run, env)
  const tables = names.map(([name]) => definitionNamed(name, run))
  return { tables, changes: tables.map(({ name }) => ({ kind: 'drop', name, isView: false })) }
}

/** The columns of CatalogueTable that UPDATE may set. The name and the columns of a table change by ALTER TABLE. */
const CHANGEABLE = [
  'description',
  'readscope',
  'writescope',
  'rowfilter',
  'live',
  'columnar',
  'requireacr',
  'requireage',
  'writerequireacr',
  'writerequireage',
]

async function changeRights(statement: Update, run: RunningCall, env: ExecutionEnv): Promise<TableChanges> {
  const fixed = statement.set.find(({ column }) => !CHANGEABLE.includes(column.name))
  if (fixed !== undefined) throw refuse('Data.ReadOnly', `${fixed.column.name} cannot be changed here; use ALTER TABLE`)
  const outputs = statement.set.map(({ column, value }) => toOutput(column, value))
  const rows = await matchingRows(statement, outputs, run, env)
  const tables = rows.map(([name, ...values]) => {
    const set = new Map(statement.set.map(({ column }, index) => [column.name, values[index]]))
    const chosen = (column: string, current: string | undefined): string | undefined =>
      set.has(column) ? toText(set.get(column)) : current
    const table = definitionNamed(name, run)
    const filter = chosen('rowfilter', table.rowFilter)
    const changed: TableDefinition = {
      ...table,
      description: chosen('description', table.description),
      readScope: chosen('readscope', table.readScope),
      writeScope: chosen('writescope', table.writeScope),
      rowFilter: filter === undefined ? undefined : expressionText(filter),
      stepUp: readStepUp((column) => (set.has(column) ? set.get(column) : readCell(table, column))),
      isLive: set.has('live') ? set.get('live') !== false : table.isLive,
      isColumnar: set.has('columnar') ? set.get('columnar') === true : table.isColumnar,
    }
    rebind(changed, run.planned.snapshot.attributes)
    return changed
  })
  return {
    tables,
    changes: tables.map((table) => ({
      kind: 'alter',
      name: table.name,
      from: definitionNamed(table.name, run),
      table,
      step: { kind: 'rights' },
    })),
  }
}

/** The names of the tables that WHERE selects, each followed by the outputs. */
async function matchingRows(
  statement: Update | Delete,
  outputs: readonly OutputItem[],
  run: RunningCall,
  env: ExecutionEnv,
): Promise<readonly (readonly IqlValue[])[]> {
  const { table, source, where } = statement
  const name = table.columns[0]
  if (name === undefined) throw new Error('CatalogueTable without columns')
  const column: BoundExpression = {
    kind: 'column',
    source,
    ordinal: 0,
    name: name.name,
    type: name.type,
    nullable: false,
  }
  const query = buildSelect([{ name: name.name, expression: column }, ...outputs], { id: source, table }, where)
  return evaluateRows(query, run, run.valueSets[0] ?? [], env)
}

function definitionNamed(name: IqlValue | undefined, run: RunningCall): TableDefinition {
  const table = run.planned.snapshot.findDefinition(String(name))
  if (table === undefined) throw refuse('Data.Conflict', `The table ${String(name)} has just changed`)
  return table
}

function toText(value: IqlValue | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value)
}

function readStepUp(given: (column: string) => Cell | IqlValue | undefined): TableDefinition['stepUp'] {
  const read = readStepUpNeed(readLevel(given('requireacr')), readAge(given('requireage')))
  return toRules(read, readStepUpNeed(readLevel(given('writerequireacr')), readAge(given('writerequireage'))))
}

function readLevel(value: Cell | IqlValue | undefined): AcrLevel | undefined {
  if (value === null || value === undefined) return undefined
  const level = ACR_LEVELS.find((known) => known === Number(value))
  if (level === undefined) throw refuse('Data.BadValue', 'requireacr is 1 (one factor) or 2 (two factors)')
  return level
}

function readAge(value: Cell | IqlValue | undefined): number | undefined {
  if (value === null || value === undefined) return undefined
  const age = Number(value)
  if (!(age >= 1 && age <= LONGEST_AGE)) throw refuse('Data.BadValue', `requireage is from 1 to ${LONGEST_AGE} seconds`)
  return age
}

function toInteger(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(value)
}

function returnedColumn({ expression }: OutputItem): string {
  if (expression.kind === 'column') return expression.name
  throw refuse(
    'Request.BadBody',
    'In a write to CatalogueTable, RETURNING takes its columns, not expressions over them',
  )
}

function readCell(table: TableDefinition, column: string): Cell {
  switch (column) {
    case 'name':
      return table.name
    case 'columns':
      return JSON.stringify(JSON.parse(writeDefinition(table)).columns)
    case 'description':
      return table.description ?? null
    case 'readscope':
      return table.readScope ?? null
    case 'writescope':
      return table.writeScope ?? null
    case 'live':
      return table.isLive
    case 'columnar':
      return table.isColumnar ?? false
    case 'requireacr':
      return toInteger(table.stepUp?.read?.acr)
    case 'requireage':
      return toInteger(table.stepUp?.read?.age)
    case 'writerequireacr':
      return toInteger(table.stepUp?.write?.acr)
    case 'writerequireage':
      return toInteger(table.stepUp?.write?.age)
    default:
      return table.rowFilter ?? null
  }
}
