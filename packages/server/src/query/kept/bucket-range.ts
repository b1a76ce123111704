/** The times that a bucket can have: a range of its column, for an index. A condition on the bucket itself follows it. */
import type { BoundExpression, Interval, OperatorId } from 'gatehouse-iql'
import { bucketColumn } from '../catalogue/create-kept-view.ts'

const SECOND = 1_000_000n
const HOUR = 3600n * SECOND
const DAY = 24n * HOUR
/** The most that the clocks of a zone have been set back at once since 1970, and before: a bucket is that much longer. */
const SET_BACK = 4n * HOUR
const SET_BACK_BEFORE = 25n * HOUR

/** The widths of date_trunc; a month has at most 31 days. */
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['millisecond', 1000n],
  ['second', SECOND],
  ['minute', 60n * SECOND],
  ['hour', HOUR],
  ['day', DAY],
  ['week', 7n * DAY],
  ['month', 31n * DAY],
  ['quarter', 92n * DAY],
  ['year', 366n * DAY],
])

/** `start` is the value of the bucket. None for an expression that is no bucket of a Timestamp. */
export function bucketRange(bucket: BoundExpression, start: BoundExpression): BoundExpression[] {
  const column = bucketColumn(bucket)
  if (column?.type.kind !== 'Timestamp' || bucket.kind !== 'call') return []
  const [first] = bucket.arguments
  const width = first?.kind === 'literal' ? widthOf(first.value) : undefined
  if (width === undefined) return []
  const end = bucket.function.endsWith('_zone') ? zoneEnd(start, width) : later(start, width)
  return [compare(column, '>=', start), compare(column, '<', end)]
}

function widthOf(value: unknown): bigint | undefined {
  if (typeof value === 'string') return UNITS.get(value.toLowerCase())
  if (typeof value !== 'object' || value === null || !('months' in value)) return undefined
  const { months, micros } = value as Interval
  return months * 31n * DAY + micros
}

function zoneEnd(start: BoundExpression, width: bigint): BoundExpression {
  const since1970 = compare(start, '>=', { kind: 'literal', value: 0n, type: { kind: 'Timestamp' }, nullable: false })
  return {
    kind: 'case',
    operand: undefined,
    branches: [{ when: since1970, result: later(start, width + SET_BACK) }],
    otherwise: later(start, width + SET_BACK_BEFORE),
    type: { kind: 'Timestamp' },
    nullable: false,
  }
}

function later(start: BoundExpression, micros: bigint): BoundExpression {
  const operator: OperatorId = 'timestamp+interval'
  const right: BoundExpression = {
    kind: 'literal',
    value: { months: 0n, micros },
    type: { kind: 'Interval', months: false },
    nullable: false,
  }
  return { kind: 'arithmetic', operator, left: start, right, type: { kind: 'Timestamp' }, nullable: false }
}

function compare(left: BoundExpression, operator: '>=' | '<', right: BoundExpression): BoundExpression {
  return {
    kind: 'compare',
    operator,
    left,
    right,
    type: { kind: 'Boolean' },
    nullable: left.nullable || right.nullable,
  }
}
