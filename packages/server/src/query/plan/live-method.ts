/** How the result of a live statement is kept up to date, and why in this way. */
import {
  type BoundQuery,
  type BoundSelect,
  findVolatility,
  type Source,
  type TableSource,
  walkQuery,
} from 'gatehouse-iql'

export type LiveMethod =
  /** Only the rows whose keys have changed are read again. */
  | 'keys'
  /** The statement runs again when a table that it reads has changed. */
  | 'rerun'
  /** The statement runs again every second, because its result depends on the time. */
  | 'clock'

export interface MethodChoice {
  readonly method: LiveMethod
  /** A sentence. */
  readonly reason: string
  /** Set for the method `keys`. */
  readonly table: { readonly select: BoundSelect; readonly source: TableSource } | undefined
}

export function chooseMethod(query: BoundQuery): MethodChoice {
  const clock = clockReason(query)
  if (clock !== undefined) return { method: 'clock', reason: clock, table: undefined }
  const { body } = query
  const rerun = rerunReason(query)
  if (rerun !== undefined || body.kind !== 'select' || body.from?.kind !== 'table')
    return { method: 'rerun', reason: rerun ?? 'It does not read one table.', table: undefined }
  const reason = `It reads one table, ${body.from.table.name}: only rows whose keys have changed are read again.`
  return { method: 'keys', reason, table: { select: body, source: body.from } }
}

function clockReason(query: BoundQuery): string | undefined {
  for (const part of walkQuery(query)) {
    if (part.kind !== 'expression' || part.expression.kind !== 'call') continue
    const { function: id } = part.expression
    if (findVolatility(id) !== 'stable') continue
    return part.isOfRowFilter
      ? 'Which rows you may read depends on the time.'
      : `${id}() changes with the time, so that the result can change while no row does.`
  }
  return undefined
}

/** Why a change of one row can change others, or cannot be found by its key; undefined if each row is independent. */
function rerunReason(query: BoundQuery): string | undefined {
  const { body } = query
  if (body.kind === 'set') return `${body.operator.toUpperCase()} combines the rows of several queries.`
  if (body.kind === 'query') return 'It reads a query in parentheses.'
  if (body.from === undefined) return 'It has no FROM.'
  const source = sourceReason(body.from)
  if (source !== undefined) return source
  if (body.grouped) return body.groupBy.length > 0 ? 'GROUP BY combines rows.' : 'An aggregate combines rows.'
  if (body.distinct) return 'DISTINCT combines equal rows.'
  if (body.latest !== undefined) return 'LATEST ON: which row is the last depends on the other rows.'
  for (const part of walkQuery(query)) {
    if (part.kind === 'query' && part.query !== query) return 'It has a sub-query, which reads further rows.'
    if (part.kind === 'expression' && part.expression.kind === 'window') return 'A window function reads further rows.'
  }
  if (query.limit !== undefined || query.offset !== undefined)
    return `${query.limit === undefined ? 'OFFSET' : 'LIMIT'} depends on the other rows of the result.`
  if (query.orderBy.length > 0) return 'ORDER BY: the place of a row depends on the other rows.'
  return body.from.kind === 'table' ? tableReason(body.from) : undefined
}

function sourceReason(source: Source): string | undefined {
  switch (source.kind) {
    case 'table':
      return undefined
    case 'derived':
      return 'It reads a sub-query in FROM.'
    case 'series':
      return 'It reads a generated series.'
    case 'cte':
      return 'It reads a WITH query.'
    case 'join':
    case 'asof':
      return 'It joins tables.'
  }
}

function tableReason({ table: { name, isSystem, isLive, primaryKey } }: TableSource): string | undefined {
  if (isSystem) return `${name} is a system table, whose changes are not logged.`
  if (!isLive) return `${name} is defined WITH (live = off): its changes are not logged.`
  return primaryKey.length === 0 ? `${name} has no primary key.` : undefined
}
