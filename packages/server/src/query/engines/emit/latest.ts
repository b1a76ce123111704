/** Emits LATEST ON: the last row of each key, found in an index where there is one. */
import {
  BOOLEAN,
  type BoundExpression,
  type BoundLatest,
  type BoundSelect,
  conjuncts,
  directOperands,
  type FindIndexes,
  type TableSource,
} from 'gatehouse-iql'
import { emitOrder } from './aggregate.ts'
import { freeName, type Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import { emitTextsFit } from './text-limits.ts'

/** The columns of an index or key, the keys and then the time, that give the last row of each key without reading the others. */
export function latestIndex({ from, latest }: BoundSelect, findIndexes: FindIndexes): readonly string[] | undefined {
  if (latest === undefined || from?.kind !== 'table' || from.filter !== undefined || from.table.isSystem)
    return undefined
  const { table } = from
  const { on, partitionBy } = latest
  const keys = new Set(partitionBy.map((key) => (key.kind === 'column' && !key.nullable ? key.name : undefined)))
  if (on.kind !== 'column' || keys.has(undefined) || keys.has(on.name)) return undefined
  const known = [table.primaryKey, ...table.uniques, ...findIndexes(table)]
  const index = known.find(
    (columns) => columns[keys.size] === on.name && columns.slice(0, keys.size).every((column) => keys.has(column)),
  )
  return index?.slice(0, keys.size + 1)
}

/** The source of the select with WHERE and LATEST ON applied. `rows` is its SQL with the alias. */
export function emitLatest(
  select: BoundSelect,
  latest: BoundLatest,
  id: number,
  rows: Sql,
  emission: Emission,
): { readonly from: Sql; readonly with: readonly Sql[] } {
  const { where, from } = select
  const isKnown: BoundExpression = {
    kind: 'is-null',
    operand: latest.on,
    negated: true,
    type: BOOLEAN,
    nullable: false,
  }
  const conditions = [...(latest.on.nullable ? [isKnown] : []), ...(where === undefined ? [] : [where])]
  const condition = conditions.map((part) => emitExpression(part, emission))
  const order = emitOrder(latest.order, emission)
  const alias = `s${id}`
  const index = emission.isFormer ? undefined : latestIndex(select, emission.findIndexes)
  if (index !== undefined && from?.kind === 'table' && from.changedOnly === undefined) {
    const columns = index.slice(0, -1)
    const equal = columns.map(
      (column, ordinal) => `${alias}.${emission.dialect.identifier(column)} = l${id}.k${ordinal}`,
    )
    const fits = emitTextsFit(id, emission)
    return emission.dialect.asof({
      ...tableParts(from, emission),
      left: distinctKeys(from, columns, where, emission),
      condition: [...equal, ...(fits === undefined ? [] : [fits]), ...condition].join(' AND '),
      order,
    })
  }
  const keys = latest.partitionBy.map((part) => emitExpression(part, emission)).join(', ')
  const number = freeName('n', from?.kind === 'table' ? from.table.columns.map(({ name }) => name) : [])
  const numbered = `SELECT ${alias}.*, row_number() OVER (PARTITION BY ${keys} ORDER BY ${order}) AS ${number} FROM ${rows}`
  const filtered = condition.length === 0 ? numbered : `${numbered} WHERE ${condition.join(' AND ')}`
  return { from: `(SELECT * FROM (${filtered}) AS ${alias} WHERE ${number} = 1) AS ${alias}`, with: [] }
}

function tableParts({ id, table }: TableSource, { dialect }: Emission) {
  const names = table.columns.map(({ name }) => name)
  return { outer: false, right: dialect.tableName(table), isPlainTable: true, names, id }
}

/**
 * Each step finds the next key in the index, so one entry is visited for each key, except keys that the conditions exclude.
 */
function distinctKeys(
  source: TableSource,
  columns: readonly string[],
  where: BoundExpression | undefined,
  emission: Emission,
): Sql {
  const { id, table } = source
  const keys = columns.map((column) => `s${id}.${emission.dialect.identifier(column)}`)
  const names = columns.map((_column, ordinal) => `k${ordinal}`)
  const order = keys.join(', ')
  const conditions = conjuncts(where)
    .filter((condition) => isOfKeys(condition, source, new Set(columns)))
    .map((condition) => emitExpression(condition, emission))
  const filter = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  const first = `SELECT ${order} FROM ${emission.dialect.tableName(table)} AS s${id}${filter} ORDER BY ${order} LIMIT 1`
  const following = `(${order}) > (${names.map((name) => `r.${name}`).join(', ')})`
  const next = emission.dialect.asof({
    ...tableParts(source, emission),
    left: 'r',
    condition: [following, ...conditions].join(' AND '),
    order,
  })
  const steps = `r (${names.join(', ')}) AS (SELECT * FROM (${first}) AS f UNION ALL SELECT ${order} FROM ${next.from})`
  return `(WITH RECURSIVE ${[...next.with, steps].join(', ')} SELECT ${names.join(', ')} FROM r) AS l${id}`
}

/** Whether the condition is about the keys and nothing else. */
function isOfKeys(node: BoundExpression, source: TableSource, keys: ReadonlySet<string>): boolean {
  if (node.kind === 'column') return node.source === source.id && keys.has(node.name)
  if (node.kind === 'exists' || node.kind === 'in-query' || node.kind === 'scalar-query') return false
  return directOperands(node).every((operand) => isOfKeys(operand, source, keys))
}
