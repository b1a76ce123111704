/** Writes to CatalogueTable: a row inserted defines a table, a row deleted drops it, a row updated changes its rights. */

import { reachOf } from '../cost.ts'
import { fill } from '../engines/emit/slots.ts'
import type { WriteOutcome } from '../engines/engine.ts'
import { refuse } from '../errors.ts'
import { type ExecutionEnv, type Run, runValues } from '../execution.ts'
import { bind } from '../iql/binder.ts'
import type { Delete, Insert, OutputItem, Query, ResultColumn, Update } from '../iql/bound.ts'
import type { BoundExpression } from '../iql/bound-expression.ts'
import { NO_TABLES, type TableView } from '../iql/catalogue-view.ts'
import { parse, parseExpressionText } from '../iql/parser.ts'
import { printExpression } from '../iql/print-expression.ts'
import type { IqlValue } from '../iql/types.ts'
import { isList, isObject, type Json, readJson } from '../json.ts'
import { readRows } from '../read-rows.ts'
import type { Cell } from '../result/encoding.ts'
import { viewFor } from '../rights.ts'
import { definitionOf } from './change.ts'
import { type NamedColumn, type NamedTable, tableText } from './create-table.ts'
import type { CatalogueChange, TableDefinition } from './definition.ts'
import { writeDefinition } from './definition.ts'
import { recordChanges } from './record-change.ts'

export async function writeToCatalogue(
  statement: Insert | Update | Delete,
  run: Run,
  env: ExecutionEnv,
): Promise<WriteOutcome> {
  const returning = statement.returning.map(plainColumn)
  const { once, running } = run
  const known = once === undefined ? undefined : await env.engine.recall(once)
  if (known !== undefined) return known
  const { tables, changes } = await touch(statement, run, env)
  const rows = returning.length === 0 ? [] : tables.map((table) => returning.map((column) => cellOf(table, column)))
  const outcome = { rowsAffected: tables.length, columns: run.planned.bound.columns, rows, isTruncated: false }
  if (changes.length === 0 && once === undefined) return outcome
  const record = once === undefined ? undefined : { once, outcome }
  const reply = await env.catalogue.change(
    changes.map((change) => ({ change, fill: null })),
    { signal: running.signal, record },
  )
  if (reply?.isRepeated) return reply.outcome
  recordChanges(env.audit, run, changes)
  return outcome
}

interface Touched {
  readonly changes: readonly CatalogueChange[]
  readonly tables: readonly TableDefinition[]
}

function touch(statement: Insert | Update | Delete, run: Run, env: ExecutionEnv): Promise<Touched> {
  switch (statement.kind) {
    case 'insert':
      return create(run, env)
    case 'update':
      return changeRights(statement, run, env)
    case 'delete':
      return drop(statement, run, env)
  }
}

async function create(run: Run, env: ExecutionEnv): Promise<Touched> {
  const tables: TableDefinition[] = []
  for (const { planned, valueSets } of [run, ...(run.further ?? [])]) {
    const { statement } = planned.bound
    if (statement.kind !== 'insert') throw new Error('Rows of an insert that is none')
    for (const values of valueSets) {
      for (const row of await givenRows(statement, run, values, env)) tables.push(defineFrom(row, run, env))
    }
  }
  return { tables, changes: tables.map((table) => ({ kind: 'create', table })) }
}

type GivenRow = ReadonlyMap<string, IqlValue>

async function givenRows(insert: Insert, run: Run, values: Run['valueSets'][number], env: ExecutionEnv) {
  if (insert.onConflict !== undefined)
    throw refuse('Request.BadBody', 'CatalogueTable takes no ON CONFLICT; CREATE TABLE IF NOT EXISTS does')
  const queries =
    insert.rows.kind === 'query' ? [insert.rows.query] : insert.rows.rows.map((row) => valuesQuery(insert, row))
  const rows: GivenRow[] = []
  for (const query of queries) {
    for (const row of await rowsOf(query, run, values, env))
      rows.push(new Map(insert.columns.map(({ name }, index) => [name, row[index] ?? null])))
  }
  return rows
}

/** One row of VALUES as a query without a source. */
function valuesQuery(insert: Insert, row: Extract<Insert['rows'], { kind: 'values' }>['rows'][number]): Query {
  const outputs = row.map((value, index): OutputItem => {
    const column = insert.columns[index]
    if (column === undefined) throw new Error('A value without a column')
    const expression: BoundExpression =
      value.kind === 'default' ? { kind: 'literal', value: null, type: column.type, nullable: true } : value
    return { name: column.name, expression }
  })
  return selectOf(outputs, undefined, undefined)
}

