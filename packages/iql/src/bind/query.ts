/** Binds queries: WITH, set operations, ORDER BY, LIMIT. */

import { isGivenValue } from '../bound/bound-leaf.ts'
import type * as Bound from '../bound/bound-query.ts'
import type { BoundExpression, BoundOrder } from '../bound/bound-query.ts'
import { chooseRows } from '../rewrite/choose-rows.ts'
import { fillGaps } from '../rewrite/fill-gaps.ts'
import { expandGroupByAll } from '../rewrite/group-by-all.ts'
import { replaceOutputNames } from '../rewrite/output-names.ts'
import { type Binding, type QueryOptions, startPosition } from '../scope/binding.ts'
import { CLAUSES, Scope } from '../scope/scope.ts'
import type { Body, Cte, Expression, Name, OrderItem, Query, SetOperation } from '../syntax/ast-query.ts'
import { DEFAULT_LIMITS } from '../syntax/limits.ts'
import { firstDuplicate, type Ordinals, ordinalsByName } from '../syntax/names.ts'
import { commonType, INTEGER, isComparable, isStorable, TEXT, typeName } from '../types/types.ts'
import { toBoundOrder } from './clause.ts'
import { computeFingerprint } from './expression.ts'
import { type BoundSelect, bindSelect } from './select.ts'
import { mapOutputs, nullAsText, widenBody } from './widen-body.ts'

export function bindQuery(
  binding: Binding,
  parent: Scope | undefined,
  written: Query,
  options: QueryOptions = {},
): Bound.BoundQuery {
  const scope = new Scope(parent)
  const ctes = written.with.map((cte) => bindCte(binding, scope, cte))
  const query = fillGaps(binding, scope, { ...written, body: expandGroupByAll(binding, written.body) })
  for (const cte of query.with.slice(written.with.length)) ctes.push(bindCte(binding, scope, cte))
  const { body: untyped, orderBy } = bindBody(binding, scope, query.body, query.orderBy)
  const body = widenBody(
    untyped,
    untyped.columns.map(({ type }) => (type.kind === 'Null' ? TEXT : type)),
  )
  if (options.anyNames !== true) refuseDuplicateColumns(binding, query, body.columns)
  return {
    kind: 'query',
    with: ctes,
    body,
    orderBy: orderBy(),
    limit: bindLimit(binding, scope, query.limit),
    offset: bindLimit(binding, scope, query.offset),
    columns: body.columns,
  }
}

function bindCte(binding: Binding, scope: Scope, { name, columns: names, query: written }: Cte): Bound.Cte {
  if (scope.ctes.has(name.text.toLowerCase())) {
    throw binding.fail('DuplicateTable', name.at, `WITH names ${name.text} twice`)
  }
  const usesBefore = binding.withUses
  const query = bindQuery(binding, scope, written, { anyNames: names.length > 0 })
  const size = 1 + binding.withUses - usesBefore
  // A definition alone does not count as a use.
  binding.withUses = usesBefore
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
  binding.withSizes.set(cte.id, size)
  scope.ctes.set(name.text.toLowerCase(), cte)
  return cte
}

/** A body, and the ORDER BY after it. Only after a select may it use the select's input. */
interface BoundBody {
  readonly body: Bound.BoundBody
  readonly orderBy: () => readonly BoundOrder[]
}

function bindBody(binding: Binding, scope: Scope, body: Body, orderBy: readonly OrderItem[] = []): BoundBody {
  switch (body.kind) {
    case 'select': {
      const bound = bindSelect(binding, scope, body, orderBy)
      const outputs = new OutputLookup(bound.select.columns, bound.select.outputs)
      const bindOrders = () => orderBy.map((item) => orderSelect(binding, bound, outputs, item))
      if (bound.choice === undefined) return { body: bound.select, orderBy: bindOrders }
      const typed = mapOutputs(bound.select, (expression) => nullAsText({ name: '', expression }).expression)
      const chosen = chooseRows(typed, bound.choice, bindOrders(), () => binding.nextSource())
      return { body: chosen.select, orderBy: () => chosen.orderBy }
    }
    case 'set': {
      const bound = bindSet(binding, scope, body)
      const outputs = new OutputLookup(bound.columns)
      return { body: bound, orderBy: () => orderBy.map((item) => orderByName(binding, outputs, item)) }
    }
    case 'query': {
      const bound = bindQuery(binding, scope, body, { anyNames: true })
      const outputs = new OutputLookup(bound.columns)
      return { body: bound, orderBy: () => orderBy.map((item) => orderByName(binding, outputs, item)) }
    }
  }
}

