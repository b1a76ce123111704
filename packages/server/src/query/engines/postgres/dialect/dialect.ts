/** The SQL dialect of PostgreSQL. */
import {
  asDecimal,
  type IqlType,
  isLongType,
  type Like,
  type SetOperation,
  storedName,
  type TableFunctionId,
  type TableView,
  TEXT,
} from 'gatehouse-iql'
import { formerOutputs, LOG_OP, logName } from '../../change-log.ts'
import { type AsofParts, type Dialect, quoteIdentifier, type Sql } from '../../emit/dialect.ts'
import type { Placeholders, ScalarBindable } from '../../emit/parameters.ts'
import { columnType, SCHEMA, sqlType, toPostgres } from '../representation.ts'
import { POSTGRES_AGGREGATES, POSTGRES_WINDOWS, percentileSql } from './aggregates.ts'
import { castSql } from './casts.ts'
import { POSTGRES_OPERATORS } from './operators.ts'
import { firstChanges, loggedSince } from './positions.ts'
import { POSTGRES_SCALARS } from './scalars.ts'
import { checkedPattern, foldedFor, POSTGRES_SEARCHES } from './searches.ts'
import { systemTableSql } from './system-tables.ts'
import { concatSql, POSTGRES_GROWING, stringAggSql } from './texts.ts'

export const POSTGRES: Dialect = {
  identifier: quoteIdentifier,
  tableName: (table) => `${SCHEMA}.${quoteIdentifier(storedName(table))}`,
  systemTable: systemTableSql,
  changedKeys: changedKeysSql,
  formerRows: formerRowsSql,
  loggedRows: loggedRowsSql,
  isUnchanged: (key, changedKeys) => {
    const names = key.map((_sql, index) => `k${index}`).join(', ')
    return `NOT EXISTS (SELECT FROM (${changedKeys}) AS changed (${names}) WHERE (${names}) = (${key.join(', ')}))`
  },
  bulkRows: 'b WHERE TRUE ORDER BY b.n',
  aliasesTargets: true,
  keepsParameters: false,
  keyFits: (value, _type, column, maxBytes) =>
    `${SCHEMA}.gh_key_fits(${value}, ${maxBytes}, '${column.replaceAll("'", "''")}')`,
  textFits: (column, maxBytes) => `${SCHEMA}.gh_text_fits(${column}, ${maxBytes})`,
  groupFits: (value, maxBytes) =>
    `(CASE WHEN octet_length(${value}) > ${maxBytes} THEN ${SCHEMA}.gh_group_fits(${value}, ${maxBytes}) ELSE ${value} END)`,
  listFits: listFitsSql,
  // PostgreSQL 18 does not count the memory of values of a single column that it sorts: see tuplesort_putdatum.
  sortKey: '(random() < 0)',
  rowFits: (length, maxBytes) => `${SCHEMA}.gh_row_fits(${length}, ${maxBytes})`,
  fence: 'OFFSET 0',
  value: (placeholder, type) => typed(placeholder, type),
  later: (value) => `${SCHEMA}.gh_later(${value})`,
  typedNull: (type) => typed('NULL', type),
  truth: (value) => (value ? 'TRUE' : 'FALSE'),
  widen: widenSql,
  fit: (operand, _from, to) => (to.kind === 'Decimal' ? `(${operand}::${columnType(to)})` : operand),
  cast: castSql,
  negate: (operand) => `(-${operand})`,
  like: likeSql,
  isIn: (operand, placeholder) =>
    `(${operand} IN (SELECT j.v COLLATE "C" FROM jsonb_array_elements_text(${placeholder}::jsonb) AS j(v)))`,
  list: (values, type) => {
    return `{${values.map((value) => arrayItem(toPostgres(value, type))).join()}}`
  },
  inList: (operand, placeholder, type, negated) => {
    const array = `${placeholder}::${sqlType(type)}[]`
    const items = type.kind === 'Text' ? `(${array} COLLATE "C")` : array
    return `(${operand} ${negated ? '<> ALL' : '= ANY'} (${items}))`
  },
  operators: POSTGRES_OPERATORS,
  concat: concatSql,
  scalars: POSTGRES_SCALARS,
  growing: POSTGRES_GROWING,
  searches: POSTGRES_SEARCHES,
  aggregates: POSTGRES_AGGREGATES,
  percentile: percentileSql,
  stringAgg: stringAggSql,
  windows: POSTGRES_WINDOWS,
  distance: (distance, { kind }) => (kind === 'Integer' ? String(distance) : `interval '${distance} microseconds'`),
  series: seriesSql,
  zone: (placeholder) => `${placeholder('transitions')}::bigint[], ${placeholder('offsets')}::bigint[]`,
  scalarQuery: (query) => `(${query})`,
  setOperation: setSql,
  loneGroup: (output) => output,
  asof: asofSql,
  // The column's NOT NULL constraint checks it.
  required: (operand) => operand,
}