function selectOf(
  outputs: readonly OutputItem[],
  from: { id: number; table: TableView } | undefined,
  where: BoundExpression | undefined,
): Query {
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

async function rowsOf(
  query: Query,
  run: Run,
  values: Run['valueSets'][number],
  env: ExecutionEnv,
): Promise<readonly (readonly IqlValue[])[]> {
  const plan = env.planner.emitQuery(query)
  const parameters = fill(plan, runValues(run, values, env), env.engine.bind)
  const reach = reachOf(query, () => [])
  return readRows(env.engine, { sql: plan.sql, parameters, columns: query.columns, reach, signal: run.running.signal })
}

/** The definition is bound as the caller's own CREATE TABLE would be. */
function defineFrom(row: GivenRow, run: Run, env: ExecutionEnv): TableDefinition {
  const table: NamedTable = {
    name: String(row.get('name')),
    columns: readColumns(readJson(String(row.get('columns')))),
    readScope: textOf(row.get('readscope')),
    writeScope: textOf(row.get('writescope')),
    rowFilter: textOf(row.get('rowfilter')),
    description: textOf(row.get('description')),
  }
  const text = tableText(table)
  const { statement } = bind(parse(text), text, viewFor(run.planned.snapshot, run.principal.scopes))
  if (statement.kind !== 'create-table') throw new Error('A definition that is no CREATE TABLE')
  return definitionOf(statement, BigInt(env.clock()) * 1000n)
}

const COLUMN_SHAPE =
  'columns is an array of objects with name, type and, where wanted, nullable, primarykey, unique, default'
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

export function readColumns(json: Json): NamedColumn[] {
  if (!isList(json) || json.length === 0) throw refuse('Request.BadBody', COLUMN_SHAPE)
  return json.map((item) => {
    if (!isObject(item)) throw refuse('Request.BadBody', COLUMN_SHAPE)
    const members = new Map<string, Json>()
    for (const [name, value] of Object.entries(item)) {
      const known = COLUMN_MEMBERS.get(name.toLowerCase())
      if (known === undefined) throw refuse('Request.BadBody', `${COLUMN_SHAPE}; there is no ${JSON.stringify(name)}`)
      members.set(known, value)
    }
    const [name, type, expression] = [members.get('name'), members.get('type'), members.get('default') ?? undefined]
    if (typeof name !== 'string' || typeof type !== 'string') throw refuse('Request.BadBody', COLUMN_SHAPE)
    if (expression !== undefined && typeof expression !== 'string')
      throw refuse('Request.BadBody', 'default is an expression of IQL, as a text')
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

async function drop(statement: Delete, run: Run, env: ExecutionEnv): Promise<Touched> {
  const names = await matching(statement, [], run, env)
  const tables = names.map(([name]) => known(name, run))
  return { tables, changes: tables.map(({ name }) => ({ kind: 'drop', name })) }
}

/** What a row of CatalogueTable may have changed: the table's name and columns change by ALTER TABLE. */
const CHANGEABLE = ['description', 'readscope', 'writescope', 'rowfilter']

async function changeRights(statement: Update, run: Run, env: ExecutionEnv): Promise<Touched> {
  const fixed = statement.set.find(({ column }) => !CHANGEABLE.includes(column.name))
  if (fixed !== undefined) throw refuse('Data.ReadOnly', `${fixed.column.name} cannot be changed here; use ALTER TABLE`)
  const outputs = statement.set.map(
    ({ column, value }): OutputItem => ({
      name: column.name,
      expression:
        value.kind === 'default' ? { kind: 'literal', value: null, type: column.type, nullable: true } : value,
    }),
  )
  const rows = await matching(statement, outputs, run, env)
  const tables = rows.map(([name, ...values]) => {
    const given = new Map(statement.set.map(({ column }, index) => [column.name, textOf(values[index])]))
    const table = known(name, run)
    const filter = given.has('rowfilter') ? given.get('rowfilter') : table.rowFilter
    const changed: TableDefinition = {
      ...table,
      description: given.has('description') ? given.get('description') : table.description,
      readScope: given.has('readscope') ? given.get('readscope') : table.readScope,
      writeScope: given.has('writescope') ? given.get('writescope') : table.writeScope,
      rowFilter: filter === undefined ? undefined : printExpression(parseExpressionText(filter)),
    }
    return checked(changed)
  })
  return {
    tables,
    changes: tables.map((table) => ({
      kind: 'alter',
      name: table.name,
      from: known(table.name, run),
      table,
      step: { kind: 'rights' },
    })),
  }
}

/** A row filter must bind against the table's columns, or nobody could read the table any more. */
export function checked(table: TableDefinition): TableDefinition {
  const text = tableText({
    ...table,
    columns: table.columns.map((column) => ({
      name: column.name,
      type: typeText(column),
      nullable: true,
      primaryKey: false,
      unique: false,
      default: undefined,
    })),
  })
  bind(parse(text), text, NO_TABLES)
  return table
}

function typeText(column: TableDefinition['columns'][number]): string {
  return column.type.kind === 'Decimal' ? `Decimal(${column.type.precision}, ${column.type.scale})` : column.type.kind
}

/** The names of the rows meant, each followed by the outputs. */
async function matching(
  statement: Update | Delete,
  outputs: readonly OutputItem[],
  run: Run,
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
  const query = selectOf([{ name: name.name, expression: column }, ...outputs], { id: source, table }, where)
  return rowsOf(query, run, run.valueSets[0] ?? [], env)
}

function known(name: IqlValue | undefined, run: Run): TableDefinition {
  const table = run.planned.snapshot.definitionOf(String(name))
  if (table === undefined) throw refuse('Data.Conflict', `The table ${String(name)} has just changed`)
  return table
}

function textOf(value: IqlValue | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value)
}

function plainColumn({ expression }: OutputItem): string {
  if (expression.kind === 'column') return expression.name
  throw refuse('Request.BadBody', 'A write to CatalogueTable can return its columns, not expressions over them')
}

function cellOf(table: TableDefinition, column: string): Cell {
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
    default:
      return table.rowFilter ?? null
  }
}
