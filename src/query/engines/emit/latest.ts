/** Emits LATEST ON: the last row of each key, found in an index where there is one. */
import type { BoundExpression, BoundLatest, Select, TableSource } from '../../iql/bound-query.ts'
import { BOOLEAN } from '../../iql/types.ts'
import { freeName, type Sql } from './dialect.ts'
import { type Emission, emitExpression, emitOrder, type IndexesOf } from './expression.ts'

/** The partition column and the order column of an index or key that gives the last row of each key without reading the others. */
export function latestIndex({ from, latest }: Select, indexesOf: IndexesOf): readonly [string, string] | undefined {
  if (latest === undefined || from?.kind !== 'table' || from.filter !== undefined || from.table.isSystem)
    return undefined
  const { table } = from
  const [key, another] = latest.partitionBy
  if (another !== undefined || key?.kind !== 'column' || key.nullable || latest.on.kind !== 'column') return undefined
  const columns: readonly [string, string] = [key.name, latest.on.name]
  const known = [table.primaryKey, ...table.uniques, ...indexesOf(table)]
  return known.some(([first, second]) => first === columns[0] && second === columns[1]) ? columns : undefined
}

/** The source of the select with WHERE and LATEST ON applied. `rows` is its SQL with the alias. */
export function emitLatest(
  select: Select,
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
  const index = emission.isFormer ? undefined : latestIndex(select, emission.indexesOf)
  if (index !== undefined && from?.kind === 'table' && from.changedOnly === undefined) {
    const key = `${alias}.${emission.dialect.identifier(index[0])}`
    return emission.dialect.asof({
      outer: false,
      left: distinctKeys(from, index[0], emission),
      right: emission.dialect.tableName(from.table),
      isPlainTable: true,
      names: from.table.columns.map(({ name }) => name),
      id,
      condition: [`${key} = l${id}.k`, ...condition].join(' AND '),
      order,
    })
  }
  const keys = latest.partitionBy.map((part) => emitExpression(part, emission)).join(', ')
  const number = freeName('n', from?.kind === 'table' ? from.table.columns.map(({ name }) => name) : [])
  const numbered = `SELECT ${alias}.*, row_number() OVER (PARTITION BY ${keys} ORDER BY ${order}) AS ${number} FROM ${rows}`
  const filtered = condition.length === 0 ? numbered : `${numbered} WHERE ${condition.join(' AND ')}`
  return { from: `(SELECT * FROM (${filtered}) AS ${alias} WHERE ${number} = 1) AS ${alias}`, with: [] }
}

/** Each step finds the next key in the index, so that as many entries are visited as there are keys. */
function distinctKeys({ id, table }: TableSource, column: string, { dialect }: Emission): Sql {
  const key = `x.${dialect.identifier(column)}`
  const least = (condition: Sql): Sql =>
    `SELECT ${key} FROM ${dialect.tableName(table)} AS x${condition} ORDER BY ${key} LIMIT 1`
  const first = `SELECT * FROM (${least('')}) AS f`
  const next = `SELECT (${least(` WHERE ${key} > r.k`)}) FROM r WHERE r.k IS NOT NULL`
  return `(WITH RECURSIVE r (k) AS (${first} UNION ALL ${next}) SELECT k FROM r WHERE k IS NOT NULL) AS l${id}`
}
