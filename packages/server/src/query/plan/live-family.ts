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
import { claimValue, type EmittedSql, type RunValues } from '../engines/emit/parameters.ts'
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
  findRoute(values: RunValues, encoding: Pick<Encoding, 'integers'>): string | undefined
}

/** SQL with positions of tables among its parameters, and what it returns. */
export interface PositionedSql {
  readonly emitted: EmittedSql
  readonly statement: LiveStatement
}

interface FamilyParts extends Pick<LiveFamily, 'table' | 'changed' | 'former'> {
  readonly terms: readonly RouteTerm[]
}

/** column = value among the conditions of WHERE, or column = value of the caller among those of the row filter. */
export interface RouteTerm {
  readonly column: Column
  readonly value: Value
}

type Value = Extract<BoundExpression, { kind: 'literal' | 'parameter' | 'claim' }>

export interface Routing {
  readonly terms: readonly RouteTerm[]
  /** The conditions that are left. */
  readonly where: BoundExpression | undefined
  /** Those of the row filter. */
  readonly filter: BoundExpression | undefined
}

/**
 * The comparisons that members of a family may differ in. They are left out of the SQL, so that it is evaluated for rows that this
 * statement would not look at: there are none if it could fail on such a row.
 */
export function findRouting({ outputs, where }: BoundSelect, source: TableSource): Routing {
  const given = splitTerms(where, (condition) => routeTerm(condition, source, isGiven))
  const own = splitTerms(source.filter, (condition) => routeTerm(condition, source, isOfCaller))
  const terms = [...given.terms, ...own.terms]
  const evaluated = [...given.rest, ...own.rest, ...outputs.map(({ expression }) => expression)]
  if (terms.length === 0 || !evaluated.every(cannotFail)) return { terms: [], where, filter: source.filter }
  return { terms, where: combineConditions(...given.rest), filter: combineConditions(...own.rest) }
}

function splitTerms(
  conditions: BoundExpression | undefined,
  findTerm: (condition: BoundExpression) => RouteTerm | undefined,
): { readonly terms: readonly RouteTerm[]; readonly rest: readonly BoundExpression[] } {
  const terms: RouteTerm[] = []
  const rest: BoundExpression[] = []
  for (const condition of conditions === undefined ? [] : conjuncts(conditions)) {
    const term = findTerm(condition)
    if (term === undefined) rest.push(condition)
    else terms.push(term)
  }
  return { terms, rest }
}

function isGiven(value: BoundExpression): value is Value {
  return value.kind === 'literal' || value.kind === 'parameter'
}

/** What else a row filter compares is the same for all callers. */
function isOfCaller(value: BoundExpression): value is Value {
  return value.kind === 'claim'
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

function routeTerm(
  condition: BoundExpression,
  { id }: TableSource,
  isValue: (value: BoundExpression) => value is Value,
): RouteTerm | undefined {
  if (condition.kind !== 'compare' || condition.operator !== '=') return undefined
  const { left, right } = condition
  const [column, value] = left.kind === 'column' ? [left, right] : [right, left]
  if (column.kind !== 'column' || column.source !== id) return undefined
  if (!isValue(value)) return undefined
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
    findRoute(run, { integers }) {
      const cells = terms.map(({ value }) => {
        return toCell(routeValue(value, run), value.type)
      })
      return cells.includes(null) ? undefined : writers[integers](cells)
    },
  }
}

function routeValue(value: Value, run: RunValues): IqlValue {
  switch (value.kind) {
    case 'literal':
      return value.value
    case 'parameter':
      return run.parameters[value.index] ?? null
    case 'claim':
      return claimValue(value.claim, run)
  }
}

function toCell(value: IqlValue, type: IqlType): Cell {
  if (value === null || typeof value === 'boolean') return value
  return type.kind === 'Integer' && typeof value === 'bigint' ? value : writeValue(type, value)
}
