/**
 * Emits a grouping of one table by parts: the rows of each part are grouped by themselves, then the groups of all parts. The result is the
 * same. Parts come from column segments where the table has some, or are small enough to be sorted faster than the whole.
 */
import {
  type Aggregate,
  type AsofJoin,
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  conjuncts,
  directOperands,
  type GroupKey,
  isConstant,
  type Source,
  storedName,
  type TableSource,
} from 'gatehouse-iql'
import { once } from '../../../lib/once.ts'
import { aggregateShape, emitFactors, emitTerms, percentileParts } from './aggregate.ts'
import { emitAsof, sourceIds } from './asof.ts'
import { type EmittedColumnPlan, type NamedState, type NotPlanned, planColumns } from './column-plan.ts'
import { planResult, type SingleParts } from './column-result.ts'
import { type ColumnStateSql, isPercentile, type PartAggregate, type PartGroupsSql, type Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import type { PartsTable } from './parameters.ts'
import { emitBounds, emitOutputs, emitQuery, emitTable, usedColumns } from './query.ts'

export interface PartGroups extends PartsTable {
  /** Groups the rows from @first to @last, and counts the rows of each group. */
  readonly part: Sql
  /** The result, from the parts. */
  readonly whole: Sql
  /** Counts the rows for which the conditions are true, up to FEW_FOUND_ROWS. */
  readonly found: Sql
  /** How to compute parts from column segments, where that is possible. */
  readonly columns: EmittedColumnPlan | NotPlanned
}

/** The temporary table of the parts. */
export const PARTS = 'temp.gh_parts'
/** Its column with the number of rows. */
export const PART_ROWS = 'n'
/** An index that leaves fewer rows than this is faster than all column segments. */
export const FEW_FOUND_ROWS = 20_000

/** Why it is not, if the query is not a grouping of a table, or uses something that cannot be computed from parts. */
export function emitPartGroups(query: BoundQuery, emission: Emission): PartGroups | NotPlanned {
  const { body } = query
  const { partGroups } = emission.dialect
  if (partGroups === undefined || query.with.length > 0 || body.kind !== 'select' || body.latest !== undefined)
    return NO_GROUPING
  const { where, groupBy } = body
  const join = body.from?.kind === 'asof' ? body.from : undefined
  const from = join === undefined ? body.from : join.left
  if (!body.grouped || !isPlainTable(from) || (join !== undefined && !isPlainTable(join.right))) return NO_GROUPING
  const rowId = partGroups.rowId(from.table)
  const nodes = groupNodes(query, body)
  if (rowId === undefined || nodes === undefined) return HAS_QUERY
  // Without keys there is a row although the table has none: it must not depend on what else is in the outputs.
  if (groupBy.length === 0 && nodes.aggregates.length === 0) return NO_GROUPING
  // A sub-query would run again for each part.
  const expressions = [...groupBy, ...present(where), ...present(from.filter), ...nodes.aggregates]
  if (!expressions.every(isPlain)) return HAS_QUERY

  const range = `s${from.id}.${rowId} BETWEEN @first AND @last`
  const rows =
    join === undefined ? emitRange(from, range, where, emission) : emitJoined(query, join, from, range, emission)
  const parts = new Parts()
  const replaced = new Map<BoundExpression, Sql>()
  const singles = new Map<Aggregate, SingleParts>()
  for (const node of nodes.aggregates) {
    const split = isPercentile(node.function)
      ? splitPercentile(node, partGroups, emission)
      : splitAggregate(node, partGroups, emission)
    if (split === undefined) return { why: `${node.function} can only be computed from rows here` }
    const columns = split.parts.map((part) => parts.column(part, node.function))
    replaced.set(node, split.whole(columns))
    singles.set(node, { single: split.single, parts: columns.map((column) => parts.place(column)) })
  }
  for (const node of nodes.keys) replaced.set(node, `k${node.index}`)

  const keys = groupBy.map((key) => emitExpression(key, emission))
  const names = groupBy.map((_key, index) => `k${index}`)
  const grouped: Emission = { ...emission, replaced }
  const outputs = emitOutputs(body, grouped)
  const having = body.having === undefined ? [] : [`HAVING ${emitExpression(body.having, grouped)}`]
  const whole = [
    `SELECT ${body.distinct ? 'DISTINCT ' : ''}${outputs.join(', ')} FROM ${PARTS}${groupClause(names)}`,
    ...having,
    ...emitBounds(query, grouped),
  ].join(' ')
  // How much each operation may create depends on how many there are.
  if (emission.placeholders.createsValues) return { why: 'the length of its texts depends on the number of rows' }
  // So does how many values each percentile may hold: as in the usual plan.
  if (nodes.aggregates.some((node) => isPercentile(node.function))) emitQuery(query, emission)
  return {
    name: storedName(from.table),
    table: emission.dialect.tableName(from.table),
    rowId,
    alias: `s${from.id}`,
    joined: join?.right.kind === 'table' ? storedName(join.right.table) : undefined,
    keys: groupBy.length,
    isSlowFromRows: parts.areSlow,
    create: `CREATE TABLE ${PARTS} (${[...names, ...parts.definitions].join(', ')})`,
    part: `${rows.with}SELECT ${[...keys, ...parts.values].join(', ')} FROM ${rows.from}${whereClause(rows.where)}${groupClause(keys)}`,
    whole,
    found: emitFound(from, where, emission),
    columns: planColumns(
      { source: from, join, where, groupBy, states: parts.states, result: planResult(query, body, singles) },
      emission,
    ),
  }
}

const NO_GROUPING: NotPlanned = { why: 'only a grouping of one table, or of an ASOF JOIN of two, can read them' }
const HAS_QUERY: NotPlanned = { why: 'it has a sub-query' }

function isPlainTable(source: Source | undefined): source is TableSource {
  return source?.kind === 'table' && !source.table.isSystem && source.changedOnly === undefined
}

interface EmittedRows {
  readonly with: Sql
  readonly from: Sql
  readonly where: readonly Sql[]
}

/** The rows of a part. */
function emitRange(
  source: TableSource,
  range: Sql,
  where: BoundExpression | undefined,
  emission: Emission,
): EmittedRows {
  const from = emitTable(source, emission, { range })
  const conditions = present(where).map((x) => emitExpression(x, emission))
  return { with: '', from, where: [...(source.filter === undefined ? [range] : []), ...conditions] }
}

/** The rows of a part, each with its row of the other table. */
function emitJoined(
  query: BoundQuery,
  join: AsofJoin,
  source: TableSource,
  range: Sql,
  emission: Emission,
): EmittedRows {
  const rows = emitTable(source, emission, { range })
  const left = source.filter === undefined ? `(SELECT * FROM ${rows} WHERE ${range}) AS s${source.id}` : rows
  const conditions = query.body.kind === 'select' ? [...conjuncts(query.body.where)] : []
  const ctes: Sql[] = []
  const used = once(() => usedColumns(query, []))
  const context = { ctes, sources: sourceIds(join), conditions, used }
  const right = emitSide(join.right, emission)
  const from = emitAsof(join, left, right, context, emission)
  return {
    with: ctes.length === 0 ? '' : `WITH ${ctes.join(', ')} `,
    from,
    where: conditions.map((x) => emitExpression(x, emission)),
  }
}

function emitSide(source: Source, emission: Emission): Sql {
  if (source.kind !== 'table') throw new Error('A join of other sources')
  return emitTable(source, emission)
}

function emitFound(source: TableSource, where: BoundExpression | undefined, emission: Emission): Sql {
  const from = emitTable(source, emission)
  const conditions = present(where).map((x) => emitExpression(x, emission))
  return `SELECT count(*) FROM (SELECT 1 FROM ${from}${whereClause(conditions)} LIMIT ${FEW_FOUND_ROWS})`
}

function whereClause(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}

function groupClause(keys: readonly Sql[]): Sql {
  return keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`
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

function splitPercentile(node: Aggregate, { percentile }: PartGroupsSql, emission: Emission) {
  const [fraction] = node.arguments
  if (node.arguments.length > 1 && fraction !== undefined && !isConstant(fraction)) return undefined
  return percentile(node, percentileParts(node, emission.placeholders.heldLimit(0), emission))
}

function splitAggregate(node: Aggregate, { aggregate }: PartGroupsSql, emission: Emission) {
  if (node.orderBy.length > 0) return undefined
  const [argument] = node.arguments
  const factors = argument === undefined ? undefined : emitFactors(argument, emission)
  const product = factors === undefined ? undefined : `(${factors.left} * ${factors.right})`
  const args = node.arguments.map((x) => emitExpression(x, emission))
  return aggregate(node, args, aggregateShape(node, emission), { product, terms: emitTerms(argument, emission) })
}

/** The columns of the parts: the number of rows, then those of each aggregate. */
class Parts {
  readonly #columns = new Map<Sql, { readonly name: Sql; readonly part: PartAggregate; readonly aggregate: string }>()

  constructor() {
    const state: ColumnStateSql = { kind: 'rows', arguments: [], filter: undefined }
    this.#columns.set('count(*)', {
      name: PART_ROWS,
      part: { sql: 'count(*)', isInteger: true, state },
      aggregate: 'count',
    })
  }

  /** Equal aggregates share a column. */
  column(part: PartAggregate, aggregate: string): Sql {
    const known = this.#columns.get(part.sql)
    const name = known?.name ?? `a${this.#columns.size}`
    if (known === undefined) this.#columns.set(part.sql, { name, part, aggregate })
    return name
  }

  place(column: Sql): number {
    return [...this.#columns.values()].findIndex(({ name }) => name === column)
  }

  get values(): Sql[] {
    return [...this.#columns.keys()]
  }

  get definitions(): Sql[] {
    return [...this.#columns.values()].map(({ name, part }) =>
      part.isInteger ? `${name} CHECK (typeof(${name}) <> 'real')` : name,
    )
  }

  get areSlow(): boolean {
    return [...this.#columns.values()].some(({ part }) => part.isSlow === true)
  }

  get states(): NamedState[] {
    return [...this.#columns.values()].map(({ part, aggregate }) => ({ name: aggregate, state: part.state }))
  }
}

function present(expression: BoundExpression | undefined): BoundExpression[] {
  return expression === undefined ? [] : [expression]
}
