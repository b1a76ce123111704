/** The Insert, Update and Delete calls: they become IQL statements. */

import {
  AT,
  buildInsert,
  buildName,
  type IqlValue,
  parameterRef,
  type SelectItem,
  type Statement,
  type TableView,
} from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { Json } from '../../lib/exact-json.ts'
import { inTurns, STEPS_PER_PAUSE, type Steps } from '../../lib/turns.ts'
import { findColumn } from '../catalogue/find-column.ts'
import { requireTable } from '../catalogue/snapshot.ts'
import { refuse } from '../errors.ts'
import { isList, isObject, membersByName, shown } from '../json.ts'
import type { Planning } from '../run/run.ts'
import { BULK_TYPES } from './bulk-type.ts'
import { CallValues, requireCriteria } from './criteria.ts'
import { negotiateEncoding, readIdempotencyKey, readLimits, readTableBody } from './request.ts'
import type { ParsedRequest, PlannedRequest, RequestKind, ServeEnv } from './serve.ts'

export const INSERT = createKind(readInsert, BULK_TYPES)
export const UPDATE = createKind((table, body) => [readUpdate(table, body)])
export const DELETE = createKind((table, body) => [readDelete(table, body)])

type ReadWrite = (table: TableView, body: NonNullable<Json>) => readonly WriteCall[] | Steps<readonly WriteCall[]>

interface ParsedWrite extends ParsedRequest {
  readonly body: NonNullable<Json>
}

function createKind(read: ReadWrite, otherTypes: readonly string[] = []): RequestKind<ParsedWrite> {
  return {
    parse: (context) => inTurns(parse(context, otherTypes)),
    plan: (request, planning, context, env) => inTurns(plan(request, planning, context, env, read)),
  }
}

function* parse(context: Context, otherTypes: readonly string[]): Steps<ParsedWrite> {
  const body = yield* readTableBody(context, otherTypes)
  if (body === undefined || body === null) throw refuse('Request.BadBody', 'The body is empty')
  return { body, encoding: negotiateEncoding(context), shown: context.path }
}

function* plan(
  { body, encoding }: ParsedWrite,
  planning: Planning,
  context: Context,
  env: ServeEnv,
  read: ReadWrite,
): Steps<PlannedRequest> {
  const table = requireTable(planning.view, context.param('table'))
  const steps = read(table, body)
  const calls = 'next' in steps ? yield* steps : steps
  const parts: Pick<PlannedRequest, 'planned' | 'valueSets'>[] = []
  const rowNumber = isList(body) ? (row: number) => row : () => undefined
  let row = 0
  for (const call of calls) {
    const planned = planning.planAtOnce('', call)
    const valueSets: IqlValue[][] = []
    for (const values of call.sets) {
      row++
      valueSets.push(inRow(rowNumber(row), () => values.read(planned.bound.parameters)))
      yield
    }
    parts.push({ planned, valueSets })
  }
  const [first, ...further] = parts
  if (first === undefined) throw refuse('Request.BadBody', 'There is nothing to write')
  return {
    ...first,
    further,
    limits: readLimits(env.limits, encoding),
    idempotencyKey: readIdempotencyKey(context, env.clock, () => [`${table.name}\n`, context.body]),
  }
}

/** A statement, and one set of values for each time it runs. */
interface WriteCall {
  /** Everything but the values: calls with equal keys build equal statements. */
  readonly key: string
  readonly statement: () => Statement
  readonly sets: readonly CallValues[]
}

const MAX_ROWS = 100_000
/** Each set of columns is a separate statement. */
const MAX_SHAPES = 50

/** One object of assignments, or an array of them. Consecutive rows with the same columns share a statement. */
function* readInsert(table: TableView, body: Json): Steps<WriteCall[]> {
  const rows = isList(body) ? body : [body]
  if (rows.length === 0) throw refuse('Request.BadBody', 'The body has no rows')
  if (rows.length > MAX_ROWS) throw refuse('Request.BadBody', `The body has more than ${MAX_ROWS} rows`)
  const calls: WriteCall[] = []
  let last: (WriteCall & { readonly sets: CallValues[] }) | undefined
  const keys = new Set<string>()
  let shape: RowShape | undefined
  let previous: readonly string[] = []
  for (const [index, row] of rows.entries()) {
    if (index % STEPS_PER_PAUSE === 0) yield
    const number = isList(body) ? index + 1 : undefined
    if (!isObject(row))
      throw ofRow(number, refuse('Request.BadBody', 'A row must be an object with a member for each column'))
    const names = Object.keys(row)
    if (shape === undefined || !isSameList(names, previous)) {
      shape = inRow(number, () => findShape(table, names))
      yield
    }
    previous = names
    const { columns, places, key, statement } = shape
    const given = Object.values(row)
    const values = new CallValues(
      columns,
      places.map((place) => given[place] ?? null),
    )
    if (last?.key === key) {
      last.sets.push(values)
      continue
    }
    last = { key, statement, sets: [values] }
    calls.push(last)
    if (keys.add(key).size > MAX_SHAPES)
      throw refuse(
        'Request.BadBody',
        `The rows have more than ${MAX_SHAPES} different sets of columns; send null for a missing value`,
      )
  }
  return calls
}

