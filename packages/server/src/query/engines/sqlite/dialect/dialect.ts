/** The SQL dialect of SQLite. */
import {
  type IqlType,
  isWide,
  MICROS_PER_DAY,
  type SetOperation,
  storedName,
  type TableFunctionId,
  type TableView,
  TEXT,
} from 'gatehouse-iql'
import { formerOutputs, LOG_OP, logName } from '../../change-log.ts'
import { type AsofParts, type Dialect, freeName, quoteIdentifier, SET_OPERATORS, type Sql } from '../../emit/dialect.ts'
import type { Placeholders } from '../../emit/parameters.ts'
import { percentileSql, SQLITE_AGGREGATES, SQLITE_WINDOWS, sumOfProductsSql } from './aggregates.ts'
import { castSql, rescale } from './casts.ts'
import { likeSql } from './like.ts'
import { SQLITE_OPERATORS } from './operators.ts'
import { SQLITE_PART_GROUPS } from './part-groups.ts'
import { rowId } from './row-id.ts'
import { SQLITE_SCALARS, SQLITE_SEARCHES } from './scalars.ts'
import { systemTableSql } from './system-tables.ts'
import { concatSql, SQLITE_GROWING, stringAggSql } from './texts.ts'

export const SQLITE: Dialect = {
  identifier: quoteIdentifier,
  tableName: (table) => `main.${quoteIdentifier(storedName(table))}`,
  systemTable: systemTableSql,
  changedKeys: changedKeysSql,
  formerRows: formerRowsSql,
  loggedRows: loggedRowsSql,
  isUnchanged: (key, changedKeys) => `(${key.join(', ')}) NOT IN (${changedKeys})`,
  // The file is attached as `spool`: see write/bulk-job.ts.
  bulkRows: 'spool.b AS b WHERE b.rowid BETWEEN @first AND @last ORDER BY b.rowid',
  aliasesTargets: false,
  keepsParameters: true,
  fence: 'LIMIT -1',
  value: (placeholder) => placeholder,
  fixed: (value) => `(SELECT ${value})`,
  rowTracking: ({ name, columns }) => {
    const row = `${quoteIdentifier(name)}.${rowId(columns.map((column) => column.name)) ?? 'rowid'}`
    return { refuseTracked: `gh_untracked(${row})`, track: `gh_track(${row})` }
  },
  shortRow: (longColumns, maxBytes) => {
    // The length is known from the header of the row.
    const bytes = longColumns.map((column) => `ifnull(octet_length(${column}), 0)`).join(' + ')
    return `iif(${bytes} > ${maxBytes}, gh_long_row(), 1)`
  },
  keyFits: (value, _type, column, maxBytes) => `gh_key_fits(${value}, ${maxBytes}, '${column.replaceAll("'", "''")}')`,
  rowFits: (length, maxBytes) => `(${length} <= ${maxBytes} OR gh_row_too_long(${maxBytes}))`,
  typedNull: () => 'NULL',
  truth: (value) => (value ? '1' : '0'),
  widen: (operand, from, to) => {
    if (from.kind === 'Null') return operand
    if (to.kind === 'Double') return castSql(operand, from, to)
    return to.kind === 'Decimal' ? rescale(operand, from, to, 'round') : operand
  },
  fit: (operand, from, to) => (to.kind === 'Decimal' ? rescale(operand, from, to, 'round') : operand),
  cast: castSql,
  negate: negateSql,
  like: likeSql,
  isIn: (operand, placeholder) => `(${operand} IN (SELECT value FROM json_each(${placeholder})))`,
  list: (values) =>
    `[${values.map((value) => (typeof value === 'string' ? JSON.stringify(value) : String(value))).join()}]`,
  inList: (operand, placeholder, _type, negated) =>
    `(${operand} ${negated ? 'NOT ' : ''}IN (SELECT value FROM json_each(${placeholder})))`,
  operators: SQLITE_OPERATORS,
  concat: concatSql,
  scalars: SQLITE_SCALARS,
  growing: SQLITE_GROWING,
  searches: SQLITE_SEARCHES,
  aggregates: SQLITE_AGGREGATES,
  sumOfProducts: sumOfProductsSql,
  partGroups: SQLITE_PART_GROUPS,
  percentile: percentileSql,
  stringAgg: stringAggSql,
  windows: SQLITE_WINDOWS,
  distance: (distance, { kind }) => String(kind === 'Date' ? distance / MICROS_PER_DAY : distance),
  series: seriesSql,
  zone: (placeholder) => placeholder('name'),
  scalarQuery: (query) => `(SELECT gh_single(c0) FROM (${query}))`,
  setOperation: setSql,
  // An aggregate makes SQLite form one group.
  loneGroup: (output) => `CASE WHEN count(*) >= 0 THEN ${output} END`,
  asof: asofSql,
  // Calling one of our functions costs more than the rest of a small insert: it is called only to raise the error.
  required: (operand, column) => `coalesce(${operand}, gh_missing('${column.replaceAll("'", "''")}'))`,
}

/** The text of a position begins with the number of a log row. */
function changedKeysSql(table: TableView, placeholders: Placeholders): Sql {
  return `SELECT ${logKeys(table)} FROM ${loggedSince(table, placeholders)}`
}

/** The first change since then has the row before it. */
function formerRowsSql(table: TableView, placeholders: Placeholders): Sql {
  const first = `SELECT min(seq) FROM ${loggedSince(table, placeholders)} GROUP BY ${logKeys(table)}`
  return `SELECT ${formerOutputs(table, quoteIdentifier)} FROM main.${logName(storedName(table))} WHERE seq IN (${first}) AND kept = 1`
}

