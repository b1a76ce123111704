/** What the executor of column segments can compute of a grouping by parts: see ../../columns/. */
import {
  type AsofJoin,
  asDecimal,
  type BoundCall,
  type BoundExpression,
  cannotFail,
  conjuncts,
  directOperands,
  type IqlType,
  isConstant,
  NULL,
  type TableSource,
} from 'gatehouse-iql'
import type {
  ColumnFilter,
  ColumnKey,
  ColumnPlan,
  ColumnResult,
  ColumnState,
  JoinPlan,
  OwnRows,
  PartColumn,
} from '../../columns/plan.ts'
import { canBeStored, isText } from '../../columns/segment.ts'
import type { ColumnStateSql, Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import { emitTable } from './query.ts'
import { emitZone } from './zone.ts'

/** Its expressions are queries of one value; those of one column have its value as the parameter @v. */
export interface EmittedColumnPlan extends ColumnPlan {
  readonly expressions: readonly Sql[]
  /** The values of the columns of the other table, of its rows from @first to @last, in their order. */
  readonly joinedRows?: Sql | undefined
  /** Where SQL takes many times as long to compute a part from rows. */
  readonly ownRows?: OwnRows<Sql> | undefined
}

/** Why a statement, or its part of a table, is not computed in another way: for EXPLAIN. */
export interface NotPlanned {
  readonly why: string
}

/** The parameter with a value of the column: a text of a dictionary, or a time. */
const COLUMN_VALUE = '@v'

interface Grouping {
  readonly source: TableSource
  /** The rows of the source are joined with those of another table. */
  readonly join: AsofJoin | undefined
  readonly where: BoundExpression | undefined
  readonly groupBy: readonly BoundExpression[]
  /** In the order of the columns of the parts. */
  readonly states: readonly NamedState[]
  readonly result: ColumnResult | undefined
}

export interface NamedState {
  /** Of the aggregate. */
  readonly name: string
  /** Undefined where only the statement knows how to compute it. */
  readonly state: ColumnStateSql | undefined
}

/** What the executor computes, if all parts of the grouping have a shape that it knows. */
export function planColumns(
  { source, join, where, groupBy, states, result }: Grouping,
  emission: Emission,
): EmittedColumnPlan | NotPlanned {
  const right = join?.right.kind === 'table' ? join.right : undefined
  const shapes = new Shapes(source, right, emission)
  const filters = shapes.filters([source.filter, where])
  const keys = groupBy.map((key) => shapes.key(key))
  const parts = states.map(({ state }) => state && shapes.part(state))
  if (filters === undefined)
    return { why: 'a condition neither compares a column with constants nor is about one Text column alone' }
  if (!isWhole(keys)) return { why: `key ${keys.indexOf(undefined) + 1} of GROUP BY can only be computed from rows` }
  if (!isWhole(parts)) return { why: `${states[parts.indexOf(undefined)]?.name} can only be computed from rows here` }
  const joined = join && right && shapes.join(join, right)
  // Which rows count is known before they are joined.
  if (filters.some(({ column }) => shapes.isJoined(column)))
    return { why: 'a condition is about the other table of the ASOF JOIN' }
  if (join !== undefined && joined === undefined) return { why: 'this ASOF JOIN can only be computed from rows' }
  const { columns, states: computed, expressions } = shapes
  const joinedRows = joined && right && shapes.joinedRows(right)
  const isSlowFromRows = join !== undefined || computed.some(({ kind }) => kind === 'values')
  const ownRows = isSlowFromRows || result !== undefined ? shapes.ownRows(where) : undefined
  return { columns, filters, keys, states: computed, parts, expressions, joined, joinedRows, ownRows, result }
}

function isWhole<T>(items: readonly (T | undefined)[]): items is readonly T[] {
  return !items.includes(undefined)
}

class Shapes {
  readonly columns: string[] = []
  readonly states: ColumnState[] = []
  readonly expressions: Sql[] = []
  readonly #types: IqlType[] = []
  readonly #source: TableSource
  readonly #right: TableSource | undefined
  readonly #emission: Emission
  /** The columns that are the other table's. */
  readonly #joined = new Set<number>()

  constructor(source: TableSource, right: TableSource | undefined, emission: Emission) {
    this.#source = source
    this.#right = right
    this.#emission = emission
  }

  isJoined(column: number): boolean {
    return this.#joined.has(column)
  }

  /** Undefined for a join of which more than columns of integers, times and texts is compared, or in which ties are broken otherwise. */
  join({ keys, near, outer, tie }: AsofJoin, right: TableSource): JoinPlan | undefined {
    const [tied] = tie
    const { primaryKey } = right.table
    const matched = new Set(
      [...keys.map((pair) => pair.right), near.right].map((node) => node.kind === 'column' && node.name),
    )
    const isUnique = primaryKey.length > 0 && primaryKey.every((name) => matched.has(name))
    const isFirst =
      tie.length === 1 &&
      tied?.expression.kind === 'column' &&
      !tied.descending &&
      tied.expression.name === this.#emission.dialect.partGroups?.rowKey(right.table)
    const [key, ...others] = keys.map((pair) => this.#pair(pair))
    const compared = this.#pair(near)
    const filters = this.filters([right.filter])
    if ((!isFirst && !isUnique) || others.length > 0 || (keys.length > 0 && key === undefined)) return undefined
    if (compared === undefined || isText(near.left.type) || filters === undefined) return undefined
    if ([...this.#joined].some((column) => !this.#canJoin(right, column))) return undefined
    return { columns: [...this.#joined], key, near: { ...compared, operator: near.operator }, outer, filters }
  }

  #pair({ left, right }: { readonly left: BoundExpression; readonly right: BoundExpression }) {
    const [one, other] = [this.#column(left), this.#column(right)]
    if (one === undefined || other === undefined || this.isJoined(one) || !this.isJoined(other)) return undefined
    if (left.type.kind !== right.type.kind || asDecimal(left.type)?.scale !== asDecimal(right.type)?.scale)
      return undefined
    return left.type.kind === 'Double' || !canBeStored(left.type) || !canBeStored(right.type)
      ? undefined
      : { left: one, right: other }
  }

  #canJoin({ table }: TableSource, column: number): boolean {
    const type = table.columns.find(({ name }) => name === this.columns[column])?.type
    return type !== undefined && type.kind !== 'Double' && canBeStored(type)
  }

  joinedRows(right: TableSource): Sql {
    const { identifier, partGroups } = this.#emission.dialect
    // With a key of another kind no rows are tied.
    const key = partGroups?.rowKey(right.table)
    const order = key === undefined ? '' : ` ORDER BY s${right.id}.${identifier(key)}`
    return this.#rows(right, [...this.#joined], undefined) + order
  }

  ownRows(where: BoundExpression | undefined): OwnRows<Sql> {
    const own = this.columns.flatMap((_name, column) => (this.isJoined(column) ? [] : column))
    const columns = own.map((column) => ({ name: this.columns[column] ?? '', type: this.#types[column] ?? NULL }))
    return { rows: this.#rows(this.#source, own, where), columns }
  }

  /** The values of columns, of the rows from @first to @last. */
  #rows(source: TableSource, columns: readonly number[], where: BoundExpression | undefined): Sql {
    const { identifier, partGroups } = this.#emission.dialect
    const alias = `s${source.id}`
    const range = `${alias}.${partGroups?.rowId(source.table)} BETWEEN @first AND @last`
    const from = emitTable(source, this.#emission, { range })
    const names = columns.map((column) => `${alias}.${identifier(this.columns[column] ?? '')}`)
    const conditions = source.filter === undefined ? [range] : []
    if (where !== undefined) conditions.push(emitExpression(where, this.#emission))
    const clause = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
    return `SELECT ${[...names, 'NULL'].join(', ')} FROM ${from}${clause}`
  }

  /** All must be true. */
  filters(conditions: readonly (BoundExpression | undefined)[]): ColumnFilter[] | undefined {
    const filters = conditions.flatMap(conjuncts).flatMap((condition) => this.#filter(condition))
    return isWhole(filters) ? [...filters] : undefined
  }

  #filter(condition: BoundExpression): (ColumnFilter | undefined)[] {
    switch (condition.kind) {
      case 'column':
        return [this.#truth(condition, 1)]
      case 'not':
        return [this.#truth(condition.operand, 0) ?? this.#text(condition)]
      case 'compare':
        return [this.#compare(condition.left, condition.operator, condition.right) ?? this.#text(condition)]
      case 'in-list': {
        const operator = condition.negated ? 'not in' : 'in'
        return [this.#member(condition.operand, operator, condition.items) ?? this.#text(condition)]
      }
      case 'between': {
        if (condition.negated) return [this.#text(condition)]
        const { operand, low, high } = condition
        const ends = [this.#compare(operand, '>=', low), this.#compare(operand, '<=', high)]
        return isWhole(ends) ? [...ends] : [this.#text(condition)]
      }
      case 'is-null': {
        const column = this.#column(condition.operand)
        return [column === undefined ? this.#text(condition) : { kind: 'null', column, isNull: !condition.negated }]
      }
      default:
        return [this.#text(condition)]
    }
  }

  #truth(column: BoundExpression, value: 0 | 1): ColumnFilter | undefined {
    const index = column.type.kind === 'Boolean' ? this.#column(column) : undefined
    if (index === undefined) return undefined
    const values = [this.expressions.push(`SELECT ${value} AS c0`) - 1]
    return { kind: 'compare', column: index, operator: '=', values, shift: 0 }
  }

  #compare(left: BoundExpression, operator: CompareOperator, right: BoundExpression): ColumnFilter | undefined {
    if (!isConstant(left)) return this.#member(left, operator, [right])
    return isConstant(right) ? undefined : this.#compare(right, OPPOSITES[operator], left)
  }

  /** A comparison of a column with values that are the same for all rows. */
  #member(
    left: BoundExpression,
    operator: CompareOperator | 'in' | 'not in',
    values: readonly BoundExpression[],
  ): ColumnFilter | undefined {
    const inner = left.kind === 'widen' ? left.operand : left
    if (!values.every(isConstant) || !isFixed(inner)) return undefined
    const column = this.#column(inner)
    const shift = (asDecimal(left.type)?.scale ?? 0) - (asDecimal(inner.type)?.scale ?? 0)
    if (column === undefined || shift < 0) return undefined
    return { kind: 'compare', column, operator, values: values.map((value) => this.#expression(value)), shift }
  }

  /** A condition on one column of texts, which must have a value for every text. */
  #text(condition: BoundExpression): ColumnFilter | undefined {
    const found = this.#textExpression(condition)
    return found && { kind: 'text', column: found.column, test: found.expression }
  }

  key(key: BoundExpression): ColumnKey | undefined {
    const column = this.#column(key)
    if (column !== undefined) return { kind: 'column', column }
    if (key.kind === 'call') {
      const bucket = this.#emission.dialect.partGroups?.bucket(key)
      if (bucket !== undefined && !(typeof bucket.width === 'bigint' && this.#variesByRun(key))) {
        const time = this.#column(bucket.time)
        const width = typeof bucket.width === 'bigint' ? bucket.width : this.#expression(bucket.width)
        if (time !== undefined) return { kind: 'bucket', column: time, width, origin: bucket.origin }
      }
    }
    return this.#steps(key) ?? this.#textKey(key)
  }

  #textKey(key: BoundExpression): ColumnKey | undefined {
    const found = this.#textExpression(key)
    return found && { kind: 'text', column: found.column, value: found.expression }
  }

  #steps(key: BoundExpression): ColumnKey | undefined {
    const rising = this.#emission.dialect.partGroups?.rising(key)
    const column = rising && this.#column(rising.time)
    if (column === undefined) return undefined
    const value = this.#ofValue(key)
    return rising?.zone === undefined
      ? { kind: 'steps', column, value }
      : { kind: 'steps', column, value, zone: this.#add(emitZone(rising.zone, this.#emission)) }
  }

  /** Equal states are computed once. */
  part(given: ColumnStateSql): PartColumn | undefined {
    const state = this.#state(given)
    if (state === undefined) return undefined
    const key = JSON.stringify(state)
    const known = this.states.findIndex((other) => JSON.stringify(other) === key)
    return { state: known >= 0 ? known : this.states.push(state) - 1, value: given.value ?? 0 }
  }

  #state({ kind, arguments: args, filter }: ColumnStateSql): ColumnState | undefined {
    const filters = this.filters([filter])
    const [column, order] = args.map((argument) => this.#column(argument))
    if (filters === undefined) return undefined
    if (kind === 'rows') return { kind, filters }
    if (column === undefined) return undefined
    switch (kind) {
      case 'first':
      case 'last':
      case 'products':
      case 'weighted':
        return order === undefined ? undefined : { kind, column, order, filters }
      default:
        return { kind, column, filters }
    }
  }

  /** Whether other statements with this plan have other literals. */
  #variesByRun({ arguments: args }: BoundCall): boolean {
    const { autoParameters } = this.#emission
    return args.some((x) => x.kind === 'literal' && x.written !== undefined && autoParameters.has(x.written.index))
  }

  /** Its place among the columns of the plan; undefined for another expression. */
  #column(node: BoundExpression): number | undefined {
    if (node.kind !== 'column') return undefined
    const isOfRight = node.source === this.#right?.id
    if (!isOfRight && node.source !== this.#source.id) return undefined
    const known = this.columns.findIndex((name, index) => name === node.name && this.isJoined(index) === isOfRight)
    if (known >= 0) return known
    const index = this.columns.push(node.name) - 1
    this.#types.push(node.type)
    if (isOfRight) this.#joined.add(index)
    return index
  }

  #textExpression(node: BoundExpression): { readonly column: number; readonly expression: number } | undefined {
    const columns = new Map<string, BoundExpression>()
    if (!collectColumns(node, columns) || columns.size !== 1 || !cannotFail(node)) return undefined
    const [column] = columns.values()
    if (column === undefined || (column.type.kind !== 'Text' && column.type.kind !== 'Uuid')) return undefined
    const index = this.#column(column)
    if (index === undefined) return undefined
    return { column: index, expression: this.#ofValue(node) }
  }

  /** An expression over the value of one column. */
  #ofValue(node: BoundExpression): number {
    const ids = [this.#source, this.#right].flatMap((source) => source?.id ?? [])
    const sources = new Map(ids.map((id) => [id, () => COLUMN_VALUE]))
    return this.#expression(node, { ...this.#emission, sources })
  }

  #expression(node: BoundExpression, emission: Emission = this.#emission): number {
    return this.#add(emitExpression(node, emission))
  }

  #add(sql: Sql): number {
    return this.expressions.push(`SELECT ${sql} AS c0`) - 1
  }
}

/** False if there is a sub-query, or a value that is not the same each time. */
function collectColumns(node: BoundExpression, columns: Map<string, BoundExpression>): boolean {
  if (node.kind === 'column') columns.set(`${node.source}.${node.ordinal}`, node)
  else if (directOperands(node).length === 0) return isConstant(node)
  return directOperands(node).every((operand) => collectColumns(operand, columns))
}

/** Whether the values of a column are numbers in its segments. */
function isFixed({ type }: BoundExpression): boolean {
  return type.kind !== 'Text' && type.kind !== 'Uuid'
}

const OPPOSITES = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  'is distinct from': 'is distinct from',
  'is not distinct from': 'is not distinct from',
} as const

type CompareOperator = keyof typeof OPPOSITES
