/** Binds queries: WITH, set operations, ORDER BY, LIMIT. */
import type { Body, Cte, Query, SetOperation } from './ast.ts'
import type { Expression, OrderItem } from './ast-expression.ts'
import { bindExpression, fingerprintOf } from './bind-expression.ts'
import { isConstant } from './bind-literal.ts'
import { orderOf } from './bind-order.ts'
import { type BoundSelect, bindSelect } from './bind-select.ts'
import { type Binding, startOf } from './binding.ts'
import type * as Bound from './bound.ts'
import type { BoundExpression, BoundOrder } from './bound-expression.ts'
import { firstDuplicate, ordinalsOf } from './names.ts'
import { CLAUSES, Scope } from './scope.ts'
import { commonType, INTEGER, isComparable, isStorable, TEXT, typeName } from './types.ts'
import { widenBody } from './widen-body.ts'

export interface QueryOptions {
  /** EXISTS and INSERT do not look at the names of columns, so those may repeat. */
  readonly anyNames?: boolean
}

/** A query within an expression or in FROM: it sees what encloses it. */
export function bindSubquery(
  binding: Binding,
  scope: Scope | undefined,
  query: Query,
  at: number,
  options: QueryOptions = {},
): Bound.Query {
  if (binding.bindsRowFilter) throw binding.fail('BadDefinition', at, 'A row filter cannot hold a sub-query')
  return bindQuery(binding, scope, query, options)
}

export function bindQuery(
  binding: Binding,
  parent: Scope | undefined,
  query: Query,
  options: QueryOptions = {},
): Bound.Query {
  const scope = new Scope(parent)
  const ctes = query.with.map((cte) => bindCte(binding, scope, cte))
  const { body: untyped, order } = bindBody(binding, scope, query.body, query.orderBy)
  const body = widenBody(
    untyped,
    untyped.columns.map(({ type }) => (type.kind === 'Null' ? TEXT : type)),
  )
  if (options.anyNames !== true) refuseDuplicateColumns(binding, query, body.columns)
  refuseUnstorable(binding, query, body.columns)
  return {
    kind: 'query',
    with: ctes,
    body,
    orderBy: query.orderBy.map((item) => order(item)),
    limit: bindLimit(binding, scope, query.limit),
    offset: bindLimit(binding, scope, query.offset),
    columns: body.columns,
  }
}

function bindCte(binding: Binding, scope: Scope, { name, columns: names, query: written }: Cte): Bound.Cte {
  if (scope.ctes.has(name.text.toLowerCase())) {
    throw binding.fail('DuplicateTable', name.at, `WITH names ${name.text} twice`)
  }
  const query = bindQuery(binding, scope, written, { anyNames: names.length > 0 })
  if (names.length > 0 && names.length !== query.columns.length) {
    throw binding.fail(
      'ColumnCount',
      name.at,
      `${name.text} names ${names.length} columns, but its query has ${query.columns.length}`,
    )
  }
  const duplicate = firstDuplicate(names, ({ text }) => text)
  if (duplicate !== undefined)
    throw binding.fail('DuplicateColumn', duplicate.at, `${name.text} names ${duplicate.text} twice`)
  const columns = query.columns.map((column, index) => ({ ...column, name: names[index]?.text ?? column.name }))
  const cte = { id: binding.nextSource(), name: name.text, query, columns }
  scope.ctes.set(name.text.toLowerCase(), cte)
  return cte
}

/** A body, and how the ORDER BY that follows it is bound: over a select it may use the select's input, else only names. */
interface BoundBody {
  readonly body: Bound.Body
  readonly order: (item: OrderItem) => BoundOrder
}

function bindBody(binding: Binding, scope: Scope, body: Body, orderBy: readonly OrderItem[] = []): BoundBody {
  switch (body.kind) {
    case 'select': {
      const bound = bindSelect(binding, scope, body, orderBy)
      return { body: bound.select, order: (item) => orderSelect(binding, bound, item) }
    }
    case 'set': {
      const bound = bindSet(binding, scope, body)
      return { body: bound, order: (item) => orderByName(binding, bound, item) }
    }
    case 'query': {
      const bound = bindQuery(binding, scope, body, { anyNames: true })
      return { body: bound, order: (item) => orderByName(binding, bound, item) }
    }
  }
}

function bindSet(binding: Binding, scope: Scope, written: SetOperation): Bound.SetOperation {
  const left = bindBody(binding, scope, written.left).body
  const right = bindBody(binding, scope, written.right).body
  const { operator, all, at } = written
  const word = operator.toUpperCase()
  if (left.columns.length !== right.columns.length) {
    const counts = `${left.columns.length} and ${right.columns.length}`
    throw binding.fail('ColumnCount', at, `The sides of ${word} have ${counts} columns`)
  }
  const columns = left.columns.map((column, index) => {
    const other = right.columns[index] ?? column
    const type = commonType(column.type, other.type)
    if (type === undefined || (!all && !isComparable(type) && type.kind !== 'Null')) {
      const types = `${typeName(column.type)} and ${typeName(other.type)}`
      throw binding.fail('TypeMismatch', at, `Column ${index + 1} (${column.name}) of ${word} has ${types}`)
    }
    return { name: column.name, type, nullable: column.nullable || other.nullable }
  })
  const types = columns.map(({ type }) => type)
  return { kind: 'set', operator, all, left: widenBody(left, types), right: widenBody(right, types), columns }
}

