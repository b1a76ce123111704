/** Evaluates a condition of an alert on a row, as both engines would: three-valued, over exact values. */
import { type BoundExpression, type IqlType, type IqlValue, powerOfTen, writeDecimal } from 'gatehouse-iql'
import type { BoundCondition } from './bind.ts'

/** Undefined is not known, as NULL is in SQL. */
export type Truth = boolean | undefined

/** The values of a row in the order of the columns. */
export type Cells = readonly IqlValue[]

export type Evaluate = (cells: Cells) => Truth

/** Compiled once, and called for every changed row. */
export function compileCondition({ expression, parameters }: BoundCondition): Evaluate {
  return compileTruth(expression, parameters)
}

type Read = (cells: Cells) => IqlValue

function compileTruth(expression: BoundExpression, parameters: readonly IqlValue[]): Evaluate {
  const truth = (each: BoundExpression) => compileTruth(each, parameters)
  const value = (each: BoundExpression) => compileValue(each, parameters)
  switch (expression.kind) {
    case 'logic': {
      const operands = expression.operands.map(truth)
      const decisive = expression.operator === 'or'
      return (cells) => combine(operands, cells, decisive)
    }
    case 'not': {
      const operand = truth(expression.operand)
      return (cells) => negated(operand(cells))
    }
    case 'is-null': {
      const operand = value(expression.operand)
      const { negated: isNegated } = expression
      return (cells) => (operand(cells) === null) !== isNegated
    }
    case 'compare': {
      const [left, right] = [value(expression.left), value(expression.right)]
      const { operator } = expression
      const compare = comparison(expression.left.type, expression.right.type)
      return (cells) => compareBy(operator, left(cells), right(cells), compare)
    }
    case 'between': {
      const [operand, low, high] = [expression.operand, expression.low, expression.high].map(value)
      const compare = comparison(expression.operand.type, expression.low.type)
      return (cells) => {
        const given = operand?.(cells) ?? null
        const isIn = and(
          compareBy('>=', given, low?.(cells) ?? null, compare),
          compareBy('<=', given, high?.(cells) ?? null, compare),
        )
        return expression.negated ? negated(isIn) : isIn
      }
    }
    case 'in-list': {
      const operand = value(expression.operand)
      const items = expression.items.map(value)
      const compare = comparison(expression.operand.type, expression.items[0]?.type ?? expression.operand.type)
      return (cells) => {
        const given = operand(cells)
        const isIn = combine(
          items.map((item) => () => compareBy('=', given, item(cells), compare)),
          cells,
          true,
        )
        return expression.negated ? negated(isIn) : isIn
      }
    }
    default: {
      const read = value(expression)
      return (cells) => {
        const found = read(cells)
        return typeof found === 'boolean' ? found : undefined
      }
    }
  }
}

function compileValue(expression: BoundExpression, parameters: readonly IqlValue[]): Read {
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression
      return () => value
    }
    case 'parameter': {
      const value = parameters[expression.index] ?? null
      return () => value
    }
    case 'column': {
      const { ordinal } = expression
      return (cells) => cells[ordinal] ?? null
    }
    case 'widen': {
      const read = compileValue(expression.operand, parameters)
      if (expression.type.kind === 'Double') return toDouble(read, scaleOf(expression.operand.type))
      const factor = powerOfTen(scaleOf(expression.type) - scaleOf(expression.operand.type))
      return (cells) => {
        const value = read(cells)
        return typeof value === 'bigint' ? value * factor : value
      }
    }
    case 'cast':
      return toDouble(compileValue(expression.operand, parameters), scaleOf(expression.operand.type))
    default: {
      const truth = compileTruth(expression, parameters)
      return (cells) => truth(cells) ?? null
    }
  }
}

/** The nearest Double. */
function toDouble(read: Read, scale: number): Read {
  return (cells) => {
    const value = read(cells)
    return typeof value === 'bigint' ? Number(writeDecimal(value, scale)) : value
  }
}

function scaleOf(type: IqlType): number {
  return type.kind === 'Decimal' ? type.scale : 0
}

function combine(operands: readonly Evaluate[], cells: Cells, decisive: boolean): Truth {
  let isKnown = true
  for (const operand of operands) {
    const truth = operand(cells)
    if (truth === decisive) return decisive
    if (truth === undefined) isKnown = false
  }
  return isKnown ? !decisive : undefined
}

function and(one: Truth, other: Truth): Truth {
  if (one === false || other === false) return false
  return one === undefined || other === undefined ? undefined : true
}

function negated(truth: Truth): Truth {
  return truth === undefined ? undefined : !truth
}

type Compare = (left: Exclude<IqlValue, null>, right: Exclude<IqlValue, null>) => number

function compareBy(
  operator: Extract<BoundExpression, { kind: 'compare' }>['operator'],
  left: IqlValue,
  right: IqlValue,
  compare: Compare,
): Truth {
  const isDistinct = left === null || right === null ? left !== right : compare(left, right) !== 0
  if (operator === 'is distinct from') return isDistinct
  if (operator === 'is not distinct from') return !isDistinct
  if (left === null || right === null) return undefined
  const order = compare(left, right)
  switch (operator) {
    case '=':
      return order === 0
    case '<>':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

/** Both sides have one type and scale, but for NULL, whose type is open. */
function comparison(left: IqlType, right: IqlType): Compare {
  const { kind } = left.kind === 'Null' ? right : left
  switch (kind) {
    case 'Text':
    case 'Uuid':
      return (one, other) => Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)))
    case 'Binary':
      return (one, other) =>
        one instanceof Uint8Array && other instanceof Uint8Array ? Buffer.compare(one, other) : incomparable()
    case 'Double':
      return (one, other) => compareDoubles(Number(one), Number(other))
    case 'Interval':
      return (one, other) => compareOrdered(microsOf(one), microsOf(other))
    default:
      return compareOrdered
  }
}

function compareOrdered(one: Exclude<IqlValue, null>, other: Exclude<IqlValue, null>): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** As PostgreSQL has it: NaN equals itself and is greater than every other number. */
function compareDoubles(one: number, other: number): number {
  if (Number.isNaN(one) || Number.isNaN(other)) return Number(Number.isNaN(one)) - Number(Number.isNaN(other))
  return one - other || (one === other ? 0 : one < other ? -1 : 1)
}

/** One that can be compared has no months. */
function microsOf(value: Exclude<IqlValue, null>): bigint {
  return typeof value === 'object' && 'micros' in value ? value.micros : incomparable()
}

function incomparable(): never {
  throw new Error('Values of two types are compared')
}
