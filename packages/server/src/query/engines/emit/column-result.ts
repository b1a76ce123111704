/** The result of a grouping that needs no further statement: each output is a key, or an aggregate that a group's part gives. */
import type { Aggregate, BoundExpression, BoundOrder, BoundQuery, BoundSelect } from 'gatehouse-iql'
import type { ColumnOutput, ColumnResult, KeyOrder } from '../../columns/plan.ts'
import type { SingleValue } from './dialect.ts'

/** An aggregate, and the places of its parts. */
export interface SingleParts {
  readonly single: SingleValue | undefined
  readonly parts: readonly number[]
}

export function planResult(
  { orderBy, limit, offset }: BoundQuery,
  { outputs, groupBy, having, distinct }: BoundSelect,
  aggregates: ReadonlyMap<Aggregate, SingleParts>,
): ColumnResult | undefined {
  if (groupBy.length === 0 || having !== undefined || distinct || limit !== undefined || offset !== undefined)
    return undefined
  const planned = outputs.map(({ expression }) => planOutput(expression, aggregates))
  const order =
    orderBy.length === 0
      ? groupBy.map((_key, key) => ({ key, descending: false, nulls: 'first' as const }))
      : orderBy.map((item) => planOrder(item, outputs))
  const isWhole = groupBy.every((_key, key) => order.some((item) => item?.key === key))
  return isWhole && planned.every(isDefined) && order.every(isDefined) ? { outputs: planned, order } : undefined
}

function planOutput(
  node: BoundExpression,
  aggregates: ReadonlyMap<BoundExpression, SingleParts>,
): ColumnOutput | undefined {
  if (node.kind === 'group-key') return { kind: 'key', key: node.index }
  const { single, parts: [part, count] = [] } = aggregates.get(node) ?? {}
  if (single === undefined || part === undefined) return undefined
  if (typeof single === 'string') return { kind: single, part }
  return count === undefined ? undefined : { kind: 'mean', part, count, shift: single.meanShift }
}

function planOrder(
  { expression, descending, nulls }: BoundOrder,
  outputs: BoundSelect['outputs'],
): KeyOrder | undefined {
  const node = expression.kind === 'output' ? outputs[expression.ordinal]?.expression : expression
  return node?.kind === 'group-key' ? { key: node.index, descending, nulls } : undefined
}

function isDefined<T>(item: T | undefined): item is T {
  return item !== undefined
}
