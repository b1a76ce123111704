/** The Insert, Update and Delete calls, said as statements of IQL. */
import { findColumn, readCriteria } from './criteria.ts'
import { refuse } from './errors.ts'
import { GivenValues } from './given.ts'
import type { Statement } from './iql/ast.ts'
import type { TableView } from './iql/catalogue-view.ts'
import { isList, isObject, type Json, membersOf } from './json.ts'

/** A statement and the values for each time it runs. */
export interface WriteCall {
  readonly key: string
  readonly statement: () => Statement
  readonly sets: readonly GivenValues[]
}

const AT = { at: 0 }
const MOST_ROWS = 100_000

/** One object of assignments, or an array of them; rows of different columns are different statements, in their order. */
export function readInsert(table: TableView, body: Json): WriteCall[] {
  const rows = isList(body) ? body : [body]
  if (rows.length === 0) throw refuse('Request.BadBody', 'There is no row to insert')
  if (rows.length > MOST_ROWS) throw refuse('Request.BadBody', `There are more than ${MOST_ROWS} rows to insert`)
  const calls: (WriteCall & { sets: GivenValues[] })[] = []
  for (const row of rows) {
    if (!isObject(row)) throw refuse('Request.BadBody', 'A row is an object: a member for each column')
    const names = Object.keys(row)
    const { columns, key, statement } = shapeOf(table, names)
    const values = new GivenValues()
    columns.forEach((column, index) => void values.add(column, row[names[index] ?? ''] ?? null))
    const last = calls.at(-1)
    if (last?.key === key) last.sets.push(values)
    else calls.push({ key, statement, sets: [values] })
  }
  return calls
}

/** Rows of a table that name the same columns, in the same order. */
interface RowShape {
  readonly columns: readonly string[]
  readonly key: string
  readonly statement: () => Statement
}

/** A table of the catalogue is the same object until a definition changes, and most rows of it name its columns alike. */
const SHAPES = new WeakMap<TableView, Map<string, RowShape>>()
const MOST_SHAPES = 50
const LONGEST_NAMES = 2000

function shapeOf(table: TableView, names: readonly string[]): RowShape {
  const said = names.join('\n')
  let shapes = SHAPES.get(table)
  const known = shapes?.get(said)
  if (known !== undefined && known.columns.length === names.length) return known
  const columns = names.map((name) => findColumn(table, name))
  if (columns.length === 0) throw refuse('Request.BadBody', 'A row without any column')
  if (new Set(columns).size < columns.length) throw refuse('Request.BadBody', 'A row names a column twice')
  const key = `insert ${JSON.stringify([table.name, ...columns])}`
  const shape = { columns, key, statement: () => insertStatement(table, columns) }
  if (said.length > LONGEST_NAMES) return shape
  if (shapes === undefined || shapes.size >= MOST_SHAPES) {
    shapes = new Map()
    SHAPES.set(table, shapes)
  }
  shapes.set(said, shape)
  return shape
}

/** `{"Criteria": […], "Assignments": {…}}` */
export function readUpdate(table: TableView, body: Json): WriteCall {
  const members = namedMembers(
    body,
    ['criteria', 'assignments'],
    'An Update takes an object with Criteria and Assignments',
  )
  const assignments = members.get('assignments')
  if (assignments === undefined || !isObject(assignments) || Object.keys(assignments).length === 0) {
    throw refuse('Request.BadBody', 'Assignments is an object: a member for each column to set')
  }
  const values = new GivenValues()
  const where = someCriteria(members.get('criteria'), table, values)
  const set = Object.entries(assignments).map(([name, value]) => {
    const column = findColumn(table, name)
    return {
      column: { text: column, ...AT },
      value: { kind: 'parameter', name: values.add(column, value), ...AT },
    } as const
  })
  const statement: Statement = {
    kind: 'update',
    table: { text: table.name, ...AT },
    alias: undefined,
    set,
    where,
    returning: [],
    ...AT,
  }
  return { key: JSON.stringify(statement), statement: () => statement, sets: [values] }
}

/** A JSON array of criteria, or `{"Criteria": […]}`. */
export function readDelete(table: TableView, body: Json): WriteCall {
  const criteria = isList(body)
    ? body
    : namedMembers(body, ['criteria'], 'A Delete takes an array of criteria').get('criteria')
  const values = new GivenValues()
  const where = someCriteria(criteria, table, values)
  const statement: Statement = {
    kind: 'delete',
    table: { text: table.name, ...AT },
    alias: undefined,
    where,
    returning: [],
    ...AT,
  }
  return { key: JSON.stringify(statement), statement: () => statement, sets: [values] }
}

function insertStatement(table: TableView, columns: readonly string[]): Statement {
  return {
    kind: 'insert',
    table: { text: table.name, ...AT },
    columns: columns.map((text) => ({ text, ...AT })),
    source: {
      kind: 'values',
      rows: [{ values: columns.map((_column, index) => ({ kind: 'parameter', name: `v${index}`, ...AT })), ...AT }],
    },
    onConflict: undefined,
    returning: [{ kind: 'all', table: undefined, ...AT }],
    ...AT,
  }
}

/** A write to every row must be meant: IQL has the word ALL for it. */
function someCriteria(criteria: Json | undefined, table: TableView, values: GivenValues) {
  const where = readCriteria(criteria ?? [], table, values)
  if (where === undefined) throw refuse('Request.BadBody', 'At least one criterion is needed')
  return where
}

function namedMembers(body: Json, allowed: readonly string[], shape: string): ReadonlyMap<string, Json> {
  if (!isObject(body)) throw refuse('Request.BadBody', shape)
  const members = membersOf(body)
  for (const name of members.keys())
    if (!allowed.includes(name)) throw refuse('Request.BadBody', `${shape}; it has no member ${JSON.stringify(name)}`)
  return members
}
