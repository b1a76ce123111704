/** Whether every expression of a statement is certainly evaluated, so that both engines must report an error in any of them. */
import { childExpressions, type Expression, type Statement } from 'gatehouse-iql'

/**
 * A database may skip what does not affect the result, and may evaluate the parts of a condition in any order. Then only one
 * engine may report an error. A plain select from one table allows no such choice.
 */
export function isTotal(statement: Statement): boolean {
  if (statement.kind !== 'query' || statement.body.kind !== 'select') return false
  const { with: ctes, orderBy, limit, body } = statement
  const { from, where, groupBy, distinct, items } = body
  const isPlain = ctes.length === 0 && orderBy.length === 0 && limit === undefined && groupBy.length === 0 && !distinct
  return (
    isPlain &&
    (from === undefined || from.kind === 'table') &&
    where === undefined &&
    items.every((item) => item.kind === 'item' && isEager(item.expression))
  )
}

function isEager(expression: Expression): boolean {
  switch (expression.kind) {
    // With a NULL argument the others need not be evaluated.
    case 'null':
    case 'case':
    case 'in-list':
    case 'in-query':
    case 'subquery':
    case 'exists':
    case 'between':
      return false
    case 'binary':
      if (expression.operator === 'and' || expression.operator === 'or') return false
      break
    case 'call':
      if (LAZY.has(expression.name.text) || expression.over !== undefined || expression.filter !== undefined)
        return false
      break
    default:
  }
  return childExpressions(expression).every(isEager)
}

const LAZY: ReadonlySet<string> = new Set(['coalesce', 'nullif'])
