/** The precedence of IQL's operators, which the parser and the printer share. */
import type { BinaryOperator } from './ast-query.ts'

export const PRECEDENCE = {
  or: 1,
  and: 2,
  not: 3,
  is: 4,
  comparison: 5,
  /** BETWEEN, IN, LIKE */
  test: 6,
  concat: 7,
  sum: 8,
  product: 9,
  /** AT TIME ZONE */
  zone: 10,
  sign: 11,
  /** :: */
  cast: 12,
} as const

export const BINARY_PRECEDENCE: Readonly<Record<BinaryOperator, number>> = {
  or: PRECEDENCE.or,
  and: PRECEDENCE.and,
  '=': PRECEDENCE.comparison,
  '<>': PRECEDENCE.comparison,
  '<': PRECEDENCE.comparison,
  '<=': PRECEDENCE.comparison,
  '>': PRECEDENCE.comparison,
  '>=': PRECEDENCE.comparison,
  'is distinct from': PRECEDENCE.is,
  'is not distinct from': PRECEDENCE.is,
  '||': PRECEDENCE.concat,
  '+': PRECEDENCE.sum,
  '-': PRECEDENCE.sum,
  '*': PRECEDENCE.product,
  '/': PRECEDENCE.product,
  '%': PRECEDENCE.product,
}