function loggedRowsSql(table: TableView, placeholders: Placeholders): Sql {
  const outputs = formerOutputs(table, quoteIdentifier)
  return `SELECT ${outputs} FROM ${loggedSince(table, placeholders)} AND op <> ${LOG_OP.insert}`
}

function loggedSince(table: TableView, placeholders: Placeholders): Sql {
  const name = storedName(table)
  const since = placeholders.of({ kind: 'since', table: name }, TEXT)
  return `main.${logName(name)} WHERE seq > CAST(${since} AS INTEGER)`
}

function logKeys({ primaryKey }: TableView): Sql {
  return primaryKey.map((_column, index) => `k${index}`).join(', ')
}

function negateSql(operand: Sql, type: IqlType): Sql {
  switch (type.kind) {
    case 'Double':
      return `gh_fneg(${operand})`
    case 'Decimal':
      return isWide(type) ? `gh_dneg(${operand}, ${type.precision})` : `(-${operand})`
    case 'Interval':
      return type.months ? `gh_iv_mul(${operand}, -1)` : `gh_int(-${operand})`
    default:
      return `gh_int(-${operand})`
  }
}

/** Each row is the previous one plus the step; months are counted from the start, because its day may not exist in every month. */
function seriesSql(kind: TableFunctionId, start: Sql, stop: Sql, step: Sql, zone?: Sql): Sql {
  if (zone !== undefined) return zoneSeriesSql(kind, start, stop, step, zone)
  const isMonths = kind === 'generate_series_months'
  const given = `SELECT ${start} AS b, ${stop} AS e, ${step} AS s`
  const counted = `SELECT b, s, ${isMonths ? 'gh_series_months' : 'gh_series'}(b, e, s) AS n FROM (${given})`
  if (!isMonths)
    return `(WITH RECURSIVE r (c0, s, n) AS (SELECT b, s, n FROM (${counted}) WHERE n >= 0 UNION ALL SELECT c0 + s, s, n - 1 FROM r WHERE n > 0) SELECT c0 FROM r)`
  return `(WITH RECURSIVE r (k, b, s, n) AS (SELECT 0, b, s, n FROM (${counted}) WHERE n >= 0 UNION ALL SELECT k + 1, b, s, n FROM r WHERE k < n) SELECT gh_ts_add(b, gh_iv_mul(s, k), 1) AS c0 FROM r)`
}

/** gh_zone_step is NULL where a local date that the zone has skipped would repeat a time; gh_zone_next after the last bucket. */
function zoneSeriesSql(kind: TableFunctionId, start: Sql, stop: Sql, step: Sql, zone: Sql): Sql {
  const given = `SELECT ${start} AS b, ${stop} AS e, ${step} AS s, ${zone} AS z`
  if (kind === 'bucket_series' || kind === 'bucket_series_months')
    return `(WITH RECURSIVE r (c0, e, s, z, n) AS (SELECT gh_zone_begin(s, b, z, e), e, s, z, 1 FROM (${given}) UNION ALL SELECT gh_zone_next(s, c0, z, e, n), e, s, z, n + 1 FROM r WHERE c0 IS NOT NULL) SELECT c0 FROM r WHERE c0 IS NOT NULL)`
  const counted = `SELECT b, s, z, gh_zone_steps(b, e, s, z) AS n FROM (${given})`
  const rows = `SELECT 0, b, s, z, n FROM (${counted}) WHERE n >= 0 UNION ALL SELECT k + 1, b, s, z, n FROM r WHERE k < n`
  return `(WITH RECURSIVE r (k, b, s, z, n) AS (${rows}) SELECT c0 FROM (SELECT gh_zone_step(b, s, k, z) AS c0 FROM r) WHERE c0 IS NOT NULL)`
}

/** SQLite supports ALL only for UNION. For the others, equal rows are numbered, and the number is an extra column. */
function setSql(left: Sql, right: Sql, { operator, all, columns }: SetOperation): Sql {
  const names = columns.map((_column, ordinal) => `c${ordinal}`).join(', ')
  if (!all || operator === 'union') {
    return `SELECT * FROM (${left}) AS l ${SET_OPERATORS[operator]}${all ? ' ALL' : ''} SELECT * FROM (${right}) AS r`
  }
  const numbered = (query: Sql): Sql =>
    `SELECT ${names}, row_number() OVER (PARTITION BY ${names}) AS n FROM (${query}) AS q`
  return `SELECT ${names} FROM (${numbered(left)} ${SET_OPERATORS[operator]} ${numbered(right)}) AS a`
}

/** SQLite has no LATERAL: a sub-query finds the row identifier of the right row. */
function asofSql({ outer, left, right, isPlainTable, names, id, condition, order }: AsofParts): {
  from: Sql
  with: readonly Sql[]
} {
  const join = outer ? 'LEFT JOIN' : 'JOIN'
  const alias = `s${id}`
  const row = isPlainTable ? rowId(names) : undefined
  if (row !== undefined) {
    const closest = `SELECT ${alias}.${row} FROM ${right} AS ${alias} WHERE ${condition} ORDER BY ${order} LIMIT 1`
    return { from: `${left} ${join} ${right} AS ${alias} ON ${alias}.${row} = (${closest})`, with: [] }
  }
  const number = freeName('n', names)
  const numbered = `a${id} AS MATERIALIZED (SELECT *, row_number() OVER () AS ${number} FROM ${right} AS q)`
  const closest = `SELECT ${alias}.${number} FROM a${id} AS ${alias} WHERE ${condition} ORDER BY ${order} LIMIT 1`
  return { from: `${left} ${join} a${id} AS ${alias} ON ${alias}.${number} = (${closest})`, with: [numbered] }
}
