/** IQL as PostgreSQL says it. */
import type { SetOperation } from '../../iql/bound.ts'
import type { Like } from '../../iql/bound-expression.ts'
import { asDecimal, type IqlType } from '../../iql/types.ts'
import type { AsofParts, Dialect, Sql } from '../emit/dialect.ts'
import { POSTGRES_AGGREGATES, POSTGRES_WINDOWS } from './dialect-aggregates.ts'
import { castSql } from './dialect-casts.ts'
import { POSTGRES_OPERATORS } from './dialect-operators.ts'
import { POSTGRES_SCALARS } from './dialect-scalars.ts'
import { columnType, SCHEMA, sqlType, unicode } from './representation.ts'
import { systemTableSql } from './system-tables.ts'

export const POSTGRES: Dialect = {
  identifier: quoteIdentifier,
  tableName: (table) => `${SCHEMA}.${quoteIdentifier(table.name)}`,
  systemTable: systemTableSql,
  aliasesTargets: true,
  touching: undefined,
  fence: 'OFFSET 0',
  value: (mark, type) => typed(mark, type),
  nullOf: (type) => typed('NULL', type),
  truth: (value) => (value ? 'TRUE' : 'FALSE'),
  widen: widenSql,
  fit: (operand, _from, to) => (to.kind === 'Decimal' ? `(${operand}::${columnType(to)})` : operand),
  cast: castSql,
  negate: (operand) => `(-${operand})`,
  like: likeSql,
  isIn: (operand, mark) =>
    `(${operand} IN (SELECT j.v COLLATE "C" FROM jsonb_array_elements_text(${mark}::jsonb) AS j(v)))`,
  operators: POSTGRES_OPERATORS,
  scalars: POSTGRES_SCALARS,
  aggregates: POSTGRES_AGGREGATES,
  windows: POSTGRES_WINDOWS,
  scalarQuery: (query) => `(${query})`,
  setOperation: setSql,
  loneGroup: (output) => output,
  asof: asofSql,
  // The column's own NOT NULL says so.
  required: (operand) => operand,
}

/** Names match without case, by Unicode: the one spelling that the database knows is the lower-case one. */
export function quoteIdentifier(name: string): Sql {
  return `"${name.toLowerCase().replaceAll('"', '""')}"`
}

/** Text carries its collation, so that every comparison is by code point whatever the database's own is. */
function typed(value: Sql, type: IqlType): Sql {
  const cast = `${value}::${sqlType(type)}`
  return type.kind === 'Text' || type.kind === 'Json' ? `(${cast} COLLATE "C")` : `(${cast})`
}

function widenSql(operand: Sql, from: IqlType, to: IqlType): Sql {
  if (from.kind === 'Interval' && to.kind === 'Interval') {
    return to.months && !from.months ? `${SCHEMA}.gh_interval(${operand})` : operand
  }
  if (asDecimal(to) === undefined || from.kind === 'Null') return typed(operand, to)
  return `(${operand}::${sqlType(to)})`
}

/** Without ESCAPE no character escapes: an empty one says so. */
function likeSql(operand: Sql, pattern: Sql, mark: Sql | undefined, node: Like): Sql {
  const fold = (text: Sql): Sql => (node.ignoreCase ? `lower(${unicode(text)}) COLLATE "C"` : text)
  const by = mark === undefined ? "''" : node.ignoreCase ? fold(mark) : mark
  // PostgreSQL notices a pattern that ends with its escape only when it gets that far.
  const checked = mark === undefined ? fold(pattern) : `(${SCHEMA}.gh_pattern(${fold(pattern)}, ${by}) COLLATE "C")`
  return `(${fold(operand)} LIKE ${checked} ESCAPE ${by})`
}

const SET_WORDS = { union: 'UNION', intersect: 'INTERSECT', except: 'EXCEPT' } as const

function setSql(left: Sql, right: Sql, { operator, all }: SetOperation): Sql {
  return `SELECT * FROM (${left}) AS l ${SET_WORDS[operator]}${all ? ' ALL' : ''} SELECT * FROM (${right}) AS r`
}

function asofSql({ outer, left, right, id, condition, order }: AsofParts): { from: Sql; with: readonly Sql[] } {
  const closest = `SELECT * FROM ${right} AS s${id} WHERE ${condition} ORDER BY ${order} LIMIT 1`
  return { from: `${left} ${outer ? 'LEFT JOIN' : 'JOIN'} LATERAL (${closest}) AS s${id} ON TRUE`, with: [] }
}
