/**
 * Which parts of a licensed table a statement can show: a query that compares the column of the products with values shows rows of these
 * only, and so uses their products only.
 */
import {
  type BoundBody,
  type BoundExpression,
  type BoundQuery,
  type BoundSelect,
  conjuncts,
  type IqlValue,
  type Source,
  walkQuery,
} from 'gatehouse-iql'
import type { TableNeed } from 'gatehouse-protocol'
import { findAccess, type TableAccess } from '../catalogue/licences.ts'
import type { Planned } from './planner.ts'

type LicensedPlan = Pick<Planned, 'bound' | 'licensed' | 'autoParameters' | 'literals'>

/** Of the licensed tables of a plan, with the values of its parameters. */
export function findNeeds(planned: LicensedPlan, values: readonly IqlValue[]): TableNeed[] {
  const { statement, tables } = planned.bound
  return planned.licensed.map(({ table }) => {
    const access = tables.map(findAccess).find((found) => found?.table === table)
    const parts =
      access === undefined || statement.kind !== 'query' ? undefined : findParts(statement, access, planned, values)
    return { table, parts }
  })
}

function ascending(one: number, other: number): number {
  return one - other
}

/** Undefined: it may show all of them. */
function findParts(
  query: BoundQuery,
  access: TableAccess,
  planned: LicensedPlan,
  values: readonly IqlValue[],
): number[] | undefined {
  if (access.column === undefined) return undefined
  const found = new Set<number>()
  /** The queries of a table that is read as of several times: the conditions are those of the query around them. */
  const inner = new Set<BoundBody>()
  for (const part of walkQuery(query)) {
    if (part.kind !== 'query') continue
    for (const select of listSelects(part.query.body)) {
      if (inner.has(select)) continue
      for (const source of listSources(select.from, access, inner)) {
        const named = source.isRestricted ? namedValues(select, source.id, access, planned, values) : undefined
        if (named === undefined) return undefined
        for (const value of named) if (value !== null) found.add(partFor(access, value))
      }
    }
  }
  return [...found].sort(ascending)
}

function listSelects(body: BoundBody): BoundSelect[] {
  switch (body.kind) {
    case 'select':
      return [body]
    case 'set':
      return [...listSelects(body.left), ...listSelects(body.right)]
    case 'query':
      // It is walked by itself.
      return []
  }
}

interface LicensedSource {
  readonly id: number
  /** Whether rows that WHERE leaves out have no effect on others. */
  readonly isRestricted: boolean
}

function listSources(
  source: Source | undefined,
  access: TableAccess,
  inner: Set<BoundBody>,
  isRestricted = true,
): LicensedSource[] {
  switch (source?.kind) {
    case 'table':
      return findAccess(source.table) === access ? [{ id: source.id, isRestricted }] : []
    case 'derived': {
      const selects = listSelects(source.query.body)
      const isOfTimes =
        selects.length > 1 &&
        selects.every(({ from }) => from?.kind === 'table' && findAccess(from.table) === access && isPlain(selects))
      if (!isOfTimes) return []
      for (const select of selects) inner.add(select)
      return [{ id: source.id, isRestricted }]
    }
    case 'join':
      return [
        ...listSources(source.left, access, inner, isRestricted),
        ...listSources(source.right, access, inner, isRestricted),
      ]
    // The closest row is found before WHERE leaves it out.
    case 'asof':
      return [
        ...listSources(source.left, access, inner, isRestricted),
        ...listSources(source.right, access, inner, false),
      ]
    default:
      return []
  }
}

function isPlain(selects: readonly BoundSelect[]): boolean {
  return selects.every(({ where, grouped, distinct }) => where === undefined && !grouped && !distinct)
}

/** The values of the column that its WHERE names; undefined if it names none. */
function namedValues(
  { where }: BoundSelect,
  id: number,
  access: TableAccess,
  planned: LicensedPlan,
  values: readonly IqlValue[],
): IqlValue[] | undefined {
  const isColumn = (node: BoundExpression): boolean =>
    node.kind === 'column' && node.source === id && node.name.toLowerCase() === access.column?.toLowerCase()
  for (const condition of conjuncts(where)) {
    const items =
      condition.kind === 'compare' && condition.operator === '='
        ? isColumn(condition.left)
          ? [condition.right]
          : isColumn(condition.right)
            ? [condition.left]
            : undefined
        : condition.kind === 'in-list' && !condition.negated && isColumn(condition.operand)
          ? condition.items
          : undefined
    const named = items?.map((item) => readValue(item, planned, values))
    if (named?.every((value) => value !== undefined)) return named
  }
  return undefined
}

/** Of a type whose values are equal if their texts are. */
function readValue(
  node: BoundExpression,
  { autoParameters, literals }: LicensedPlan,
  values: readonly IqlValue[],
): IqlValue | undefined {
  if (node.type.kind !== 'Text' && node.type.kind !== 'Integer') return undefined
  if (node.kind === 'parameter') return values[node.index]
  if (node.kind !== 'literal') return undefined
  const place = autoParameters.findIndex(({ index }) => index === node.written?.index)
  return place === -1 ? node.value : literals[place]
}

function partFor({ parts }: TableAccess, value: IqlValue): number {
  const isNamed = (known: string | number): boolean => String(known) === String(value)
  const place = parts.findIndex(({ rows }) => rows.kind === 'in' && rows.values.some(isNamed))
  return place === -1 ? parts.findIndex(({ rows }) => rows.kind !== 'in') : place
}
