/** GROUP BY ALL: the keys are the outputs that contain a column but no aggregate. */
import { functionsNamed } from '../functions/functions.ts'
import type { Binding } from '../scope/binding.ts'
import { someWithin } from '../syntax/ast-children.ts'
import type { Body, Expression, Select } from '../syntax/ast-query.ts'

export function expandGroupByAll<Tree extends Body>(binding: Binding, body: Tree): Tree | Select {
  if (body.kind !== 'select' || body.groupByAll !== true) return body
  const groupBy = body.items.flatMap((item) => {
    if (item.kind === 'all') throw binding.fail('NotGrouped', item.at, '* cannot be grouped: name the columns')
    const { expression } = item
    return someWithin(expression, isAggregateCall) || !someWithin(expression, isOfRow) ? [] : [expression]
  })
  return { ...body, groupBy, groupByAll: undefined }
}

/** A call of an aggregate that is not over a window. */
export function isAggregateCall(expression: Expression): boolean {
  if (expression.kind !== 'call' || expression.over !== undefined) return false
  return functionsNamed(expression.name.text.toLowerCase())[0]?.kind === 'aggregate'
}

/** Whether its value can differ from row to row. */
function isOfRow({ kind }: Expression): boolean {
  return kind === 'column' || kind === 'subquery' || kind === 'exists' || kind === 'in-query'
}
