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
import { accessPath, targetSource } from './cost.ts'

export function explain(statement: BoundQuery | Insert | Update | Delete, findIndexes: FindIndexes): readonly string[] {
  switch (statement.kind) {
    case 'query':
      return queryLines(statement, findIndexes)
    case 'insert': {
      const rows =
        statement.rows.kind === 'values'
          ? [`${counted(statement.rows.rows.length, 'row')} of values`]
          : queryLines(statement.rows.query, findIndexes)
      const conflict = statement.onConflict === undefined ? [] : [`on conflict: ${statement.onConflict.kind}`]
      return [`insert into ${statement.table.name}`, ...indent([...conflict, ...rows])]
    }
    case 'update': {
      const columns = statement.set.map(({ column }) => column.name).join(', ')
      return [
        `update ${statement.table.name}: ${columns}`,
        ...indent([accessLine(targetSource(statement), statement.where, findIndexes)]),
      ]
    }
    case 'delete':
      return [
        `delete from ${statement.table.name}`,
        ...indent([accessLine(targetSource(statement), statement.where, findIndexes)]),
      ]
  }
}

function queryLines(query: BoundQuery, findIndexes: FindIndexes): readonly string[] {
  const lines: string[] = []
  if (query.limit !== undefined || query.offset !== undefined) lines.push('cut to a part of the rows')
  if (query.orderBy.length > 0) lines.push(`sort by ${counted(query.orderBy.length, 'key')}`)
  return nested(lines, [
    ...query.with.flatMap((cte) => [`with ${cte.name}`, ...indent(queryLines(cte.query, findIndexes))]),
    ...bodyLines(query.body, findIndexes),
  ])
}

function bodyLines(body: BoundBody, findIndexes: FindIndexes): readonly string[] {
  switch (body.kind) {
    case 'query':
      return queryLines(body, findIndexes)
    case 'set':
      return [
        `${body.operator}${body.all ? ' all' : ''}`,
        ...indent([...bodyLines(body.left, findIndexes), ...bodyLines(body.right, findIndexes)]),
      ]
    case 'select': {
      const steps: string[] = []
      if (body.distinct) steps.push('keep distinct rows')
      if (body.having !== undefined) steps.push('filter groups')
      if (body.grouped)
        steps.push(body.groupBy.length === 0 ? 'aggregate all rows' : `group by ${counted(body.groupBy.length, 'key')}`)
      const index = latestIndex(body, findIndexes)
      if (body.latest !== undefined && index === undefined)
        steps.push(`number the rows of each key (${counted(body.latest.partitionBy.length, 'key')}), keep the last`)
      return nested(steps, fromLines(body, index, findIndexes))
    }
  }
}

function fromLines(
  { from, where }: BoundSelect,
  index: readonly string[] | undefined,
  findIndexes: FindIndexes,
): string[] {
  if (from === undefined) return ['one row']
  if (index === undefined || from.kind !== 'table') return sourceLines(from, where, findIndexes)
  const keys = index.slice(0, -1).join(', ')
  const filtered = where === undefined ? '' : ', filtered'
  return [
    `find in ${from.table.name} the last ${index.at(-1)} of each ${keys} by index on ${index.join(', ')}${filtered}`,
  ]
}

function sourceLines(source: Source, where: BoundExpression | undefined, findIndexes: FindIndexes): string[] {
  switch (source.kind) {
    case 'table':
      return [accessLine(source, where, findIndexes)]
    case 'derived':
      return [...(where === undefined ? [] : ['filter']), ...queryLines(source.query, findIndexes)]
    case 'series':
      return [`generate a series${where === undefined ? '' : ', filtered'}`]
    case 'cte':
      return [`read a WITH query${where === undefined ? '' : ', filtered'}`]
    case 'join':
      return [
        `${source.join} join${where === undefined ? '' : ', filtered'}`,
        ...indent([
          ...sourceLines(source.left, undefined, findIndexes),
          ...sourceLines(source.right, undefined, findIndexes),
        ]),
      ]
    case 'asof':
      return asofLines(source, where, findIndexes)
  }
}

function asofLines(join: AsofJoin, where: BoundExpression | undefined, findIndexes: FindIndexes): string[] {
  const sources = sourceIds(join)
  const [ofLeft, rest] = splitConditions(conjuncts(where), sources, sourceIds(join.left))
  const method = asofMethod(join, { conditions: [...conjuncts(where)], sources }, { findIndexes, isFormer: false })
  const steps = `asof ${join.outer ? 'left ' : ''}join${rest.length === 0 ? '' : ', filtered'}`
  const left = sourceLines(join.left, combineConditions(...ofLeft), findIndexes)
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
    ...indent([`${how}${missing}`, ...indent([...left, ...sourceLines(join.right, undefined, findIndexes)])]),
  ]
}

function accessLine(source: TableSource, where: BoundExpression | undefined, findIndexes: FindIndexes): string {
  const path = accessPath(source, where, findIndexes)
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
