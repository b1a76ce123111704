/** Emits bound writes as SQL. Defaults are written out, because SQLite has no DEFAULT in VALUES. */
import {
  type Assignment,
  type BoundExpression,
  type ColumnView,
  type DefaultValue,
  type Delete,
  type Insert,
  isLongType,
  type TableView,
  type Update,
} from 'gatehouse-iql'
import type { Dialect, RowTracking, Sql } from './dialect.ts'
import { type Emission, emitExpression } from './emission.ts'
import { findingConditions } from './finding-conditions.ts'
import { emitQuery } from './query.ts'
import { emitTextsFit, limitedValue, rowLengthCheck } from './text-limits.ts'

/** What the catalogue knows of columns beyond a TableView. */
export interface ColumnFacts {
  /** A column's default as a bound expression; undefined when it has none. */
  findDefault(table: TableView, column: string): BoundExpression | undefined
  /** The most bytes of a value; undefined if only the limit of all texts applies. */
  keyLimit(table: TableView, column: string): number | undefined
}

/**
 * For a table with a row filter or checks, the result has one more column, the verdict on the written row. When a row could be changed
 * twice, a last column tracks the row.
 */
export function emitInsert(insert: Insert, emission: Emission, facts: ColumnFacts, isBounded: boolean): Sql {
  const { table } = insert
  const { dialect } = emission
  addTarget(table, insert.source, emission)
  const columns = writtenColumns(insert)
  const valueFor = (column: ColumnView, value: BoundExpression | DefaultValue | undefined): Sql =>
    emitValue(table, column, value, emission, facts)
  let rows: Sql
  if (insert.rows.kind === 'values') {
    const lines = insert.rows.rows.map((row) => columns.map((column, index) => valueFor(column, row[index])).join(', '))
    rows = emission.bulk?.fromTable
      ? `SELECT ${lines[0]} FROM ${dialect.bulkRows}`
      : lines.map((line) => `(${line})`).join(', ')
  } else {
    const query = emitQuery(insert.rows.query, emission)
    const outputs = columns.map((column, index) => {
      if (index >= insert.columns.length) return valueFor(column, undefined)
      const source = insert.rows.kind === 'query' ? insert.rows.query.columns[index] : undefined
      const value = limitedValue(`q.c${index}`, undefined, column, facts.keyLimit(table, column.name), emission)
      return required(value, column, source?.nullable ?? true, emission)
    })
    rows = `SELECT ${outputs.join(', ')} FROM (${query}) AS q WHERE ${dialect.truth(true)}`
  }
  const conflict = emitConflict(insert, emission, facts, isBounded)
  const values = insert.rows.kind === 'values' && !emission.bulk?.fromTable ? 'VALUES ' : ''
  return `${insertHead(insert, dialect)}${values}${rows}${conflict}${emitReturning(insert, insert, emission, findRowTracking(insert, dialect)?.track)}`
}

/** The text before the rows. */
function insertHead(insert: Insert, dialect: Dialect): Sql {
  const names = writtenColumns(insert).map(({ name }) => dialect.identifier(name))
  return `INSERT INTO ${writeTarget(insert.table, insert.source, dialect)} (${names.join(', ')}) `
}

/** The columns that the statement names, then those with a default. */
function writtenColumns({ table, columns }: Insert): readonly ColumnView[] {
  const given = new Set(columns.map(({ name }) => name))
  return [...columns, ...table.columns.filter(({ name, hasDefault }) => hasDefault && !given.has(name))]
}

/** Undefined when no row can be changed twice, or when the database checks it. */
export function findRowTracking({ onConflict, rows, table }: Insert, dialect: Dialect): RowTracking | undefined {
  const isMany = rows.kind === 'query' || rows.rows.length > 1
  return onConflict?.kind === 'update' && isMany ? dialect.rowTracking?.(table) : undefined
}

export function emitUpdate(update: Update, emission: Emission, facts: ColumnFacts, isBounded: boolean): Sql {
  const target = emitTarget(update.table, update.source, emission)
  const set = emitAssignments(update.table, update.set, emission, facts)
  const guard = isBounded ? emitShortRow(update, MAX_ROW_BYTES, emission) : undefined
  const where = emitCondition(update, update.where, emission, guard)
  return `UPDATE ${target} SET ${set}${where}${emitReturning(update, update, emission)}`
}

