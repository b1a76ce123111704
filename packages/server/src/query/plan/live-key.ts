/** What identifies the rows of a live statement. */
import {
  type BoundExpression,
  type BoundLatest,
  type BoundQuery,
  type BoundSelect,
  isStorable,
  type ResultColumn,
  sameName,
  type TableSource,
} from 'gatehouse-iql'

export interface LiveKey {
  readonly columns: readonly ResultColumn[]
  /** Over the input of the select. */
  readonly expressions: readonly BoundExpression[]
}

/** The primary key of the one table, the keys of LATEST ON, or the values of GROUP BY. Undefined: the rows have no key of their own. */
export function liveKey({ body }: BoundQuery): LiveKey | undefined {
  if (body.kind !== 'select' || body.distinct) return undefined
  if (body.grouped) return groupKey(body)
  if (body.latest !== undefined) return latestKey(body.latest)
  return body.from?.kind === 'table' ? primaryKey(body.from) : undefined
}

function primaryKey({ id, table }: TableSource): LiveKey | undefined {
  if (table.primaryKey.length === 0) return undefined
  const expressions = table.primaryKey.map((name): BoundExpression => {
    const ordinal = table.columns.findIndex((column) => sameName(column.name, name))
    const column = table.columns[ordinal]
    if (column === undefined) throw new Error(`The key of ${table.name} has no column ${name}`)
    return { kind: 'column', source: id, ordinal, name: column.name, type: column.type, nullable: false }
  })
  return createKey(expressions, table.primaryKey)
}

/** Each key has one row. */
function latestKey({ names, partitionBy }: BoundLatest): LiveKey | undefined {
  return partitionBy.every(({ type }) => isStorable(type)) ? createKey(partitionBy, names) : undefined
}

function groupKey(select: BoundSelect): LiveKey | undefined {
  const { groupBy } = select
  // An Interval cannot be the type of a result.
  if (!groupBy.every(({ type }) => isStorable(type))) return undefined
  const expressions = groupBy.map((expression, index): BoundExpression => {
    return { kind: 'group-key', index, expression, type: expression.type, nullable: expression.nullable }
  })
  return createKey(
    expressions,
    groupBy.map((expression, index) => groupName(select, expression, index)),
  )
}

/** As the result names it; a group that is not selected is named after its column, its function or its number. */
function groupName({ outputs }: BoundSelect, expression: BoundExpression, index: number): string {
  const output = outputs.find(({ expression: shown }) => shown.kind === 'group-key' && shown.index === index)
  if (output !== undefined) return output.name
  if (expression.kind === 'column') return expression.name
  return expression.kind === 'call' ? expression.function : `group${index + 1}`
}

function createKey(expressions: readonly BoundExpression[], names: readonly string[]): LiveKey {
  const columns = expressions.map(({ type, nullable }, index) => ({ name: names[index] ?? '', type, nullable }))
  return { columns, expressions }
}