/** Errors say in which row of the body they are, counted from 1. */
function inRow<Value>(row: number | undefined, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw error instanceof Refusal ? ofRow(row, error) : error
  }
}

function ofRow(row: number | undefined, { code, status, message, details }: Refusal): Refusal {
  if (row === undefined) return new Refusal(code, status, message, details)
  return new Refusal(code, status, `Row ${row}: ${message}`, { ...details, members: { ...details.members, Row: row } })
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

const ALL_COLUMNS: readonly SelectItem[] = [{ kind: 'all', table: undefined, ...AT }]

/** What is shared by rows that name the same columns in the same order. */
interface RowShape {
  /** Sorted, so that rows with the same columns in another order share a statement. */
  readonly columns: string[]
  /** The ordinal of the member of the row for each of them. */
  readonly places: readonly number[]
  readonly key: string
  readonly statement: () => Statement
}

/** The last shape of each definition of a table, which is usually the next one too. */
const latest = new WeakMap<TableView, { readonly names: readonly string[]; readonly shape: RowShape }>()

function findShape(table: TableView, names: readonly string[]): RowShape {
  const last = latest.get(table)
  if (last !== undefined && isSameList(names, last.names)) return last.shape
  const shape = newShape(table, names)
  latest.set(table, { names, shape })
  return shape
}

function newShape(table: TableView, names: readonly string[]): RowShape {
  const named = names.map((name, place) => ({ place, column: findColumn(table, name) }))
  named.sort((a, b) => (a.column < b.column ? -1 : 1))
  const columns = named.map(({ column }) => column)
  if (columns.length === 0) throw refuse('Request.BadBody', 'A row must have at least one column')
  if (new Set(columns).size < columns.length) throw refuse('Request.BadBody', 'A row names a column twice')
  const key = `insert ${JSON.stringify([table.name, ...columns])}`
  const places = named.map(({ place }) => place)
  return { columns, places, key, statement: () => buildInsert(table.name, columns, 1, ALL_COLUMNS) }
}

/** `{"Criteria": […], "Assignments": {…}}` */
function readUpdate(table: TableView, body: Json): WriteCall {
  const members = namedMembers(
    body,
    ['criteria', 'assignments'],
    'The body of an Update must be an object with Criteria and Assignments',
  )
  const assignments = members.get('assignments')
  if (assignments === undefined || !isObject(assignments) || Object.keys(assignments).length === 0) {
    throw refuse('Request.BadBody', 'Assignments must be an object with a member for each column to set')
  }
  const values = new CallValues()
  const where = requireCriteria(members.get('criteria') ?? [], table, values)
  const set = Object.entries(assignments).map(([name, value]) => {
    const column = findColumn(table, name)
    return { column: buildName(column), value: parameterRef(values.add(column, value)) }
  })
  return createCall(
    { kind: 'update', table: buildName(table.name), alias: undefined, set, where, returning: [], ...AT },
    values,
  )
}

/** A JSON array of criteria, or `{"Criteria": […]}`. */
function readDelete(table: TableView, body: Json): WriteCall {
  const criteria = isList(body)
    ? body
    : namedMembers(body, ['criteria'], 'The body of a Delete must be an array of criteria').get('criteria')
  const values = new CallValues()
  const where = requireCriteria(criteria ?? [], table, values)
  return createCall(
    { kind: 'delete', table: buildName(table.name), alias: undefined, where, returning: [], ...AT },
    values,
  )
}

function createCall(statement: Statement, values: CallValues): WriteCall {
  return { key: JSON.stringify(statement), statement: () => statement, sets: [values] }
}

function namedMembers(body: Json, allowed: readonly string[], shape: string): ReadonlyMap<string, Json> {
  if (!isObject(body)) throw refuse('Request.BadBody', shape)
  const members = membersByName(body)
  for (const name of members.keys())
    if (!allowed.includes(name)) throw refuse('Request.BadBody', `${shape}; ${shown(name)} is unknown`)
  return members
}