export function emitDelete(node: Delete, emission: Emission, isBounded: boolean): Sql {
  const target = emitTarget(node.table, node.source, emission)
  const guard = isBounded ? emitShortRow(node, MAX_ROW_BYTES, emission) : undefined
  const where = emitCondition(node, node.where, emission, guard)
  return `DELETE FROM ${target}${where}${emitReturning(node, undefined, emission)}`
}

/** The longest row that may be changed on the event loop: by a write of one row, and for each row of a write of several. */
const MAX_ROW_BYTES = 1024 * 1024
const MAX_EACH_ROW_BYTES = 16 * 1024

/** Undefined where no value of a row can be long, or the database does not need it. */
function emitShortRow(
  { table, source }: Pick<Update | Delete | Insert, 'table' | 'source'>,
  maxBytes: number,
  { dialect, sources }: Emission,
): Sql | undefined {
  const findColumn = sources.get(source)
  const columns = table.columns.flatMap(({ name, type }, ordinal) =>
    findColumn !== undefined && isLongType(type) ? [findColumn(ordinal, name)] : [],
  )
  return columns.length === 0 ? undefined : dialect.shortRow?.(columns, maxBytes)
}

function emitCondition(
  { table, source }: Pick<Update | Delete | Insert, 'table' | 'source'>,
  where: BoundExpression | undefined,
  emission: Emission,
  guard: Sql | undefined,
): Sql {
  const condition = where === undefined ? undefined : emitFiltered(table, source, where, emission)
  const conditions = [guard, emitTextsFit(source, emission), condition].filter((sql) => sql !== undefined)
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}

/**
 * The binder puts the row filter first. Only CASE keeps an engine from evaluating the other conditions on a hidden row; those that may see one
 * find the rows.
 */
function emitFiltered(table: TableView, source: number, where: BoundExpression, emission: Emission): Sql {
  if (table.rowFilter === undefined || where.kind !== 'logic') return emitExpression(where, emission)
  const [filter, ...rest] = where.operands
  if (filter === undefined || rest.length === 0) return emitExpression(where, emission)
  const emitAll = (conditions: readonly BoundExpression[]) =>
    conditions.map((condition) => emitExpression(condition, emission))
  const finding = rest.flatMap((condition) => findingConditions(condition, source))
  const otherwise = emission.dialect.truth(false)
  const checked = `CASE WHEN ${emitAll([filter])} THEN ${emitAll(rest).join(' AND ')} ELSE ${otherwise} END`
  return [...emitAll(finding), checked].join(' AND ')
}

type Checks = Pick<Insert, 'check' | 'constraints'>

/** Whether the result has a verdict. */
export function isChecked({ check, constraints }: Checks): boolean {
  return check !== undefined || constraints.length > 0
}

/**
 * -1 for a row that may be written, 0 for one that the row filter hides, otherwise the number of the constraint that it violates. The row
 * filter also hides rows that are not licensed, and comes after these.
 */
function emitVerdict({ check, constraints }: Checks, emission: Emission): Sql {
  const violations = (isLicence: boolean): Sql[] =>
    constraints.flatMap(({ condition, missing }, index) =>
      (missing !== undefined) === isLicence
        ? `WHEN NOT (${emitExpression(condition, emission)}) THEN ${index + 1}`
        : [],
    )
  const cases = violations(true)
  if (check !== undefined) {
    const passes = `coalesce(${emitExpression(check, emission)}, ${emission.dialect.truth(false)})`
    cases.push(`WHEN NOT ${passes} THEN 0`)
  }
  return `CASE ${[...cases, ...violations(false)].join(' ')} ELSE -1 END`
}

/** SQLite's RETURNING accepts only the table's own name, PostgreSQL's also the alias. */
function emitTarget(table: TableView, source: number, emission: Emission): Sql {
  addTarget(table, source, emission)
  return writeTarget(table, source, emission.dialect)
}

function addTarget(table: TableView, source: number, { dialect, sources }: Emission): void {
  const qualifier = dialect.aliasesTargets ? `s${source}` : dialect.identifier(table.name)
  sources.set(source, (_ordinal, name) => `${qualifier}.${dialect.identifier(name)}`)
}

function writeTarget(table: TableView, source: number, dialect: Dialect): Sql {
  return dialect.aliasesTargets ? `${dialect.tableName(table)} AS s${source}` : dialect.tableName(table)
}

