/** Binds INSERT, UPDATE and DELETE: rights, columns, values, conflicts and row filters. */

import type * as Bound from '../bound/bound.ts'
import type { BoundExpression, OutputItem } from '../bound/bound-query.ts'
import { conjunction } from '../bound/bound-walk.ts'
import type { ColumnView, TableView } from '../bound/catalogue-view.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import { CLAUSES, type Clause, Scope } from '../scope/scope.ts'
import type { Assignment, DefaultValue, Delete, Insert, OnConflict, Update } from '../syntax/ast.ts'
import type { Expression, Name, SelectItem } from '../syntax/ast-query.ts'
import { firstDuplicate, sameName } from '../syntax/names.ts'
import { bindConstraints } from './check.ts'
import { bindCondition } from './clause.ts'
import { fitColumn } from './fit-column.ts'
import { entry, lookupTarget } from './from.ts'
import { bindInsertFilter, bindRowFilter, bindUnlicensed } from './row-filter.ts'
import { bindItems } from './select.ts'
import { mapOutputs, nullAsText } from './widen-body.ts'

export function bindInsert(binding: Binding, written: Insert): Bound.Insert {
  const table = writableTable(binding, written.table)
  const source = binding.nextSource()
  const columns = written.columns.length === 0 ? table.columns : namedColumns(binding, table, written.columns)
  refuseMissing(binding, table, columns, written.at)
  const rows = bindRows(binding, written, columns)
  const check = bindInsertFilter(binding, table, source)
  const onConflict =
    written.onConflict === undefined
      ? undefined
      : bindOnConflict(binding, table, source, bindRowFilter(binding, table, source), written.onConflict)
  const returning = bindReturning(binding, table, undefined, source, written.returning)
  const constraints = [...bindConstraints(binding, table, source), ...bindUnlicensed(binding, table, source)]
  return { kind: 'insert', table, source, columns, rows, onConflict, returning, check, constraints }
}

export function bindUpdate(binding: Binding, written: Update): Bound.Update {
  const table = writableTable(binding, written.table)
  const source = binding.nextSource()
  const scope = targetScope(table, written.alias, source, CLAUSES.set)
  const set = bindSet(binding, scope, table, written.set)
  const filter = bindRowFilter(binding, table, source)
  const where = bindWhere(binding, scope, written.where, filter)
  const returning = bindReturning(binding, table, written.alias, source, written.returning)
  const constraints = bindConstraints(binding, table, source)
  return { kind: 'update', table, source, set, where, returning, check: filter, constraints }
}

export function bindDelete(binding: Binding, written: Delete): Bound.Delete {
  const table = writableTable(binding, written.table)
  const source = binding.nextSource()
  const scope = targetScope(table, written.alias, source, CLAUSES.where)
  const where = bindWhere(binding, scope, written.where, bindRowFilter(binding, table, source))
  const returning = bindReturning(binding, table, written.alias, source, written.returning)
  return { kind: 'delete', table, source, where, returning }
}

function writableTable(binding: Binding, name: Name): TableView {
  const table = lookupTarget(binding, name)
  if (table.view !== undefined)
    throw binding.fail('NotWritable', name.at, `${table.name} is a view, which is only read`, {
      hint: 'write to the tables that it reads',
    })
  if (table.isKept)
    throw binding.fail('NotWritable', name.at, `${table.name} is a materialized view, which is only read`, {
      hint: 'write to the table that it reads',
    })
  if (!table.isWritable) throw binding.fail('NotWritable', name.at, `${table.name} is read-only`)
  const missing = binding.catalogue.missingWriteScope(table)
  if (missing === undefined) return table
  throw binding.fail('Forbidden', name.at, `Writing to ${table.name} needs the scope ${missing}`)
}

function targetScope(table: TableView, alias: Name | undefined, source: number, clause: Clause): Scope {
  const scope = new Scope(undefined, clause)
  scope.sources.push(entry(source, alias?.text ?? table.name, table.columns))
  return scope
}

function namedColumns(binding: Binding, table: TableView, names: readonly Name[]): ColumnView[] {
  const duplicate = firstDuplicate(names, ({ text }) => text)
  if (duplicate !== undefined) throw binding.fail('DuplicateColumn', duplicate.at, `${duplicate.text} is named twice`)
  return names.map((name) => requireColumn(binding, table, name))
}

/** The columns of a table by their names in lower case: a table may have two thousand, and a statement may name all. */
const COLUMNS = new WeakMap<TableView, ReadonlyMap<string, ColumnView>>()

function columnsByName(table: TableView): ReadonlyMap<string, ColumnView> {
  let columns = COLUMNS.get(table)
  if (columns === undefined) {
    columns = new Map(table.columns.map((column) => [column.name.toLowerCase(), column]))
    COLUMNS.set(table, columns)
  }
  return columns
}

export function requireColumn(binding: Binding, table: TableView, name: Name): ColumnView {
  const column = columnsByName(table).get(name.text.toLowerCase())
  if (column !== undefined) return column
  const hint = didYouMean(
    name.text,
    table.columns.map((known) => known.name),
  )
  throw binding.fail('UnknownColumn', name.at, `${table.name} has no column ${name.text}`, { hint })
}

