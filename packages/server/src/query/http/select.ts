/** The Select call: its columns, criteria, order and page become an IQL query. */

import {
  AT,
  type Bound,
  binary,
  boolean,
  buildName,
  columnRef,
  type Expression,
  isNull,
  parameterRef,
  type Query,
  type Statement,
  type TableView,
} from 'gatehouse-iql'
import { nearest } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { QueryValues } from '../../http/request/request-head.ts'
import type { Json } from '../../lib/exact-json.ts'
import { inTurns, type Steps } from '../../lib/turns.ts'
import { findColumn } from '../catalogue/find-column.ts'
import { requireTable } from '../catalogue/snapshot.ts'
import { refuse } from '../errors.ts'
import { writeJson } from '../json.ts'
import type { KeyColumn } from '../plan/emitter.ts'
import type { Planning } from '../run/run.ts'
import { CallValues, readCriteria } from './criteria.ts'
import { type Cursor, keyText, readCursor, writeCursor } from './cursor.ts'
import { negotiateEncoding, readLimits, readTableBody } from './request.ts'
import type { ParsedRequest, PlannedRequest, RequestKind, ServeEnv } from './serve.ts'

interface ParsedSelect extends ParsedRequest {
  /** The criteria. */
  readonly body: Json
}

export const SELECT: RequestKind<ParsedSelect> = {
  parse: (context) => inTurns(parse(context)),
  plan,
}

function* parse(context: Context): Steps<ParsedSelect> {
  const body = yield* readTableBody(context)
  return { body: body === undefined ? [] : body, encoding: negotiateEncoding(context), shown: context.path }
}

function plan({ body, encoding }: ParsedSelect, planning: Planning, context: Context, env: ServeEnv): PlannedRequest {
  const table = requireTable(planning.view, context.param('table'))
  const call = readSelect(table, context.query, body)
  const planned = planning.plan('', call)
  const limits = readLimits(env.limits, encoding, { limit: call.limit, skip: call.offset })
  return {
    planned,
    valueSets: [call.values.read(planned.bound.parameters)],
    limits,
    cursor: ({ lastKey, rowCount }) =>
      writeCursor(
        call.hasKey ? { kind: 'key', key: lastKey.map(keyText) } : { kind: 'rows', rows: call.offset + rowCount },
        call.identity(),
      ),
    isOwnLimit: call.limit === limits.rows,
  }
}

interface SelectCall {
  /** Everything but the values: calls with equal keys build equal statements. */
  readonly key: string
  readonly statement: () => Statement
  readonly keys: (bound: Bound) => readonly KeyColumn[]
  readonly values: CallValues
  readonly limit: number | undefined
  readonly offset: number
  /** Everything that determines the rows and their order: a cursor is bound to it. */
  readonly identity: () => string
  readonly hasKey: boolean
}

interface Order {
  readonly column: string
  readonly descending: boolean
}

function readSelect(table: TableView, parameters: QueryValues, body: Json): SelectCall {
  const values = new CallValues()
  const { columns, order, key } = parameters.size === 0 ? usualRows(table) : readRows(table, parameters)
  const hasKey = table.primaryKey.length > 0
  const criteria = readCriteria(body, table, values)
  // A long body is written again only if there is a cursor.
  const identity = (): string => [table.name, JSON.stringify(order), writeJson(body)].join('\n')
  const after = readAfter(parameters, identity)
  const page = after?.kind === 'key' ? afterKey(order, after.key, values) : undefined
  const where = criteria === undefined ? page : page === undefined ? criteria : binary('and', criteria, page)
  const offset = count(parameters, 'offset') ?? 0
  return {
    key: `${key} ${JSON.stringify(where)}`,
    statement: () => buildQuery(table, columns, order, where),
    keys: (bound) => (hasKey ? keyColumns(bound, table, order) : []),
    values,
    limit: count(parameters, 'limit'),
    // The offset applies to the first page. Later pages start where their cursor points.
    offset: after === undefined ? offset : after.kind === 'rows' ? after.rows : 0,
    identity,
    hasKey,
  }
}

/** Which columns a call wants, and in which order its rows. */
interface Rows {
  readonly columns: readonly string[]
  readonly order: readonly Order[]
  /** Equal for equal rows of one table. */
  readonly key: string
}

const PARAMETERS = ['columns', 'column', 'orderby', 'limit', 'offset', 'after', 'rows', 'integers']

/** A misspelt `limit` would return the whole table. Other names are left to those who add them, such as proxies. */
function refuseMisspelt(parameters: QueryValues): void {
  for (const name of parameters.keys()) {
    if (PARAMETERS.includes(name.toLowerCase())) continue
    const near = nearest(name, PARAMETERS)
    if (near !== undefined)
      throw refuse('Request.BadParameter', `The query parameter ${name} is unknown`, {
        members: { Expected: PARAMETERS, Hint: `did you mean ${near}?` },
      })
  }
}

function readRows(table: TableView, parameters: QueryValues): Rows {
  refuseMisspelt(parameters)
  const columns = readColumns(table, parameters)
  const requested = readOrder(table, parameters)
  const order = table.primaryKey.length > 0 ? [...requested, ...tieBreakers(table, requested)] : requested
  return { columns, order, key: `select ${JSON.stringify([table.name, columns, order])}` }
}

