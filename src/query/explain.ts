/** EXPLAIN: how a statement is done, told from its bound tree, so that it says nothing that the caller may not know. */
import type { Body, Delete, Insert, Query, Source, Update } from './iql/bound.ts'
import type { BoundExpression } from './iql/bound-expression.ts'

export function explain(statement: Query | Insert | Update | Delete): string[] {
  switch (statement.kind) {
    case 'query':
      return queryLines(statement)
    case 'insert': {
      const rows =
        statement.rows.kind === 'values'
          ? [`${counted(statement.rows.rows.length, 'row')} of values`]
          : queryLines(statement.rows.query)
      const conflict = statement.onConflict === undefined ? [] : [`on conflict: ${statement.onConflict.kind}`]
      return [`insert into ${statement.table.name}`, ...indent([...conflict, ...rows])]
    }
    case 'update': {
      const columns = statement.set.map(({ column }) => column.name).join(', ')
      return [
        `update ${statement.table.name}: ${columns}`,
        ...indent([accessLine(statement.table, statement.source, statement.where)]),
      ]
    }
    case 'delete':
      return [
        `delete from ${statement.table.name}`,
        ...indent([accessLine(statement.table, statement.source, statement.where)]),
      ]
  }
}

function queryLines(query: Query): string[] {
  const lines: string[] = []
  if (query.limit !== undefined || query.offset !== undefined) lines.push('cut to a part of the rows')
  if (query.orderBy.length > 0) lines.push(`sort by ${counted(query.orderBy.length, 'key')}`)
  const depth = lines.length
  const body = [
    ...query.with.flatMap((cte) => [`with ${cte.name}`, ...indent(queryLines(cte.query))]),
    ...bodyLines(query.body),
  ]
  return [
    ...lines.map((line, index) => `${'  '.repeat(index)}${line}`),
    ...body.map((line) => `${'  '.repeat(depth)}${line}`),
  ]
}

function bodyLines(body: Body): string[] {
  switch (body.kind) {
    case 'query':
      return queryLines(body)
    case 'set':
      return [
        `${body.operator}${body.all ? ' all' : ''}`,
        ...indent([...bodyLines(body.left), ...bodyLines(body.right)]),
      ]
    case 'select': {
      const steps: string[] = []
      if (body.distinct) steps.push('keep distinct rows')
      if (body.having !== undefined) steps.push('filter groups')
      if (body.grouped)
        steps.push(body.groupBy.length === 0 ? 'aggregate all rows' : `group by ${counted(body.groupBy.length, 'key')}`)
      const source = body.from === undefined ? ['one row'] : sourceLines(body.from, body.where)
      return [
        ...steps.map((step, index) => `${'  '.repeat(index)}${step}`),
        ...source.map((line) => `${'  '.repeat(steps.length)}${line}`),
      ]
    }
  }
}

function sourceLines(source: Source, where: BoundExpression | undefined): string[] {
  switch (source.kind) {
    case 'table':
      return [accessLine(source.table, source.id, where)]
    case 'derived':
      return [...(where === undefined ? [] : ['filter']), ...queryLines(source.query)]
    case 'cte':
      return [`read a WITH query${where === undefined ? '' : ', filtered'}`]
    case 'join':
      return [
        `${source.join} join${where === undefined ? '' : ', filtered'}`,
        ...indent([...sourceLines(source.left, undefined), ...sourceLines(source.right, undefined)]),
      ]
    case 'asof':
      return [
        `asof ${source.outer ? 'left ' : ''}join`,
        ...indent([...sourceLines(source.left, undefined), ...sourceLines(source.right, undefined)]),
      ]
  }
}

function accessLine(
  table: {
    readonly name: string
    readonly primaryKey: readonly string[]
    readonly uniques: readonly (readonly string[])[]
  },
  source: number,
  where: BoundExpression | undefined,
): string {
  const fixed = fixedColumns(where, source)
  const key = [table.primaryKey, ...table.uniques].find(
    (columns) => columns.length > 0 && columns.every((column) => fixed.has(column)),
  )
  if (key !== undefined) return `find in ${table.name} by ${key.join(', ')}`
  return `read ${table.name}${where === undefined ? '' : ', filtered'}`
}

function fixedColumns(where: BoundExpression | undefined, source: number): Set<string> {
  const fixed = new Set<string>()
  const conditions =
    where?.kind === 'logic' && where.operator === 'and' ? where.operands : where === undefined ? [] : [where]
  for (const condition of conditions) {
    if (condition.kind !== 'compare' || condition.operator !== '=') continue
    for (const side of [condition.left, condition.right]) {
      if (side.kind === 'column' && side.source === source) fixed.add(side.name)
    }
  }
  return fixed
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}