/** The count is evaluated only for its errors. Months are counted from the start, because its day may not exist in every month. */
function seriesSql(kind: TableFunctionId, start: Sql, stop: Sql, step: Sql, zone?: Sql): Sql {
  const given = `(SELECT ${start} AS b, ${stop} AS e, ${step} AS s) AS a`
  switch (kind) {
    case 'generate_series':
      return `(SELECT i AS c0 FROM ${given}, generate_series(b, ${checkedStop('b', 'e')}, s) AS g (i))`
    case 'generate_series_time': {
      const [b, e] = [`${SCHEMA}.gh_micros(b)`, `${SCHEMA}.gh_micros(e)`]
      const day = `(date '0001-01-01' + ((i + 62135596800000000) / 86400000000)::int)`
      const value = `${day} + interval '1 microsecond' * ((i + 62135596800000000) % 86400000000)`
      return `(SELECT ${value} AS c0 FROM ${given}, generate_series(${b}, ${checkedStop(b, e)}, s) AS g (i))`
    }
    case 'generate_series_months':
      return `(SELECT b + ${SCHEMA}.gh_times(s, i) AS c0 FROM ${given}, generate_series(0, ${SCHEMA}.gh_series_months(b, e, s)) AS g (i))`
    case 'generate_series_zone':
    case 'generate_series_months_zone':
      return `(SELECT c0 FROM ${given}, ${SCHEMA}.gh_zone_series(s, b, e, ${zone}) AS g (c0))`
    case 'bucket_series':
    case 'bucket_series_months':
      return `(SELECT c0 FROM ${given}, ${SCHEMA}.gh_zone_buckets(s, b, e, ${zone}) AS g (c0))`
  }
}

function checkedStop(start: Sql, stop: Sql): Sql {
  return `CASE WHEN ${SCHEMA}.gh_series(${start}, ${stop}, s) IS NOT NULL THEN ${stop} END`
}

function changedKeysSql(table: TableView, placeholders: Placeholders): Sql {
  return loggedSince(`${SCHEMA}.${logName(storedName(table))}`, logKeys(table), sincePlaceholder(table, placeholders))
}

/** The first change since then has the row before it. */
function formerRowsSql(table: TableView, placeholders: Placeholders): Sql {
  const first = firstChanges(storedName(table), table.primaryKey.length, sincePlaceholder(table, placeholders))
  return `SELECT ${formerOutputs(table, quoteIdentifier)} FROM (${first}) AS first WHERE kept`
}

function loggedRowsSql(table: TableView, placeholders: Placeholders): Sql {
  const log = `${SCHEMA}.${logName(storedName(table))}`
  const changes = loggedSince(log, '*', sincePlaceholder(table, placeholders))
  const outputs = formerOutputs(table, quoteIdentifier)
  return `SELECT ${outputs} FROM (${changes}) AS c WHERE op NOT IN (${LOG_OP.insert}, ${LOG_OP.became})`
}

