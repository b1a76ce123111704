/** Families of live statements: statements that differ only in the values compared with columns share one read of the changed rows. */

import {
  type BoundExpression,
  type BoundSelect,
  type Column,
  cannotFail,
  combineConditions,
  conjuncts,
  type IqlType,
  type IqlValue,
  type ResultColumn,
  type TableSource,
  type TypeKind,
  writeValue,
} from 'gatehouse-iql'
import type { EmittedSql, RunValues } from '../engines/emit/parameters.ts'
import type { LiveStatement } from '../model/live-statement.ts'
import type { Cell, Encoding } from '../model/result.ts'
import { liveKeyWriter } from '../results/live-rows.ts'

export interface LiveFamily {
  /** The table whose changed keys the family reads. */
  readonly table: string
  /**
   * The changed rows, without the comparisons. Statements whose SQL and parameters are equal here (apart from the parameters `since`)
   * are of one family.
   */
  readonly changed: PositionedSql
  /** The keys and the routes of the changed rows as they were, if they belonged to a member. */
  former(): PositionedSql
  /** The columns that are compared with a value; none: only equal statements are of one family. */
  readonly columns: readonly string[]
  /**
   * The route of this member: the JSON text of the values that its rows have in the route columns, as `LiveRow.route`.
   * Undefined if a value is NULL: then no row belongs to it.
   */
  findRoute(values: Pick<RunValues, 'parameters'>, encoding: Pick<Encoding, 'integers'>): string | undefined
}

/** SQL with positions of tables among its parameters, and what it returns. */
export interface PositionedSql {
  readonly emitted: EmittedSql
  readonly statement: LiveStatement
}

interface FamilyParts extends Pick<LiveFamily, 'table' | 'changed' | 'former'> {
  readonly terms: readonly RouteTerm[]
}

/** column = value among the conditions of WHERE. */
export interface RouteTerm {
  readonly column: Column
  readonly value: Value
}

type Value = Extract<BoundExpression, { kind: 'literal' | 'parameter' }>

export interface Routing {
  readonly terms: readonly RouteTerm[]
  /** The conditions that are left. */
  readonly where: BoundExpression | undefined
}

/**
 * The comparisons that members of a family may differ in. They are left out of the SQL, so that it is evaluated for rows that this
 * statement would not look at: there are none if it could fail on such a row.
 */
export function findRouting({ outputs, where }: BoundSelect, source: TableSource): Routing {
  const terms: RouteTerm[] = []
  const rest: BoundExpression[] = []
  for (const condition of where === undefined ? [] : conjuncts(where)) {
    const term = routeTerm(condition, source)
    if (term === undefined) rest.push(condition)
    else terms.push(term)
  }
  const evaluated = [...rest, ...outputs.map(({ expression }) => expression)]
  if (terms.length === 0 || !evaluated.every(cannotFail)) return { terms: [], where }
  return { terms, where: combineConditions(...rest) }
}

/** Types whose equal values have equal texts. */
const ROUTE_TYPES: ReadonlySet<TypeKind> = new Set([
  'Text',
  'Integer',
  'Decimal',
  'Boolean',
  'Timestamp',
  'Date',
  'Uuid',
])

function routeTerm(condition: BoundExpression, { id }: TableSource): RouteTerm | undefined {
  if (condition.kind !== 'compare' || condition.operator !== '=') return undefined
  const { left, right } = condition
  const [column, value] = left.kind === 'column' ? [left, right] : [right, left]
  if (column.kind !== 'column' || column.source !== id) return undefined
  if (value.kind !== 'literal' && value.kind !== 'parameter') return undefined
  return ROUTE_TYPES.has(column.type.kind) && isSameForm(column.type, value.type) ? { column, value } : undefined
}

function isSameForm(a: IqlType, b: IqlType): boolean {
  return a.kind === b.kind && (a.kind !== 'Decimal' || b.kind !== 'Decimal' || a.scale === b.scale)
}

export function routeColumns(terms: readonly RouteTerm[]): ResultColumn[] {
  return terms.map(({ column: { name, type, nullable } }) => ({ name, type, nullable }))
}

export function createFamily({ terms, ...parts }: FamilyParts): LiveFamily {
  const columns = routeColumns(terms)
  const writers = {
    numbers: liveKeyWriter(columns, { integers: 'numbers' }),
    strings: liveKeyWriter(columns, { integers: 'strings' }),
  }
  return {
    ...parts,
    columns: columns.map(({ name }) => name),
    findRoute({ parameters }, { integers }) {
      const cells = terms.map(({ value }) => {
        const given = value.kind === 'literal' ? value.value : (parameters[value.index] ?? null)
        return toCell(given, value.type)
      })
      return cells.includes(null) ? undefined : writers[integers](cells)
    },
  }
}

function toCell(value: IqlValue, type: IqlType): Cell {
  if (value === null || typeof value === 'boolean') return value
  return type.kind === 'Integer' && typeof value === 'bigint' ? value : writeValue(type, value)
}
