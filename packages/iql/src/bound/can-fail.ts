/** Whether an expression has a value for every row, or may be an error such as a division by zero. */

import { findVolatility, type ScalarId } from '../functions/functions.ts'
import { DECIMAL_DIGITS, type TypeKind } from '../types/types.ts'
import type { BoundExpression } from './bound-query.ts'
import { directOperands } from './bound-walk.ts'
import { findLongPattern } from './search.ts'
import { isSmallText } from './text-bound.ts'

/** What is not known to have a value is assumed to fail. */
export function cannotFail(node: BoundExpression): boolean {
  return isTotal(node) && directOperands(node).every(cannotFail)
}

/** Whether the value is the same for every row. */
export function isConstant(node: BoundExpression): boolean {
  switch (node.kind) {
    case 'column':
    case 'output':
    case 'group-key':
    case 'aggregate':
    case 'window':
    case 'scalar-query':
    case 'exists':
    case 'in-query':
      return false
    case 'call':
      return findVolatility(node.function) !== 'volatile' && node.arguments.every(isConstant)
    default:
      return directOperands(node).every(isConstant)
  }
}

/** Conditions that must all hold: those that cannot fail come first, because they may exclude rows on which others fail. */
export function safestFirst(conditions: readonly BoundExpression[]): readonly BoundExpression[] {
  const safe = conditions.filter(cannotFail)
  return [...safe, ...conditions.filter((condition) => !safe.includes(condition))]
}

/** Whether the operation itself has a result for all values of its operands. */
export function isTotal(node: BoundExpression): boolean {
  switch (node.kind) {
    case 'literal':
    case 'parameter':
    case 'column':
    case 'claim':
    case 'claim-in':
    case 'output':
    case 'group-key':
    case 'widen':
    case 'compare':
    case 'logic':
    case 'not':
    case 'is-null':
    case 'between':
    case 'in-list':
    case 'case':
    case 'coalesce':
    case 'nullif':
      return true
    case 'like':
      // A pattern that fails with one row fails with every row.
      return node.escape === undefined && (node.pattern.kind === 'literal' || node.pattern.kind === 'parameter')
    case 'arithmetic':
      switch (node.operator) {
        case 'decimal+decimal':
        case 'decimal-decimal':
        case 'decimal*decimal':
          // With fewer digits than the maximum, the type holds every result.
          return node.type.kind === 'Decimal' && node.type.precision < DECIMAL_DIGITS
        case 'text||text':
          return isSmallText(node)
        default:
          return false
      }
    case 'negate':
      return node.type.kind === 'Decimal'
    case 'cast':
      return node.type.kind === 'Text' && PLAIN_KINDS.has(node.operand.type.kind)
    case 'call':
      return TOTAL_FUNCTIONS.has(node.function) && isGiven(findLongPattern(node))
    default:
      return false
  }
}

/** A search for a given text is refused only if that text is very long. */
function isGiven(part: BoundExpression | undefined): boolean {
  return part === undefined || part.kind === 'literal' || part.kind === 'parameter'
}

/** Types whose values have short texts. */
const PLAIN_KINDS: ReadonlySet<TypeKind> = new Set([
  'Text',
  'Integer',
  'Decimal',
  'Boolean',
  'Timestamp',
  'LocalTimestamp',
  'Date',
  'Time',
  'Uuid',
])

const TOTAL_FUNCTIONS: ReadonlySet<ScalarId> = new Set([
  'length',
  'upper',
  'lower',
  'trim',
  'ltrim',
  'rtrim',
  'position',
  'left',
  'right',
  'reverse',
  'starts_with',
  'ends_with',
  'contains',
  'sign',
  'least',
  'greatest',
])
