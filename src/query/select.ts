/** The Select call: columns, criteria, order and page, said as a query of IQL. */
import type { SearchValues } from '../http/search.ts'
import { findColumn, readCriteria } from './criteria.ts'
import { type Cursor, readCursor } from './cursor.ts'
import { refuse } from './errors.ts'
import { GivenValues } from './given.ts'
import type { Query, Statement } from './iql/ast.ts'
import type { Expression } from './iql/ast-expression.ts'
import type { Bound } from './iql/bound.ts'
import type { TableView } from './iql/catalogue-view.ts'
import { type Json, writeJson } from './json.ts'
import type { KeyColumn } from './planner.ts'

export interface SelectCall {
  /** Equal keys make equal statements: everything but the values. */
  readonly key: string
  readonly statement: () => Statement
  readonly keys: (bound: Bound) => readonly KeyColumn[]
  readonly values: GivenValues
  readonly limit: number | undefined
  readonly offset: number
  /** What a cursor of this call belongs to. */
  readonly identity: string
  readonly hasKey: boolean
}

interface Order {
  readonly column: string
  readonly descending: boolean
}

const AT = { at: 0 }

export function readSelect(table: TableView, parameters: SearchValues, body: Json): SelectCall {
  const values = new GivenValues()
  const columns = readColumns(table, parameters)
  const wanted = readOrder(table, parameters)
  const hasKey = table.primaryKey.length > 0
  const order = hasKey ? [...wanted, ...tieBreakers(table, wanted)] : wanted
  const criteria = readCriteria(body, table, values)
  const identity = [table.name, JSON.stringify(order), writeJson(body)].join('\n')
  const after = readAfter(parameters, identity)
  const rest = after?.kind === 'key' ? afterKey(order, after.key, values) : undefined
  const where = criteria === undefined ? rest : rest === undefined ? criteria : and(criteria, rest)
  const query: Query = {
    kind: 'query',
    with: [],
    body: {
      kind: 'select',
      distinct: false,
      items: columns.map((column) => ({ kind: 'item', expression: reference(column), alias: undefined })),
      from: { kind: 'table', name: { text: table.name, ...AT }, alias: undefined },
      where,
      groupBy: [],
      having: undefined,
      ...AT,
    },
    orderBy: order.map(({ column, descending }) => ({ expression: reference(column), descending, nulls: undefined })),
    limit: undefined,
    offset: undefined,
    ...AT,
  }
  const offset = count(parameters, 'offset') ?? 0
  return {
    key: JSON.stringify(query),
    statement: () => query,
    keys: (bound) => (hasKey ? keyColumns(bound, table, order) : []),
    values,
    limit: count(parameters, 'limit'),
    // A page begins where its cursor says: the offset was counted for the first one.
    offset: after === undefined ? offset : after.kind === 'rows' ? after.rows : 0,
    identity,
    hasKey,
  }
}

/** `columns=a,b` and `column=c` may be mixed; the order is kept, a column stands once. */
export function readColumns(table: TableView, parameters: SearchValues): readonly string[] {
  const names = [...all(parameters, 'columns').flatMap((list) => list.split(',')), ...all(parameters, 'column')]
  const wanted = names.map((name) => name.trim()).filter((name) => name !== '')
  if (wanted.length === 0) return table.columns.map(({ name }) => name)
  return [...new Set(wanted.map((name) => findColumn(table, name)))]
}

/** `orderby=a,-b` */
function readOrder(table: TableView, parameters: SearchValues): Order[] {
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

/** The primary key makes the order total, so that no row is lost or given twice between pages. */
function tieBreakers(table: TableView, order: readonly Order[]): Order[] {
  return table.primaryKey
    .filter((name) => !order.some(({ column }) => column === name))
    .map((column) => ({ column, descending: false }))
}

function readAfter(parameters: SearchValues, identity: string): Cursor | undefined {
  const text = single(parameters, 'after')
  return text === undefined ? undefined : readCursor(text, identity)
}

/** The rows after a key: those that differ first in some column and are greater there. NULL is the greatest. */
function afterKey(order: readonly Order[], key: readonly (string | null)[], values: GivenValues): Expression {
  if (key.length !== order.length) throw refuse('Request.BadCursor', 'The cursor was not given by this request')
  const alternatives: Expression[] = []
  const equal: Expression[] = []
  order.forEach(({ column, descending }, index) => {
    const value = key[index] ?? null
    const beyond =
      value === null
        ? nullBeyond(column, descending)
        : valueBeyond(column, descending, parameter(column, value, values))
    if (beyond !== undefined) alternatives.push([...equal, beyond].reduce(and))
    equal.push(
      value === null
        ? isNull(column, false)
        : { kind: 'binary', operator: '=', left: reference(column), right: parameter(column, value, values), ...AT },
    )
  })
  const [first, ...rest] = alternatives
  if (first === undefined) return { kind: 'boolean', value: false, ...AT }
  return rest.reduce<Expression>((left, right) => ({ kind: 'binary', operator: 'or', left, right, ...AT }), first)
}

function nullBeyond(column: string, descending: boolean): Expression | undefined {
  return descending ? isNull(column, true) : undefined
}

function valueBeyond(column: string, descending: boolean, value: Expression): Expression {
  const greater: Expression = {
    kind: 'binary',
    operator: descending ? '<' : '>',
    left: reference(column),
    right: value,
    ...AT,
  }
  return descending ? greater : { kind: 'binary', operator: 'or', left: greater, right: isNull(column, false), ...AT }
}

function parameter(column: string, value: string, values: GivenValues): Expression {
  return { kind: 'parameter', name: values.add(column, value), ...AT }
}

function keyColumns(bound: Bound, table: TableView, order: readonly Order[]): KeyColumn[] {
  const { statement } = bound
  if (statement.kind !== 'query' || statement.body.kind !== 'select' || statement.body.from?.kind !== 'table') return []
  const source = statement.body.from.id
  return order.map(({ column: name }) => {
    const ordinal = table.columns.findIndex((column) => column.name === name)
    const column = table.columns[ordinal]
    if (column === undefined) throw new Error(`The column ${name} is not of the table ${table.name}`)
    return { name, expression: { kind: 'column', source, ordinal, name, type: column.type, nullable: column.nullable } }
  })
}

function reference(column: string): Expression {
  return { kind: 'column', table: undefined, name: { text: column, ...AT } }
}

function and(left: Expression, right: Expression): Expression {
  return { kind: 'binary', operator: 'and', left, right, ...AT }
}

function isNull(column: string, negated: boolean): Expression {
  return { kind: 'is-null', operand: reference(column), negated, ...AT }
}

function all(parameters: SearchValues, name: string): readonly string[] {
  const given = parameters.size === 0 ? undefined : [...parameters].find(([key]) => key.toLowerCase() === name)?.[1]
  return given === undefined ? [] : typeof given === 'string' ? [given] : given
}

function single(parameters: SearchValues, name: string): string | undefined {
  const given = all(parameters, name)
  if (given.length > 1) throw refuse('Request.BadParameter', `The query parameter ${name} stands twice`)
  return given[0]
}

function count(parameters: SearchValues, name: string): number | undefined {
  const text = single(parameters, name)
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text))
    throw refuse('Request.BadParameter', `The query parameter ${name} is a whole number from 0`)
  return Number(text)
}
