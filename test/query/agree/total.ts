/** Whether every expression of a statement is surely worked out, so that an error in one of them must come up on both engines. */
import type { Statement } from '../../../src/query/iql/ast.ts'
import { childrenOf } from '../../../src/query/iql/ast-children.ts'
import type { Expression } from '../../../src/query/iql/ast-expression.ts'

/**
 * A database need not work out what the result does not depend on, and may begin with any part of a condition: there
 * an error can come up on one engine alone. A plain select of one table leaves no such freedom.
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
    // With a NULL the rest of a call need not be worked out.
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
  return childrenOf(expression).every(isEager)
}

const LAZY: ReadonlySet<string> = new Set(['coalesce', 'nullif'])