function bindSet(binding: Binding, scope: Scope, written: SetOperation): Bound.SetOperation {
  if (binding.expansion.addSetOperation()) {
    const message = `A statement has at most ${DEFAULT_LIMITS.setOperations} set operations, with those of its views`
    throw binding.fail('TooComplex', written.at, message)
  }
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
function orderByName(binding: Binding, outputs: OutputLookup, item: OrderItem): BoundOrder {
  const output = outputs.named(binding, item.expression)
  if (output !== undefined) return toBoundOrder(binding, item, output)
  throw binding.fail(
    'BadOrder',
    startPosition(item.expression),
    'This query can only be ordered by columns of its result',
    {
      expected: outputs.columns.map(({ name }) => name),
      hint: item.expression.kind === 'column' ? undefined : 'write SELECT * FROM (…) AS r ORDER BY …',
    },
  )
}

/** A number, the name of a result column, or any expression over the sources of the select and the names of its outputs. */
function orderSelect(
  binding: Binding,
  { select, scope, written }: BoundSelect,
  outputs: OutputLookup,
  item: OrderItem,
): BoundOrder {
  const named = outputs.named(binding, item.expression)
  if (named !== undefined) return toBoundOrder(binding, item, named)
  scope.clause = CLAUSES.orderBy
  const isColumn = ({ text }: Name) => scope.candidates(undefined, text).length > 0
  const expression = binding.expression(scope, replaceOutputNames(binding, isColumn, written, item.expression), TEXT)
  if (isGivenValue(expression)) {
    const message = 'ORDER BY takes columns and expressions over them, not a constant'
    throw binding.fail('BadOrder', startPosition(item.expression), message)
  }
  const same = outputs.equalTo(expression)
  if (same !== undefined) return toBoundOrder(binding, item, same)
  if (select.distinct) {
    throw binding.fail(
      'BadOrder',
      startPosition(item.expression),
      'A DISTINCT result can only be ordered by its columns',
      {
        hint: 'write SELECT * FROM (SELECT DISTINCT …) AS r ORDER BY …',
      },
    )
  }
  return toBoundOrder(binding, item, expression)
}

/** Finds the output that an item of ORDER BY refers to. Its maps are built on first use. */
class OutputLookup {
  readonly columns: readonly Bound.ResultColumn[]
  readonly #items: readonly Bound.OutputItem[]
  #ordinals: Ordinals | undefined
  #byFingerprint: Map<string, number> | undefined
  #kinds: ReadonlySet<string> | undefined

  constructor(columns: readonly Bound.ResultColumn[], items: readonly Bound.OutputItem[] = []) {
    this.columns = columns
    this.#items = items
  }

  /** By number or by name. */
  named(binding: Binding, written: Expression): BoundExpression | undefined {
    if (written.kind === 'number' && /^\d+$/.test(written.text)) {
      const ordinal = Number(written.text) - 1
      if (ordinal >= 0 && ordinal < this.columns.length) return this.#output(ordinal)
      const message = `The result has ${this.columns.length} columns; there is no column ${written.text}`
      throw binding.fail('BadOrder', written.at, message)
    }
    if (written.kind !== 'column' || written.table !== undefined) return undefined
    this.#ordinals ??= ordinalsByName(this.columns)
    return this.#output(this.#ordinals.get(written.name.text.toLowerCase())?.[0])
  }

  equalTo(expression: BoundExpression): BoundExpression | undefined {
    this.#kinds ??= new Set(this.#items.map((item) => item.expression.kind))
    if (!this.#kinds.has(expression.kind)) return undefined
    // The first of equal outputs counts, so it is set last.
    this.#byFingerprint ??= new Map(
      this.#items.map((item, ordinal) => [computeFingerprint(item.expression), ordinal] as const).reverse(),
    )
    return this.#output(this.#byFingerprint.get(computeFingerprint(expression)))
  }

  #output(ordinal: number | undefined): BoundExpression | undefined {
    if (ordinal === undefined) return undefined
    const { type, nullable } = this.columns[ordinal] ?? { type: TEXT, nullable: true }
    return { kind: 'output', ordinal, type: type.kind === 'Null' ? TEXT : type, nullable }
  }
}

function bindLimit(binding: Binding, scope: Scope, written: Expression | undefined): BoundExpression | undefined {
  if (written === undefined) return undefined
  // Some drivers give every parameter a type: LIMIT $1::INTEGER.
  if (written.kind === 'cast' && written.operand.kind === 'parameter') return bindLimit(binding, scope, written.operand)
  const isPlain = written.kind === 'parameter' || (written.kind === 'number' && /^\d{1,18}$/.test(written.text))
  if (!isPlain)
    throw binding.fail('BadLimit', startPosition(written), 'LIMIT and OFFSET take a whole number or a parameter')
  const bound = binding.expression(scope, written, INTEGER)
  if (bound.type.kind === 'Integer') return bound
  throw binding.fail(
    'BadLimit',
    startPosition(written),
    `LIMIT and OFFSET take an Integer, not ${typeName(bound.type)}`,
  )
}

function refuseDuplicateColumns(binding: Binding, query: Query, columns: readonly Bound.ResultColumn[]): void {
  const duplicate = firstDuplicate(columns, ({ name }) => name)
  if (duplicate === undefined) return
  throw binding.fail(
    'DuplicateColumn',
    outputPosition(query, columns.indexOf(duplicate)),
    `Two columns of the result are named ${duplicate.name}: give one of them an alias`,
    { hint: `write … AS ${duplicate.name}2` },
  )
}

/** For views, whose columns are those of a table for who reads them. */
export function refuseUnstorable(binding: Binding, query: Query, columns: readonly Bound.ResultColumn[]): void {
  const index = columns.findIndex(({ type }) => !isStorable(type))
  if (index === -1) return
  throw binding.fail('TypeMismatch', outputPosition(query, index), 'A column cannot hold an Interval', {
    hint: "write date_diff('second', a, b)",
  })
}

/** The position of the output at the index, or of a * before it. */
function outputPosition(query: Query, index: number): number {
  let body: Body = query.body
  while (body.kind !== 'select') body = body.kind === 'set' ? body.left : body.body
  for (const [place, item] of body.items.entries()) {
    if (item.kind === 'all') return item.at
    if (place === index) return item.alias?.at ?? startPosition(item.expression)
  }
  return body.at
}