const NO_PARAMETERS: QueryValues = new Map()
const USUAL_ROWS = new WeakMap<TableView, Rows>()

/** All columns in the order of the primary key. With a short key, because it is built and hashed for each lookup. */
function usualRows(table: TableView): Rows {
  let rows = USUAL_ROWS.get(table)
  if (rows === undefined) {
    rows = { ...readRows(table, NO_PARAMETERS), key: `select all ${JSON.stringify(table.name)}` }
    USUAL_ROWS.set(table, rows)
  }
  return rows
}

function buildQuery(
  table: TableView,
  columns: readonly string[],
  order: readonly Order[],
  where: Expression | undefined,
): Query {
  return {
    kind: 'query',
    with: [],
    body: {
      kind: 'select',
      distinct: false,
      items: columns.map((column) => ({ kind: 'item', expression: columnRef(column), alias: undefined })),
      from: { kind: 'table', name: buildName(table.name), alias: undefined },
      where,
      groupBy: [],
      having: undefined,
      ...AT,
    },
    orderBy: order.map(({ column, descending }) => ({ expression: columnRef(column), descending, nulls: undefined })),
    limit: undefined,
    offset: undefined,
    ...AT,
  }
}

/** `columns=a,b` and `column=c` can be combined. The order is kept, and duplicates are dropped. */
export function readColumns(table: TableView, parameters: QueryValues): readonly string[] {
  const names = [...all(parameters, 'columns').flatMap((list) => list.split(',')), ...all(parameters, 'column')]
  const wanted = names.map((name) => name.trim()).filter((name) => name !== '')
  if (wanted.length === 0) return table.columns.map(({ name }) => name)
  return [...new Set(wanted.map((name) => findColumn(table, name)))]
}

/** `orderby=a,-b` */
function readOrder(table: TableView, parameters: QueryValues): Order[] {
  const items = all(parameters, 'orderby')
    .flatMap((list) => list.split(','))
    .map((item) => item.trim())
  const order = new Map<string, Order>()
  for (const item of items.filter((text) => text !== '')) {
    const descending = item.startsWith('-')
    const column = findColumn(table, descending || item.startsWith('+') ? item.slice(1) : item)
    if (!order.has(column)) order.set(column, { column, descending })
  }
  return [...order.values()]
}

/** The primary key makes the order total, so that pages neither skip nor repeat a row. */
function tieBreakers(table: TableView, order: readonly Order[]): Order[] {
  return table.primaryKey
    .filter((name) => !order.some(({ column }) => column === name))
    .map((column) => ({ column, descending: false }))
}

function readAfter(parameters: QueryValues, identity: () => string): Cursor | undefined {
  const text = single(parameters, 'after')
  return text === undefined ? undefined : readCursor(text, identity())
}

/** The rows after a key: those that are greater in the first column in which they differ. NULL is the greatest value. */
function afterKey(order: readonly Order[], key: readonly (string | null)[], values: CallValues): Expression {
  if (key.length !== order.length) throw refuse('Request.BadCursor', 'The cursor belongs to another request')
  const alternatives: Expression[] = []
  const equal: Expression[] = []
  order.forEach(({ column, descending }, index) => {
    const value = key[index] ?? null
    const operand = columnRef(column)
    const parameter = (): Expression => parameterRef(values.add(column, value))
    const beyond = value === null ? undefined : binary(descending ? '<' : '>', operand, parameter())
    // In ascending order NULL follows every value, and nothing follows NULL.
    const follows = descending
      ? (beyond ?? isNull(operand, true))
      : beyond && binary('or', beyond, isNull(operand, false))
    if (follows !== undefined)
      alternatives.push([...equal, follows].reduce((left, right) => binary('and', left, right)))
    equal.push(value === null ? isNull(operand, false) : binary('=', operand, parameter()))
  })
  const [first, ...rest] = alternatives
  return first === undefined ? boolean(false) : rest.reduce((left, right) => binary('or', left, right), first)
}

function keyColumns(bound: Bound, table: TableView, order: readonly Order[]): KeyColumn[] {
  const { statement } = bound
  const from = statement.kind === 'query' && statement.body.kind === 'select' ? statement.body.from : undefined
  // With rows as of several times, the table is a query in FROM.
  if (from?.kind !== 'table' && from?.kind !== 'derived') return []
  const source = from.id
  return order.map(({ column: name }) => {
    const ordinal = table.columns.findIndex((column) => column.name === name)
    const column = table.columns[ordinal]
    if (column === undefined) throw new Error(`The table ${table.name} has no column ${name}`)
    return { name, expression: { kind: 'column', source, ordinal, name, type: column.type, nullable: column.nullable } }
  })
}

function all(parameters: QueryValues, name: string): readonly string[] {
  const given = parameters.size === 0 ? undefined : [...parameters].find(([key]) => key.toLowerCase() === name)?.[1]
  return given === undefined ? [] : typeof given === 'string' ? [given] : given
}

function single(parameters: QueryValues, name: string): string | undefined {
  const given = all(parameters, name)
  if (given.length > 1) throw refuse('Request.BadParameter', `The query parameter ${name} appears twice`)
  return given[0]
}

function count(parameters: QueryValues, name: string): number | undefined {
  const text = single(parameters, name)
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text))
    throw refuse('Request.BadParameter', `The query parameter ${name} must be a whole number, 0 or greater`)
  return Number(text)
}
