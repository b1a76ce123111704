/** Which parameters the rows of a statement consist of: one that is sent once can stand in thousands of columns. */
import { isLongType } from '../types/types.ts'
import type { Delete, Insert, Update } from './bound.ts'
import type { BoundBody, BoundExpression, BoundQuery } from './bound-query.ts'

/** How often a row has each parameter, by its index. */
export type RowParameters = ReadonlyMap<number, number>

type Values = readonly (BoundExpression | { readonly kind: 'default' })[]

/** For each row that is returned or written and has a long parameter several times. */
export function findRowParameters(statement: BoundQuery | Insert | Update | Delete): readonly RowParameters[] {
  return [...walkRows(statement)].flatMap((values) => {
    const uses = new Map<number, number>()
    for (const value of values) {
      const index = value.kind === 'default' ? undefined : longParameter(value)
      if (index !== undefined) uses.set(index, (uses.get(index) ?? 0) + 1)
    }
    return [...uses.values()].some((times) => times > 1) ? [uses] : []
  })
}

function* walkRows(statement: BoundQuery | Insert | Update | Delete): Generator<Values> {
  switch (statement.kind) {
    case 'query':
      yield* walkBodyRows(statement.body)
      break
    case 'insert':
      if (statement.rows.kind === 'query') yield* walkRows(statement.rows.query)
      else yield* statement.rows.rows
      break
    case 'update':
      yield statement.set.map(({ value }) => value)
      break
    case 'delete':
  }
}

function* walkBodyRows(body: BoundBody): Generator<Values> {
  switch (body.kind) {
    case 'query':
      yield* walkRows(body)
      break
    case 'set':
      yield* walkBodyRows(body.left)
      yield* walkBodyRows(body.right)
      break
    case 'select':
      yield body.outputs.map(({ expression }) => expression)
  }
}

/** Undefined if the value is not a long parameter itself. */
function longParameter(expression: BoundExpression): number | undefined {
  if (!isLongType(expression.type)) return undefined
  if (expression.kind === 'cast') return longParameter(expression.operand)
  return expression.kind === 'parameter' ? expression.index : undefined
}