/** A number, or the name of a column of the result. */
function orderByName(binding: Binding, { columns }: Bound.Body, item: OrderItem): BoundOrder {
  const ordinal = outputMeant(binding, columns, item.expression)
  if (ordinal !== undefined) return orderOf(binding, item, output(columns, ordinal))
  throw binding.fail('BadOrder', startOf(item.expression), 'Here only the columns of the result can give the order', {
    expected: columns.map(({ name }) => name),
  })
}

/** A number, the name of a result column, or any expression over what the select reads. */
function orderSelect(binding: Binding, { select, scope }: BoundSelect, item: OrderItem): BoundOrder {
  const { columns, outputs, distinct } = select
  const ordinal = outputMeant(binding, columns, item.expression)
  if (ordinal !== undefined) return orderOf(binding, item, output(columns, ordinal))
  scope.clause = CLAUSES.orderBy
  const expression = bindExpression(binding, scope, item.expression, TEXT)
  if (isConstant(expression)) {
    const message = 'ORDER BY takes columns and expressions over them, not a constant'
    throw binding.fail('BadOrder', startOf(item.expression), message)
  }
  const same = outputsByMeaning(outputs).get(fingerprintOf(expression))
  if (same !== undefined) return orderOf(binding, item, output(columns, same))
  if (distinct) {
    throw binding.fail('BadOrder', startOf(item.expression), 'A DISTINCT result is ordered by its own columns only')
  }
  return orderOf(binding, item, expression)
}

/** Made once for each select, and only where ORDER BY has expressions. */
function outputsByMeaning(outputs: readonly Bound.OutputItem[]): ReadonlyMap<string, number> {
  const known = MEANINGS.get(outputs)
  if (known !== undefined) return known
  const meanings = new Map<string, number>()
  for (const [ordinal, { expression }] of outputs.entries()) {
    const fingerprint = fingerprintOf(expression)
    if (!meanings.has(fingerprint)) meanings.set(fingerprint, ordinal)
  }
  MEANINGS.set(outputs, meanings)
  return meanings
}

const MEANINGS = new WeakMap<readonly Bound.OutputItem[], ReadonlyMap<string, number>>()

function outputMeant(
  binding: Binding,
  columns: readonly Bound.ResultColumn[],
  written: Expression,
): number | undefined {
  if (written.kind === 'number' && /^\d+$/.test(written.text)) {
    const ordinal = Number(written.text) - 1
    if (ordinal >= 0 && ordinal < columns.length) return ordinal
    throw binding.fail(
      'BadOrder',
      written.at,
      `The result has ${columns.length} columns; there is no number ${written.text}`,
    )
  }
  if (written.kind !== 'column' || written.table !== undefined) return undefined
  return ordinalsOf(columns).get(written.name.text.toLowerCase())?.[0]
}

function output(columns: readonly Bound.ResultColumn[], ordinal: number): BoundExpression {
  const { type, nullable } = columns[ordinal] ?? { type: TEXT, nullable: true }
  return { kind: 'output', ordinal, type: type.kind === 'Null' ? TEXT : type, nullable }
}

function bindLimit(binding: Binding, scope: Scope, written: Expression | undefined): BoundExpression | undefined {
  if (written === undefined) return undefined
  const isPlain = written.kind === 'parameter' || (written.kind === 'number' && /^\d{1,18}$/.test(written.text))
  if (!isPlain) throw binding.fail('BadLimit', startOf(written), 'LIMIT and OFFSET take a whole number or a parameter')
  const bound = bindExpression(binding, scope, written, INTEGER)
  if (bound.type.kind === 'Integer') return bound
  throw binding.fail('BadLimit', startOf(written), `LIMIT and OFFSET take an Integer, not ${typeName(bound.type)}`)
}

function refuseDuplicateColumns(binding: Binding, query: Query, columns: readonly Bound.ResultColumn[]): void {
  const duplicate = firstDuplicate(columns, ({ name }) => name)
  if (duplicate === undefined) return
  throw binding.fail(
    'DuplicateColumn',
    placeOf(query, columns.indexOf(duplicate)),
    `Two columns of the result are named ${duplicate.name}`,
    {
      hint: `give one another name: … AS ${duplicate.name}2`,
    },
  )
}

function refuseUnstorable(binding: Binding, query: Query, columns: readonly Bound.ResultColumn[]): void {
  const index = columns.findIndex(({ type }) => !isStorable(type))
  if (index === -1) return
  throw binding.fail('TypeMismatch', placeOf(query, index), 'A result cannot hold an Interval', {
    hint: "write date_diff('second', a, b)",
  })
}

/** Where the output at the index is written, as far as no * stands before it. */
function placeOf(query: Query, index: number): number {
  let body: Body = query.body
  while (body.kind !== 'select') body = body.kind === 'set' ? body.left : body.body
  for (const [place, item] of body.items.entries()) {
    if (item.kind === 'all') return item.at
    if (place === index) return item.alias?.at ?? startOf(item.expression)
  }
  return body.at
}
