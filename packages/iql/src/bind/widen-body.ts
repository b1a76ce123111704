/** Converts the output columns of a bound query: to wider types for a set operation, to the table's types for an INSERT. */

import type { BoundBody, BoundExpression, BoundQuery, OutputItem, ResultColumn } from '../bound/bound-query.ts'
import { type IqlType, sameType, TEXT } from '../types/types.ts'
import { widen } from './literal.ts'

export function widenBody<Kind extends BoundBody>(body: Kind, types: readonly IqlType[]): Kind {
  if (body.columns.every((column, index) => isSameForm(column.type, types[index] ?? column.type))) return body
  return mapOutputs(body, (expression, index) => {
    const type = types[index]
    return type === undefined ? expression : widen(expression, type)
  })
}

/** Engines store an Interval that may have months in another form. */
function isSameForm(a: IqlType, b: IqlType): boolean {
  return sameType(a, b) && (a.kind !== 'Interval' || b.kind !== 'Interval' || a.months === b.months)
}

/** A NULL without a type becomes a Text. */
export function nullAsText({ name, expression }: OutputItem): OutputItem {
  return { name, expression: expression.type.kind === 'Null' ? widen(expression, TEXT) : expression }
}

/** Applies `change` to the outputs of every select in the body. */
export function mapOutputs<Kind extends BoundBody>(
  body: Kind,
  change: (expression: BoundExpression, index: number) => BoundExpression,
): Kind
export function mapOutputs(
  body: BoundBody,
  change: (expression: BoundExpression, index: number) => BoundExpression,
): BoundBody {
  switch (body.kind) {
    case 'query':
      return mapQuery(body, change)
    case 'set': {
      const left = mapOutputs(body.left, change)
      const right = mapOutputs(body.right, change)
      return { ...body, left, right, columns: left.columns.map((column, index) => merge(column, right.columns[index])) }
    }
    case 'select': {
      const outputs = body.outputs.map(({ name, expression }, index) => ({
        name,
        expression: change(expression, index),
      }))
      const columns = outputs.map(({ name, expression: { type, nullable } }) => ({ name, type, nullable }))
      return { ...body, outputs, columns }
    }
  }
}

function mapQuery(
  query: BoundQuery,
  change: (expression: BoundExpression, index: number) => BoundExpression,
): BoundQuery {
  const body = mapOutputs(query.body, change)
  const orderBy = query.orderBy.map((order) => {
    if (order.expression.kind !== 'output') return order
    const column = body.columns[order.expression.ordinal]
    return column === undefined ? order : { ...order, expression: { ...order.expression, type: column.type } }
  })
  return { ...query, body, orderBy, columns: body.columns }
}

function merge(left: ResultColumn, right: ResultColumn | undefined): ResultColumn {
  return { ...left, nullable: left.nullable || (right?.nullable ?? false) }
}
