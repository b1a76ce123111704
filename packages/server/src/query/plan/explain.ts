/** EXPLAIN: how a statement is run, read from its bound tree, so that it shows nothing that the caller may not know. */

import {
  type AsofJoin,
  type BoundBody,
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  combineConditions,
  conjuncts,
  type Delete,
  type FindIndexes,
  type Insert,
  type Source,
  type TableSource,
  type Update,
} from 'gatehouse-iql'
import { asofIndexColumns, asofMethod, sourceIds, splitConditions } from '../engines/emit/asof.ts'
import { latestIndex } from '../engines/emit/latest.ts'
import { accessPath, targetOf } from './cost.ts'

export function explain(statement: BoundQuery | Insert | Update | Delete, indexesOf: FindIndexes): readonly string[] {
  switch (statement.kind) {
    case 'query':
      return queryLines(statement, indexesOf)
    case 'insert': {
      const rows =
        statement.rows.kind === 'values'
          ? [`${counted(statement.rows.rows.length, 'row')} of values`]
          : queryLines(statement.rows.query, indexesOf)
      const conflict = statement.onConflict === undefined ? [] : [`on conflict: ${statement.onConflict.kind}`]
      return [`insert into ${statement.table.name}`, ...indent([...conflict, ...rows])]
    }
    case 'update': {
      const columns = statement.set.map(({ column }) => column.name).join(', ')
      return [
        `update ${statement.table.name}: ${columns}`,
        ...indent([accessLine(targetOf(statement), statement.where, indexesOf)]),
      ]
    }
    case 'delete':
      return [
        `delete from ${statement.table.name}`,
        ...indent([accessLine(targetOf(statement), statement.where, indexesOf)]),
      ]
  }
}

function queryLines(query: BoundQuery, indexesOf: FindIndexes): readonly string[] {
  const lines: string[] = []
  if (query.limit !== undefined || query.offset !== undefined) lines.push('cut to a part of the rows')
  if (query.orderBy.length > 0) lines.push(`sort by ${counted(query.orderBy.length, 'key')}`)
  return nested(lines, [
    ...query.with.flatMap((cte) => [`with ${cte.name}`, ...indent(queryLines(cte.query, indexesOf))]),
    ...bodyLines(query.body, indexesOf),
  ])
}

function bodyLines(body: BoundBody, indexesOf: FindIndexes): readonly string[] {
  switch (body.kind) {
    case 'query':
      return queryLines(body, indexesOf)
    case 'set':
      return [
        `${body.operator}${body.all ? ' all' : ''}`,
        ...indent([...bodyLines(body.left, indexesOf), ...bodyLines(body.right, indexesOf)]),
      ]
    case 'select': {
      const steps: string[] = []
      if (body.distinct) steps.push('keep distinct rows')
      if (body.having !== undefined) steps.push('filter groups')
      if (body.grouped)
        steps.push(body.groupBy.length === 0 ? 'aggregate all rows' : `group by ${counted(body.groupBy.length, 'key')}`)
      const index = latestIndex(body, indexesOf)
      if (body.latest !== undefined && index === undefined)
        steps.push(`number the rows of each key (${counted(body.latest.partitionBy.length, 'key')}), keep the last`)
      return nested(steps, fromLines(body, index, indexesOf))
    }
  }
}

function fromLines(
  { from, where }: BoundSelect,
  index: readonly string[] | undefined,
  indexesOf: FindIndexes,
): string[] {
  if (from === undefined) return ['one row']
  if (index === undefined || from.kind !== 'table') return sourceLines(from, where, indexesOf)
  const keys = index.slice(0, -1).join(', ')
  const filtered = where === undefined ? '' : ', filtered'
  return [
    `find in ${from.table.name} the last ${index.at(-1)} of each ${keys} by index on ${index.join(', ')}${filtered}`,
  ]
}

function sourceLines(source: Source, where: BoundExpression | undefined, indexesOf: FindIndexes): string[] {
  switch (source.kind) {
    case 'table':
      return [accessLine(source, where, indexesOf)]
    case 'derived':
      return [...(where === undefined ? [] : ['filter']), ...queryLines(source.query, indexesOf)]
    case 'series':
      return [`generate a series${where === undefined ? '' : ', filtered'}`]
    case 'cte':
      return [`read a WITH query${where === undefined ? '' : ', filtered'}`]
    case 'join':
      return [
        `${source.join} join${where === undefined ? '' : ', filtered'}`,
        ...indent([
          ...sourceLines(source.left, undefined, indexesOf),
          ...sourceLines(source.right, undefined, indexesOf),
        ]),
      ]
    case 'asof':
      return asofLines(source, where, indexesOf)
  }
}

function asofLines(join: AsofJoin, where: BoundExpression | undefined, indexesOf: FindIndexes): string[] {
  const sources = sourceIds(join)
  const [ofLeft, rest] = splitConditions(conjuncts(where), sources, sourceIds(join.left))
  const method = asofMethod(join, { conditions: [...conjuncts(where)], sources }, { indexesOf, isFormer: false })
  const steps = `asof ${join.outer ? 'left ' : ''}join${rest.length === 0 ? '' : ', filtered'}`
  const left = sourceLines(join.left, combineConditions(...ofLeft), indexesOf)
  if (method.kind === 'index' && join.right.kind === 'table') {
    const { columns } = method
    const right = `find in ${join.right.table.name} the closest ${columns.at(-1)} by index on ${columns.join(', ')}`
    return [steps, ...indent([...left, right])]
  }
  const columns = asofIndexColumns(join)
  const missing =
    columns === undefined || join.right.kind !== 'table'
      ? ''
      : ` (no index on ${join.right.table.name} (${columns.join(', ')}))`
  const how = method.kind === 'sort' ? 'sort both sides together' : 'read the right side for the one row of the left'
  return [
    steps,
    ...indent([`${how}${missing}`, ...indent([...left, ...sourceLines(join.right, undefined, indexesOf)])]),
  ]
}

function accessLine(source: TableSource, where: BoundExpression | undefined, indexesOf: FindIndexes): string {
  const path = accessPath(source, where, indexesOf)
  switch (path.kind) {
    case 'key':
      return `find in ${source.table.name} by ${path.columns.join(', ')}`
    case 'index':
      return `find in ${source.table.name} by index on ${path.columns.join(', ')}`
    case 'scan':
      return `read ${source.table.name}${where === undefined ? '' : ', filtered'}`
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Each step is applied to what the next one gives, the last one to what is inside. */
function nested(steps: readonly string[], inside: readonly string[]): readonly string[] {
  return steps.reduceRight<readonly string[]>((lines, step) => [step, ...indent(lines)], inside)
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}
