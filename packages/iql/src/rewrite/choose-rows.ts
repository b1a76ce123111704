/**
 * DISTINCT ON and QUALIFY choose among the rows of a select that have been computed. They become conditions of a select around it, so
 * that engines need not know them: of DISTINCT ON, that the row is the first of its key.
 */
import type * as Bound from '../bound/bound-query.ts'
import type { BoundExpression, BoundOrder } from '../bound/bound-query.ts'
import { BOOLEAN, INTEGER, isComparable } from '../types/types.ts'

export interface Choice {
  /** The keys of DISTINCT ON. */
  readonly keys: readonly BoundExpression[] | undefined
  readonly qualify: BoundExpression | undefined
}

export interface ChosenRows {
  readonly select: Bound.BoundSelect
  readonly orderBy: readonly BoundOrder[]
}

export function chooseRows(
  select: Bound.BoundSelect,
  { keys, qualify }: Choice,
  orderBy: readonly BoundOrder[],
  nextSource: () => number,
): ChosenRows {
  const level = new Level({ ...select, distinct: false })
  const condition = qualify && level.add(qualify)
  const order = orderBy.map((item) => ({ ...item, expression: level.add(item.expression) }))
  const keyed = keys?.map((key) => level.add(key))
  const outer = level.around(nextSource(), select.distinct)
  const outerOrder = order.map((item) => ({ ...item, expression: outer.column(item.expression) }))
  const chosen = { ...outer.select, where: condition && outer.column(condition) }
  if (keyed === undefined) return { select: chosen, orderBy: outerOrder.map((item) => outer.asOutput(item)) }
  return firstRows(chosen, keyed.map(outer.column), outerOrder, nextSource)
}

/** Rows that tie in the order of the query are ordered by their outputs, so that every engine picks the same one. */
function firstRows(
  select: Bound.BoundSelect,
  keys: readonly BoundExpression[],
  orderBy: readonly BoundOrder[],
  nextSource: () => number,
): ChosenRows {
  const level = new Level(select)
  const ties = select.outputs.flatMap(({ expression }): BoundOrder[] =>
    isComparable(expression.type) ? [{ expression, descending: false, nulls: 'last' }] : [],
  )
  const order = orderBy.map((item) => ({ ...item, expression: level.add(item.expression) }))
  const number = level.add({
    kind: 'window',
    function: 'row_number',
    arguments: [],
    filter: undefined,
    partitionBy: keys,
    orderBy: [...orderBy, ...ties],
    frame: undefined,
    type: INTEGER,
    nullable: false,
  })
  const outer = level.around(nextSource(), false)
  const one: BoundExpression = { kind: 'literal', value: 1n, type: INTEGER, nullable: false }
  const where: BoundExpression = {
    kind: 'compare',
    operator: '=',
    left: outer.column(number),
    right: one,
    type: BOOLEAN,
    nullable: false,
  }
  const outerOrder = order.map((item) => outer.asOutput({ ...item, expression: outer.column(item.expression) }))
  return { select: { ...outer.select, where }, orderBy: outerOrder }
}

/** A select that gets further outputs, and then a select around it with the columns that it had at first. */
class Level {
  readonly #select: Bound.BoundSelect
  readonly #added: Bound.OutputItem[] = []

  constructor(select: Bound.BoundSelect) {
    this.#select = select
  }

  /** Adds an output, and returns a reference to it. A reference to an output stays. */
  add(expression: BoundExpression): Bound.BoundExpression & { readonly kind: 'output' } {
    if (expression.kind === 'output') return expression
    const ordinal = this.#select.outputs.length + this.#added.length
    this.#added.push({ name: `chosen ${ordinal}`, expression })
    return { kind: 'output', ordinal, type: expression.type, nullable: expression.nullable }
  }

  around(id: number, distinct: boolean) {
    const outputs = [...this.#select.outputs, ...this.#added]
    const columns = outputs.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable }))
    const inner: Bound.BoundQuery = {
      ...{ kind: 'query', with: [], body: { ...this.#select, outputs, columns }, columns },
      ...{ orderBy: [], limit: undefined, offset: undefined },
    }
    const columnAt = (ordinal: number): BoundExpression => {
      const { name, type, nullable } = columns[ordinal] ?? { name: '', type: INTEGER, nullable: true }
      return { kind: 'column', source: id, ordinal, name, type, nullable }
    }
    const count = this.#select.outputs.length
    const select: Bound.BoundSelect = {
      ...{ kind: 'select', distinct, from: { kind: 'derived', id, query: inner }, where: undefined },
      ...{ grouped: false, groupBy: [], having: undefined },
      outputs: columns.slice(0, count).map(({ name }, ordinal) => ({ name, expression: columnAt(ordinal) })),
      columns: columns.slice(0, count),
    }
    return {
      select,
      column: (expression: BoundExpression): BoundExpression =>
        expression.kind === 'output' ? columnAt(expression.ordinal) : expression,
      /** A sort key that is an output of the select, by its number: a DISTINCT result takes no others. */
      asOutput: (item: BoundOrder): BoundOrder => {
        const { expression } = item
        if (expression.kind !== 'column' || expression.ordinal >= count) return item
        const { ordinal, type, nullable } = expression
        return { ...item, expression: { kind: 'output', ordinal, type, nullable } }
      },
    }
  }
}