function emitConflict(insert: Insert, emission: Emission, facts: ColumnFacts, isBounded: boolean): Sql {
  const { onConflict, table, rows } = insert
  if (onConflict === undefined) return ''
  const { dialect } = emission
  const target = onConflict.target.length === 0 ? '' : ` (${onConflict.target.map(dialect.identifier).join(', ')})`
  if (onConflict.kind === 'nothing') return ` ON CONFLICT${target} DO NOTHING`
  emission.sources.set(onConflict.excluded, (_ordinal, name) => `excluded.${dialect.identifier(name)}`)
  const set = emitAssignments(table, onConflict.set, emission, facts)
  const isMany = rows.kind === 'query' || rows.rows.length > 1
  const guard = isBounded ? emitShortRow(insert, isMany ? MAX_EACH_ROW_BYTES : MAX_ROW_BYTES, emission) : undefined
  const where = emitCondition(insert, onConflict.where, emission, guard)
  const refuseTracked = findRowTracking(insert, dialect)?.refuseTracked
  if (refuseTracked === undefined) return ` ON CONFLICT${target} DO UPDATE SET ${set}${where}`
  const condition = where === '' ? dialect.truth(true) : where.slice(' WHERE '.length)
  return ` ON CONFLICT${target} DO UPDATE SET ${set} WHERE CASE WHEN ${refuseTracked} THEN ${condition} END`
}

function emitAssignments(table: TableView, set: readonly Assignment[], emission: Emission, facts: ColumnFacts): Sql {
  return set
    .map(
      ({ column, value }) =>
        `${emission.dialect.identifier(column.name)} = ${emitValue(table, column, value, emission, facts)}`,
    )
    .join(', ')
}

function emitValue(
  table: TableView,
  column: ColumnView,
  value: BoundExpression | DefaultValue | undefined,
  emission: Emission,
  facts: ColumnFacts,
): Sql {
  const expression = value === undefined || value.kind === 'default' ? facts.findDefault(table, column.name) : value
  if (expression === undefined) return required(emission.dialect.typedNull(column.type), column, true, emission)
  const limit = facts.keyLimit(table, column.name)
  const given = limitedValue(emitExpression(expression, emission), expression, column, limit, emission)
  const isFilled = expression.kind === 'parameter' && fillsDefault(column, emission)
  const fallback = isFilled ? facts.findDefault(table, column.name) : undefined
  const sql = fallback === undefined ? given : `coalesce(${given}, ${emitExpression(fallback, emission)})`
  // A bulk insert has checked its values when they were spooled.
  const isSpooled = emission.bulk !== undefined && expression.kind === 'parameter' && fallback === undefined
  return required(sql, column, expression.nullable && !isSpooled, emission)
}

function fillsDefault({ nullable }: ColumnView, { bulk }: Emission): boolean {
  return bulk?.fillsDefaults === 'always' || (bulk?.fillsDefaults === 'required' && !nullable)
}

/** SQLite would choose a number for an INTEGER PRIMARY KEY that is NULL. */
function required(value: Sql, column: ColumnView, mayBeNull: boolean, emission: Emission): Sql {
  return mayBeNull && !column.nullable ? emission.dialect.required(value, column.name, column.type) : value
}

function emitReturning(
  { returning, source }: Pick<Insert | Update | Delete, 'returning' | 'source'>,
  checks: Checks | undefined,
  emission: Emission,
  track?: Sql,
): Sql {
  const outputs = returning.map(({ expression }) => emitExpression(expression, emission))
  const length = rowLengthCheck(
    returning.map(({ expression: { type } }, index) => ({ sql: outputs[index] ?? '', type })),
    emission.dialect,
  )
  // The new texts may be longer than the old ones.
  const fits = [emitTextsFit(source, emission), length].filter((condition) => condition !== undefined)
  if (outputs.length > 0 && fits.length > 0) outputs[0] = `CASE WHEN ${fits.join(' AND ')} THEN ${outputs[0]} END`
  if (checks !== undefined && isChecked(checks)) outputs.push(emitVerdict(checks, emission))
  if (track !== undefined) outputs.push(track)
  return outputs.length === 0 ? '' : ` RETURNING ${outputs.join(', ')}`
}
