/** Emits ASOF JOIN: each left row finds its right row in an index or, without one, both sides are sorted together once. */
import {
  type AsofJoin,
  type BoundExpression,
  combineConditions,
  directOperands,
  type FindIndexes,
  type Source,
} from 'gatehouse-iql'
import { emitOrder } from './aggregate.ts'
import { freeName, type Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'

/** How the closest right row of each left row is found. */
export type AsofMethod =
  | { readonly kind: 'index'; readonly columns: readonly string[] }
  /** The right side is read for the only row of the left side. */
  | { readonly kind: 'scan' }
  | { readonly kind: 'sort' }

/** What the sources of a FROM clause share while they are emitted. */
export interface FromContext {
  readonly ctes: Sql[]
  /** The ids of all of them. */
  readonly sources: readonly number[]
  /** The conditions of WHERE that may be applied here already: those that were are removed. */
  readonly conditions: BoundExpression[]
  /** The columns that the query and its sub-queries use. */
  readonly used: () => ReadonlyMap<number, ReadonlyMap<number, string>>
}

/** Databases limit the columns of a query: a left side of which more are used is not sorted. */
const MAX_SORTED_COLUMNS = 1000

export function asofMethod(
  join: AsofJoin,
  context: Pick<FromContext, 'conditions' | 'sources'>,
  { findIndexes, isFormer }: Pick<Emission, 'findIndexes' | 'isFormer'>,
): AsofMethod {
  const index = isFormer ? undefined : asofIndex(join, findIndexes)
  if (index !== undefined) return { kind: 'index', columns: index }
  return hasOneRow(join.left, context) ? { kind: 'scan' } : { kind: 'sort' }
}

/** The columns, the keys and then the one that is compared, of an index with which a right row is found; undefined where none can be used. */
export function asofIndexColumns({ right, keys, near }: AsofJoin): readonly string[] | undefined {
  // Rows that a row filter hides are behind an optimization fence.
  if (right.kind !== 'table' || right.filter !== undefined || right.table.isSystem || right.changedOnly !== undefined)
    return undefined
  const names = new Set([...keys.map((key) => key.right), near.right].map(columnName))
  return names.has(undefined) ? undefined : [...names].filter((name) => name !== undefined)
}

function asofIndex(join: AsofJoin, findIndexes: FindIndexes): readonly string[] | undefined {
  const columns = asofIndexColumns(join)
  if (columns === undefined || join.right.kind !== 'table') return undefined
  const { table } = join.right
  const keys = new Set(columns.slice(0, -1))
  const known = [table.primaryKey, ...table.uniques, ...findIndexes(table)]
  const index = known.find(
    (names) => names[keys.size] === columns.at(-1) && names.slice(0, keys.size).every((name) => keys.has(name)),
  )
  return index?.slice(0, columns.length)
}

function columnName(node: BoundExpression): string | undefined {
  return node.kind === 'column' ? node.name : undefined
}

/** Whether the conditions fix a key of the left side; columns of an enclosing query fix it too. */
function hasOneRow(left: Source, { conditions, sources }: Pick<FromContext, 'conditions' | 'sources'>): boolean {
  if (left.kind !== 'table') return false
  const { id, table } = left
  const isFixed = (node: BoundExpression) => (node.kind === 'column' ? !sources.includes(node.source) : isValue(node))
  const fixed = new Set<string>()
  for (const condition of conditions) {
    if (condition.kind !== 'compare' || condition.operator !== '=') continue
    for (const [column, value] of [
      [condition.left, condition.right],
      [condition.right, condition.left],
    ] as const)
      if (column.kind === 'column' && column.source === id && isFixed(value)) fixed.add(column.name)
  }
  return [table.primaryKey, ...table.uniques].some((key) => key.length > 0 && key.every((name) => fixed.has(name)))
}

function isValue(node: BoundExpression): boolean {
  return node.kind === 'literal' || node.kind === 'parameter' || node.kind === 'claim'
}

/** `left` and `right` are the SQL of the sides, with their aliases. */
export function emitAsof(join: AsofJoin, left: Sql, right: Sql, context: FromContext, emission: Emission): Sql {
  const { kind } = asofMethod(join, context, emission)
  const columns = kind === 'sort' ? usedColumns(join.left, context) : []
  return kind === 'sort' && columns.length <= MAX_SORTED_COLUMNS
    ? emitSorted(join, left, right, columns, context, emission)
    : emitSearched(join, left, right, context, emission)
}

function emitSearched(join: AsofJoin, left: Sql, aliased: Sql, context: FromContext, emission: Emission): Sql {
  const { right, near } = join
  const equal = join.keys.map((key) => `${emitExpression(key.left, emission)} = ${emitExpression(key.right, emission)}`)
  const nearest = `${emitExpression(near.left, emission)} ${near.operator} ${emitExpression(near.right, emission)}`
  const parts = emission.dialect.asof({
    outer: join.outer,
    left,
    right: aliased.slice(0, -` AS s${right.id}`.length),
    isPlainTable: right.kind === 'table' && right.filter === undefined && !right.table.isSystem && !emission.isFormer,
    names: rightNames(join),
    id: right.id,
    condition: [...equal, nearest].join(' AND '),
    order: emitClosestFirst(join, emission),
  })
  context.ctes.push(...parts.with)
  return parts.from
}

interface LeftColumn {
  readonly source: number
  readonly ordinal: number
  readonly name: string
}

/**
 * One sort of the rows of both sides by key and value, in which the closest right row so far is that of the next left rows. The right
 * rows are numbered, the closest of any that precede a left row first, so that it is the one with the least number.
 */
function emitSorted(
  join: AsofJoin,
  left: Sql,
  right: Sql,
  columns: readonly LeftColumn[],
  context: FromContext,
  emission: Emission,
): Sql {
  const { keys, near, right: source } = join
  const emit = (node: BoundExpression) => emitExpression(node, emission)
  const [applied, others] = splitConditions(context.conditions, context.sources, sourceIds(join.left))
  context.conditions.splice(0, context.conditions.length, ...others)
  const number = freeName('n', rightNames(join))
  const [alias, numbered, sorted] = [`s${source.id}`, `a${source.id}`, `l${source.id}`]

  const matchable = [...keys.map((key) => key.right), near.right].filter(({ nullable }) => nullable)
  const conditions = [
    ...matchable.map((node) => `${emit(node)} IS NOT NULL`),
    ...keyConditions(join, applied).map(emit),
  ]
  const numbers = `row_number() OVER (ORDER BY ${emitClosestFirst(join, emission)})`
  const rightRows = `SELECT ${alias}.*, ${numbers} AS ${number} FROM ${right}${emitWhere(conditions)}`
  context.ctes.push(`${numbered} AS MATERIALIZED (${rightRows})`)

  // At equal values the right rows come first if they match, otherwise last.
  const side = near.operator.endsWith('=') ? 1 : -1
  const leftRow = [
    ...columns.map(
      ({ source: id, ordinal, name }, index) => `${emission.sources.get(id)?.(ordinal, name)} AS x${index}`,
    ),
    ...keys.map((key, index) => `${emit(key.left)} AS k${index}`),
    ...[`${emit(near.left)} AS t`, `${side} AS side`, 'NULL AS r'],
  ]
  const rightRow = [
    ...columns.map(() => 'NULL'),
    ...keys.map((key) => emit(key.right)),
    ...[emit(near.right), '0', `${alias}.${number}`],
  ]
  const where = combineConditions(...applied)
  const both = `SELECT ${leftRow.join(', ')} FROM ${left}${emitWhere(where === undefined ? [] : [emit(where)])} UNION ALL SELECT ${rightRow.join(', ')} FROM ${numbered} AS ${alias}`
  const partition = keys.length === 0 ? '' : `PARTITION BY ${keys.map((_key, index) => `k${index}`).join(', ')} `
  const direction = isBackward(join) ? 'ASC' : 'DESC'
  const closest = `min(r) OVER (${partition}ORDER BY t ${direction}, side ROWS UNBOUNDED PRECEDING)`
  const matched = `SELECT *, CASE WHEN t IS NOT NULL THEN ${closest} END AS m FROM (${both}) AS u`

  for (const id of sourceIds(join.left)) {
    emission.sources.set(id, (ordinal) => {
      const index = columns.findIndex((column) => column.source === id && column.ordinal === ordinal)
      if (index < 0) throw new Error(`Column ${ordinal} of source ${id} is not among those that the query uses`)
      return `${sorted}.x${index}`
    })
  }
  const words = join.outer ? 'LEFT JOIN' : 'JOIN'
  // An inequality, because PostgreSQL expects few rows of an equality, and might join them in a nested loop.
  return `(SELECT * FROM (${matched}) AS u WHERE side <> 0) AS ${sorted} ${words} ${numbered} AS ${alias} ON ${alias}.${number} = ${sorted}.m`
}

function emitWhere(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}

function emitClosestFirst(join: AsofJoin, emission: Emission): Sql {
  const order = [`${emitExpression(join.near.right, emission)} ${isBackward(join) ? 'DESC' : 'ASC'}`]
  if (join.tie.length > 0) order.push(emitOrder(join.tie, emission))
  return order.join(', ')
}

/** Whether the matching right values are the smaller ones. */
function isBackward({ near }: AsofJoin): boolean {
  return near.operator.startsWith('>')
}

function rightNames({ right }: AsofJoin): readonly string[] {
  return right.kind === 'table' ? right.table.columns.map(({ name }) => name) : []
}

/** The sources without those inside sub-queries. */
export function sourceIds(source: Source): readonly number[] {
  return source.kind === 'join' || source.kind === 'asof'
    ? [...sourceIds(source.left), ...sourceIds(source.right)]
    : [source.id]
}

function usedColumns(left: Source, { used }: FromContext): readonly LeftColumn[] {
  return sourceIds(left).flatMap((source) =>
    Array.from(used().get(source) ?? [], ([ordinal, name]) => ({ source, ordinal, name })),
  )
}

/** The conditions that are about rows of the left side alone, and the others. `sources` are those of the FROM clause. */
export function splitConditions(
  conditions: readonly BoundExpression[],
  sources: readonly number[],
  left: readonly number[],
): readonly [readonly BoundExpression[], readonly BoundExpression[]] {
  const others = new Set(sources.filter((id) => !left.includes(id)))
  const isOfLeft = (condition: BoundExpression) => !mayUse(condition, others)
  return [conditions.filter(isOfLeft), conditions.filter((condition) => !isOfLeft(condition))]
}

/** Whether the expression uses one of the sources; sub-queries may. */
function mayUse(node: BoundExpression, sources: ReadonlySet<number>): boolean {
  if (node.kind === 'column') return sources.has(node.source)
  if (node.kind === 'exists' || node.kind === 'in-query' || node.kind === 'scalar-query') return true
  return directOperands(node).some((operand) => mayUse(operand, sources))
}

/** What the conditions that give a key of the left side a value say about the right side, of which fewer rows are sorted then. */
function keyConditions({ keys }: AsofJoin, conditions: readonly BoundExpression[]): readonly BoundExpression[] {
  return conditions.flatMap((condition) => {
    if (condition.kind !== 'compare' || condition.operator !== '=') return []
    const { left, right } = condition
    return keys.flatMap((key) => {
      if (isSameColumn(key.left, left) && isValue(right)) return [{ ...condition, left: key.right }]
      return isSameColumn(key.left, right) && isValue(left) ? [{ ...condition, right: key.right }] : []
    })
  })
}

function isSameColumn(a: BoundExpression, b: BoundExpression): boolean {
  return a.kind === 'column' && b.kind === 'column' && a.source === b.source && a.ordinal === b.ordinal
}
