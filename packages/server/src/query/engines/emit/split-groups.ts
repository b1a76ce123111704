/**
 * Emits GROUP BY over one table by parts: the rows of each part are grouped by themselves, then the groups of all parts. The result is
 * the same. SQLite sorts the rows to group them, and sorts many small parts much faster than the whole.
 */
import {
  type Aggregate,
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  directOperands,
  type GroupKey,
} from 'gatehouse-iql'
import { aggregateShape, emitFactors } from './aggregate.ts'
import type { PartAggregate, SplitAggregate, SplitGroupsSql, Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import type { PartsTable } from './parameters.ts'
import { emitBounds, emitTable } from './query.ts'

export interface SplitGroups extends PartsTable {
  /** Groups the rows from @first to @last, and counts the rows of each group. */
  readonly part: Sql
  /** The result, from the parts. */
  readonly whole: Sql
}

/** The temporary table of the parts. */
export const PARTS = 'temp.gh_parts'
/** Its column with the number of rows. */
export const PART_ROWS = 'n'

/** Undefined if the query is not a grouping of a table, or uses something that cannot be computed from parts. */
export function emitSplitGroups(query: BoundQuery, emission: Emission): SplitGroups | undefined {
  const { body } = query
  const { splitGroups } = emission.dialect
  if (splitGroups === undefined || query.with.length > 0 || body.kind !== 'select' || body.latest !== undefined)
    return undefined
  const { from, where, groupBy } = body
  if (groupBy.length === 0 || from?.kind !== 'table' || from.table.isSystem || from.changedOnly !== undefined)
    return undefined
  const rowId = splitGroups.rowId(from.table)
  const nodes = groupNodes(query, body)
  if (rowId === undefined || nodes === undefined) return undefined
  // A sub-query would run again for each part.
  if (![...groupBy, ...present(where), ...present(from.filter), ...nodes.aggregates].every(isPlain)) return undefined

  const range = `s${from.id}.${rowId} BETWEEN @first AND @last`
  const rows = emitTable(from, emission, range)
  const parts = new Parts()
  const replaced = new Map<BoundExpression, Sql>()
  for (const node of nodes.aggregates) {
    const split = splitAggregate(node, splitGroups, emission)
    if (split === undefined) return undefined
    replaced.set(node, split.whole(split.parts.map((part) => parts.column(part))))
  }
  for (const node of nodes.keys) replaced.set(node, `k${node.index}`)

  const keys = groupBy.map((key) => emitExpression(key, emission))
  const names = groupBy.map((_key, index) => `k${index}`).join(', ')
  const conditions = [
    ...(from.filter === undefined ? [range] : []),
    ...present(where).map((x) => emitExpression(x, emission)),
  ]
  const filter = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  const grouped: Emission = { ...emission, replaced }
  const outputs = body.outputs.map(({ expression }, ordinal) => `${emitExpression(expression, grouped)} AS c${ordinal}`)
  const having = body.having === undefined ? [] : [`HAVING ${emitExpression(body.having, grouped)}`]
  const whole = [
    `SELECT ${body.distinct ? 'DISTINCT ' : ''}${outputs.join(', ')} FROM ${PARTS} GROUP BY ${names}`,
    ...having,
    ...emitBounds(query, grouped),
  ].join(' ')
  // How much each operation may create depends on how many there are.
  if (emission.placeholders.hasLimits) return undefined
  return {
    table: emission.dialect.tableName(from.table),
    rowId,
    create: `CREATE TABLE ${PARTS} (${[names, ...parts.definitions].join(', ')})`,
    part: `SELECT ${[...keys, ...parts.values].join(', ')} FROM ${rows}${filter} GROUP BY ${keys.join(', ')}`,
    combine: `SELECT ${[names, ...parts.combined].join(', ')} FROM ${PARTS} GROUP BY ${names}`,
    whole,
  }
}

interface GroupNodes {
  readonly aggregates: readonly Aggregate[]
  readonly keys: readonly GroupKey[]
}

/** The aggregates and keys that the result consists of; undefined if there is a sub-query, or a column that is neither. */
function groupNodes({ orderBy }: BoundQuery, { outputs, having }: BoundSelect): GroupNodes | undefined {
  const aggregates: Aggregate[] = []
  const keys: GroupKey[] = []
  const isKnown = (node: BoundExpression): boolean => {
    if (node.kind === 'aggregate') aggregates.push(node)
    else if (node.kind === 'group-key') keys.push(node)
    else return node.kind !== 'column' && !isSubquery(node) && directOperands(node).every(isKnown)
    return true
  }
  const expressions = [...outputs, ...orderBy].map(({ expression }) => expression)
  return [...expressions, ...present(having)].every(isKnown) ? { aggregates, keys } : undefined
}

function isPlain(node: BoundExpression): boolean {
  return !isSubquery(node) && directOperands(node).every(isPlain)
}

function isSubquery({ kind }: BoundExpression): boolean {
  return kind === 'in-query' || kind === 'scalar-query' || kind === 'exists'
}

function splitAggregate(
  node: Aggregate,
  { aggregate }: SplitGroupsSql,
  emission: Emission,
): SplitAggregate | undefined {
  if (node.orderBy.length > 0) return undefined
  const [argument] = node.arguments
  const factors = argument === undefined ? undefined : emitFactors(argument, emission)
  const product = factors === undefined ? undefined : `(${factors.left} * ${factors.right})`
  const args = node.arguments.map((x) => emitExpression(x, emission))
  return aggregate(node, args, aggregateShape(node, emission), product)
}

/** The columns of the parts: the number of rows, then one for each aggregate. */
class Parts {
  readonly #columns = new Map<Sql, { readonly name: Sql; readonly part: PartAggregate }>()

  constructor() {
    const sql = 'count(*)'
    this.#columns.set(sql, { name: PART_ROWS, part: { sql, combine: 'sum', isInteger: true } })
  }

  /** Equal aggregates share a column. */
  column(part: PartAggregate): Sql {
    const known = this.#columns.get(part.sql)
    const name = known?.name ?? `a${this.#columns.size}`
    if (known === undefined) this.#columns.set(part.sql, { name, part })
    return name
  }

  get values(): Sql[] {
    return [...this.#columns.keys()]
  }

  get definitions(): Sql[] {
    return [...this.#columns.values()].map(({ name, part }) =>
      part.isInteger ? `${name} CHECK (typeof(${name}) <> 'real')` : name,
    )
  }

  get combined(): Sql[] {
    return [...this.#columns.values()].map(({ name, part }) => `${part.combine}(${name})`)
  }
}

function present(expression: BoundExpression | undefined): BoundExpression[] {
  return expression === undefined ? [] : [expression]
}