function sincePlaceholder(table: TableView, placeholders: Placeholders): Sql {
  return placeholders.of({ kind: 'since', table: storedName(table) }, TEXT)
}

function logKeys({ primaryKey }: TableView): Sql {
  return primaryKey.map((_column, index) => `k${index}`).join(', ')
}

/** Text has an explicit collation, so that comparisons are by code point, independent of the database's default. */
function typed(value: Sql, type: IqlType): Sql {
  const cast = `${value}::${sqlType(type)}`
  return type.kind === 'Text' || type.kind === 'Json' ? `(${cast} COLLATE "C")` : `(${cast})`
}

/** An item of an array in the text form of PostgreSQL. */
function arrayItem(value: ScalarBindable): string {
  if (value === null) return 'NULL'
  const text = String(value)
  return `"${/["\\]/.test(text) ? text.replaceAll(/["\\]/g, '\\$&') : text}"`
}

function widenSql(operand: Sql, from: IqlType, to: IqlType): Sql {
  if (from.kind === 'Interval' && to.kind === 'Interval') {
    return to.months && !from.months ? `${SCHEMA}.gh_interval(${operand})` : operand
  }
  if (to.kind === 'Double' && from.kind !== 'Null') return castSql(operand, from, to)
  if (asDecimal(to) === undefined || from.kind === 'Null') return typed(operand, to)
  return `(${operand}::${sqlType(to)})`
}

function likeSql(operand: Sql, pattern: Sql, escapeSql: Sql | undefined, node: Like): Sql {
  const [checked, by] = checkedPattern(pattern, escapeSql, node)
  return `(${foldedFor(node, operand)} LIKE ${checked} ESCAPE ${by})`
}

/** INTERSECT and EXCEPT as groups, which go to disk when they are many: PostgreSQL would hold all rows of one side in memory. */
function setSql(left: Sql, right: Sql, { operator, all, columns }: SetOperation): Sql {
  if (operator === 'union')
    return `SELECT * FROM (${left}) AS l UNION${all ? ' ALL' : ''} SELECT * FROM (${right}) AS r`
  const names = columns.map((_column, ordinal) => `c${ordinal}`).join(', ')
  const rows = `(SELECT *, 0 AS side FROM (${left}) AS l UNION ALL SELECT *, 1 FROM (${right}) AS r) AS u`
  const isBoth = operator === 'intersect'
  if (!all)
    return `SELECT ${names} FROM ${rows} GROUP BY ${names} HAVING max(side) = ${isBoth ? '1 AND min(side) = 0' : '0'}`
  const counts = ['0', '1'].map((side) => `count(*) FILTER (WHERE side = ${side}) AS n${side}`)
  const groups = `(SELECT ${names}, ${counts.join(', ')} FROM ${rows} GROUP BY ${names}) AS g`
  return `SELECT ${names} FROM ${groups}, generate_series(1, ${isBoth ? 'least(n0, n1)' : 'n0 - n1'})`
}

/** The memory of a value in the list, without its bytes. */
const ITEM_BYTES = 64

function listFitsSql(query: Sql, type: IqlType, maxBytes: number): Sql {
  const bytes = isLongType(type) ? `${ITEM_BYTES} + coalesce(octet_length(c0), 0)` : `${ITEM_BYTES}`
  const counted = `SELECT c0, sum(${bytes}) OVER (ROWS UNBOUNDED PRECEDING) AS held FROM (${query}) AS q`
  return `SELECT c0 FROM (${counted}) AS q WHERE held <= ${maxBytes} OR ${SCHEMA}.gh_list_fits(held, ${maxBytes})`
}

function asofSql({ outer, left, right, id, condition, order }: AsofParts): { from: Sql; with: readonly Sql[] } {
  const closest = `SELECT * FROM ${right} AS s${id} WHERE ${condition} ORDER BY ${order} LIMIT 1`
  return { from: `${left} ${outer ? 'LEFT JOIN' : 'JOIN'} LATERAL (${closest}) AS s${id} ON TRUE`, with: [] }
}