function refuseMissing(binding: Binding, table: TableView, given: readonly ColumnView[], at: number): void {
  const missing = table.columns.filter((column) => !column.nullable && !column.hasDefault && !given.includes(column))
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(', ')
  throw binding.fail('MissingColumn', at, `${table.name} needs a value for ${names}`)
}

function bindRows(binding: Binding, { source, at }: Insert, columns: readonly ColumnView[]): Bound.Insert['rows'] {
  if (source.kind === 'query') {
    const query = binding.query(undefined, source.query, { anyNames: true })
    refuseCount(binding, columns, query.columns.length, source.query.at)
    const fitted = mapOutputs(query, (expression, index) => {
      const column = columns[index]
      return column === undefined ? expression : fitColumn(binding, column, expression, at)
    })
    return { kind: 'query', query: fitted }
  }
  const scope = new Scope(undefined, CLAUSES.values)
  const rows = source.rows.map((row) => {
    refuseCount(binding, columns, row.values.length, row.at)
    return row.values.map((value, index) => {
      const column = columns[index]
      if (column === undefined) throw new Error('A value without a column')
      return bindValue(binding, scope, column, value)
    })
  })
  return { kind: 'values', rows }
}

function refuseCount(binding: Binding, columns: readonly ColumnView[], count: number, at: number): void {
  if (count === columns.length) return
  throw binding.fail('ColumnCount', at, `${columns.length} columns take ${columns.length} values, not ${count}`, {
    expected: columns.map(({ name }) => name),
  })
}

function bindValue(
  binding: Binding,
  scope: Scope,
  column: ColumnView,
  value: Expression | DefaultValue,
): BoundExpression | Bound.DefaultValue {
  if (value.kind === 'default') {
    if (column.hasDefault || column.nullable) return { kind: 'default' }
    throw binding.fail('MissingColumn', value.at, `${column.name} has no default`)
  }
  return fitColumn(binding, column, binding.expression(scope, value, column.type), startPosition(value))
}

function bindSet(binding: Binding, scope: Scope, table: TableView, set: readonly Assignment[]): Bound.Assignment[] {
  const duplicate = firstDuplicate(set, ({ column }) => column.text)
  if (duplicate !== undefined) {
    throw binding.fail('DuplicateColumn', duplicate.column.at, `${duplicate.column.text} is set twice`)
  }
  return set.map((assignment) => {
    const column = requireColumn(binding, table, assignment.column)
    return { column, value: bindValue(binding, scope, column, assignment.value) }
  })
}

function bindOnConflict(
  binding: Binding,
  table: TableView,
  source: number,
  filter: BoundExpression | undefined,
  { target: names, action, at }: OnConflict,
): Bound.OnConflict {
  const target = namedColumns(binding, table, names).map(({ name }) => name)
  const keys = [table.primaryKey, ...table.uniques].filter((key) => key.length > 0)
  const isKey = keys.some(
    (key) => key.length === target.length && key.every((part) => target.some((name) => sameName(name, part))),
  )
  if (target.length > 0 ? !isKey : action.kind === 'update') {
    throw binding.fail(
      'BadConflict',
      at,
      'ON CONFLICT takes the columns of the primary key or of a unique constraint',
      { expected: keys.map((key) => `(${key.join(', ')})`) },
    )
  }
  if (action.kind === 'nothing') return { kind: 'nothing', target }
  const excluded = binding.nextSource()
  const scope = targetScope(table, undefined, source, CLAUSES.set)
  scope.sources.push(entry(excluded, 'excluded', table.columns))
  const set = bindSet(binding, scope, table, action.set)
  return { kind: 'update', target, excluded, set, where: bindWhere(binding, scope, action.where, filter) }
}

/** The WHERE condition together with the row filter. */
function bindWhere(
  binding: Binding,
  scope: Scope,
  written: Expression | undefined,
  filter: BoundExpression | undefined,
): BoundExpression | undefined {
  scope.clause = CLAUSES.where
  const where = written === undefined ? undefined : bindCondition(binding, scope, written)
  if (filter === undefined) return where
  // The filter comes first, even alone: engines evaluate nothing else on a row that does not exist for the caller.
  return conjunction(where === undefined ? [filter] : [filter, where])
}

function bindReturning(
  binding: Binding,
  table: TableView,
  alias: Name | undefined,
  source: number,
  items: readonly SelectItem[],
): OutputItem[] {
  const outputs = bindItems(binding, targetScope(table, alias, source, CLAUSES.returning), items).map(nullAsText)
  const duplicate = firstDuplicate(outputs, ({ name }) => name)
  const [first] = items
  const at = first === undefined ? 0 : first.kind === 'all' ? first.at : startPosition(first.expression)
  if (duplicate === undefined) return outputs
  throw binding.fail(
    'DuplicateColumn',
    at,
    `Two columns of the result are named ${duplicate.name}: give one of them an alias`,
    { hint: `write … AS ${duplicate.name}2` },
  )
}
