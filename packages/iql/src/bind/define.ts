/** Binds CREATE, ALTER and DROP: checks rights, names, types, keys and defaults. */

import type * as Bound from '../bound/bound.ts'
import { definitionIn, type TableView } from '../bound/catalogue-view.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import { CLAUSES, Scope } from '../scope/scope.ts'
import type {
  AlterTable,
  ColumnDefinition,
  CreateIndex,
  CreateTable,
  DropIndex,
  DropTable,
  TableChanges,
} from '../syntax/ast.ts'
import { someWithin } from '../syntax/ast-children.ts'
import type { Expression, Name, Query } from '../syntax/ast-query.ts'
import { firstDuplicate, sameName } from '../syntax/names.ts'
import { printExpression } from '../syntax/print-query.ts'
import { type IqlType, isComparable, typeName } from '../types/types.ts'
import { bindChecks, violationQuery } from './check.ts'
import { fitColumn } from './fit-column.ts'
import { lookupDefinition } from './from.ts'
import { refuseUnstorable } from './query.ts'
import { refuseCopies } from './refuse-copies.ts'
import { bindRetention } from './retention.ts'
import { bindFilterText } from './row-filter.ts'
import { bindType } from './type.ts'
import { requireColumn } from './write.ts'

export function bindCreateTable(binding: Binding, written: CreateTable): Bound.CreateTable {
  requireDefine(binding, written.at)
  const { name, ifNotExists, readScope, writeScope, readNeed, writeNeed, comment, live, columnar, hold } = written
  checkName(binding, name)
  const existing = definitionIn(binding.catalogue, name.text)
  if (existing?.view !== undefined)
    throw binding.fail('TableExists', name.at, `${existing.name} is a view, not a table`)
  if (existing?.isKept)
    throw binding.fail('TableExists', name.at, `${existing.name} is a materialized view, not a table`)
  const exists = existing !== undefined
  if (exists && !ifNotExists) throw binding.fail('TableExists', name.at, `There is already a table ${name.text}`)
  const twice = firstDuplicate(written.columns, (column) => column.name.text)
  if (twice !== undefined) throw binding.fail('DuplicateColumn', twice.name.at, `${twice.name.text} is defined twice`)
  const primaryKey = bindPrimaryKey(binding, written)
  const columns =
    written.query === undefined
      ? written.columns.map((column) => bindColumnDefinition(binding, column, primaryKey))
      : bindQueryColumns(binding, written.query, primaryKey)
  const keys = written.keys.filter((key) => key.kind === 'unique')
  const uniques = keys.map((key) => key.columns.map((column) => keyColumn(binding, columns, column).name))
  for (const key of primaryKey) keyColumn(binding, columns, key)
  const checks = bindChecks(binding, { name: name.text, columns, taken: [] }, written.checks ?? [])
  const filter = written.rowFilter
  if (filter !== undefined) bindFilterText(binding, name.text, columns, filter, binding.nextSource())
  return {
    kind: 'create-table',
    name: name.text,
    exists,
    columns,
    primaryKey: primaryKey.map((key) => keyColumn(binding, columns, key).name),
    uniques,
    checks,
    readScope,
    writeScope,
    rowFilter: filter === undefined ? undefined : printExpression(filter),
    readNeed,
    writeNeed,
    comment,
    isLive: live ?? true,
    isColumnar: columnar ?? false,
    retention: bindRetention(binding, columns, written.retention),
    isHeld: hold ?? false,
    query: written.query,
  }
}

/** The columns of CREATE TABLE … AS query. */
function bindQueryColumns(binding: Binding, written: Query, primaryKey: readonly Name[]): Bound.BoundColumn[] {
  const query = binding.query(undefined, written)
  refuseUnstorable(binding, written, query.columns)
  const local = query.columns.find(({ type }) => type.kind === 'LocalTimestamp')
  if (local !== undefined)
    throw binding.fail('BadType', written.at, `A column cannot hold a LocalTimestamp, as ${local.name} is`, {
      hint: "select the Timestamp, or write x AT TIME ZONE 'America/New_York' to make it one",
    })
  refuseCopies(binding, query)
  const [parameter] = binding.parameters
  if (parameter !== undefined)
    throw binding.fail('BadDefinition', parameter.at, 'A definition cannot have parameters', {
      hint: 'write CREATE TABLE t (…), then INSERT INTO t SELECT … with parameters',
    })
  return query.columns.map(({ name, type, nullable }) => {
    checkName(binding, { text: name, at: written.at })
    const isKey = primaryKey.some((key) => sameName(key.text, name))
    return { name, type, nullable: nullable && !isKey, unique: false, default: undefined }
  })
}

export function requireDefine(binding: Binding, at: number): void {
  const missing = binding.catalogue.missingDefineScope()
  if (missing !== undefined) throw binding.fail('Forbidden', at, `Defining tables needs the scope ${missing}`)
}

/** PostgreSQL truncates longer names. */
const MAX_NAME_BYTES = 63

/** The engines prefix the name of an index with ten bytes. */
const MAX_INDEX_NAME_BYTES = MAX_NAME_BYTES - 10

export function checkName(binding: Binding, { text, at }: Name, max = MAX_NAME_BYTES): void {
  const bytes = new TextEncoder().encode(text).length
  if (bytes > max) throw binding.fail('BadName', at, `The name has ${bytes} bytes, the maximum is ${max}`)
  if (/[\p{Cc}]/u.test(text)) throw binding.fail('BadName', at, 'A name cannot contain control characters')
}

function bindPrimaryKey(binding: Binding, { columns, keys }: CreateTable): readonly Name[] {
  const marked = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => [name] as const)
  const listed = keys.filter(({ kind }) => kind === 'primary-key')
  const [first = [], second] = [...marked, ...listed.map((key) => key.columns)]
  if (second !== undefined) {
    throw binding.fail('BadDefinition', second[0]?.at ?? 0, 'A table has one primary key', {
      hint: 'write PRIMARY KEY (a, b)',
    })
  }
  return first
}

function keyColumn(binding: Binding, columns: readonly Bound.BoundColumn[], name: Name): Bound.BoundColumn {
  const column = columns.find((known) => sameName(known.name, name.text))
  if (column === undefined)
    throw binding.fail('UnknownColumn', name.at, `The key names ${name.text}, which is not defined`)
  refuseAsKey(binding, column.type, name)
  return column
}

function refuseAsKey(binding: Binding, type: IqlType, { text, at }: Name): void {
  if (!isComparable(type)) throw binding.fail('BadType', at, `${text} is ${typeName(type)}, which cannot be compared`)
}

function bindColumnDefinition(
  binding: Binding,
  written: ColumnDefinition,
  primaryKey: readonly Name[],
): Bound.BoundColumn {
  checkName(binding, written.name)
  const name = written.name.text
  const type = bindType(binding, written.type)
  const nullable = !written.notNull && !primaryKey.some((key) => sameName(key.text, name))
  if (written.unique) refuseAsKey(binding, type, written.name)
  const value =
    written.default === undefined ? undefined : bindDefault(binding, { name, type, nullable }, written.default)
  return { name, type, nullable, unique: written.unique, default: value }
}

function bindDefault(
  binding: Binding,
  column: { readonly name: string; readonly type: IqlType; readonly nullable: boolean },
  written: Expression,
): Bound.BoundColumn['default'] {
  const bad = (expression: Expression) =>
    expression.kind === 'parameter'
      ? !DEFAULT_CLAIMS.has(expression.name.toLowerCase())
      : ['subquery', 'exists', 'in-query'].includes(expression.kind)
  if (someWithin(written, bad)) {
    throw binding.fail(
      'BadDefinition',
      startPosition(written),
      'A default cannot contain sub-queries, or parameters other than :username, :sub and :client',
    )
  }
  const bound = withClaims(binding, () =>
    binding.expression(new Scope(undefined, CLAUSES.default), written, column.type),
  )
  const expression = fitColumn(binding, { ...column, hasDefault: true }, bound, startPosition(written))
  return { expression, text: printExpression(written) }
}

/** Who writes the row. */
const DEFAULT_CLAIMS: ReadonlySet<string> = new Set(['username', 'sub', 'client', 'client_id'])

function withClaims<Result>(binding: Binding, run: () => Result): Result {
  const { bindsRowFilter: outer, usesClaims } = binding
  binding.bindsRowFilter = true
  try {
    return run()
  } finally {
    binding.bindsRowFilter = outer
    binding.usesClaims = usesClaims
  }
}

export function bindAlterTable(
  binding: Binding,
  { table: name, action, at }: AlterTable,
): Bound.AddColumn | Bound.DropColumn | Bound.AddCheck | Bound.DropCheck | Bound.RenameColumn | Bound.SetRights {
  requireDefine(binding, at)
  const table = ownTable(binding, name)
  switch (action.kind) {
    case 'add':
      return bindAddColumn(binding, table, action.column)
    case 'drop': {
      const column = requireColumn(binding, table, action.column)
      const isKey = [table.primaryKey, ...table.uniques].some((key) => key.some((part) => sameName(part, column.name)))
      if (isKey) throw binding.fail('BadDefinition', action.column.at, `${column.name} is part of a key`)
      if (table.columns.length === 1)
        throw binding.fail('BadDefinition', action.column.at, 'A table needs at least one column')
      refuseFiltered(binding, table, action.column)
      return { kind: 'drop-column', table, column }
    }
    case 'rename': {
      const column = requireColumn(binding, table, action.column)
      checkName(binding, action.to)
      refuseTaken(binding, table, action.to, column.name)
      refuseFiltered(binding, table, action.column)
      return { kind: 'rename-column', table, column, to: action.to.text }
    }
    case 'add-check': {
      const taken = (table.checks ?? []).map((check) => check.name)
      const [check] = bindChecks(binding, { ...table, taken }, [action.check])
      if (check === undefined) throw new Error('A check without a definition')
      return { kind: 'add-check', table, check, violation: violationQuery(binding, table, action.check.condition) }
    }
    case 'drop-check':
      return { kind: 'drop-check', table, name: checkNamed(binding, table, action.name) }
    case 'set':
      return bindSetRights(binding, table, action)
  }
}

/** ALTER TABLE … SET … */
export function bindSetTable(binding: Binding, { table: name, action, at }: AlterTable): Bound.SetRights {
  requireDefine(binding, at)
  if (action.kind !== 'set') throw new Error(`Not a SET: ${action.kind}`)
  return bindSetRights(binding, ownTable(binding, name), action)
}

function bindSetRights(binding: Binding, table: TableView, changes: TableChanges): Bound.SetRights {
  const { readScope, writeScope, rowFilter: filter, readNeed, writeNeed, comment } = changes
  const { live: isLive, columnar: isColumnar, hold: isHeld } = changes
  const retention = bindRetention(binding, table.columns, changes.retention)
  if (filter) bindFilterText(binding, table.name, table.columns, filter, binding.nextSource())
  const rowFilter = filter ? printExpression(filter) : filter
  const rights = { readScope, writeScope, rowFilter, readNeed, writeNeed, comment }
  return { kind: 'set-rights', table, ...rights, isLive, isColumnar, retention, isHeld }
}

function bindAddColumn(binding: Binding, table: TableView, written: ColumnDefinition): Bound.AddColumn {
  refuseTaken(binding, table, written.name)
  if (written.primaryKey)
    throw binding.fail('BadDefinition', written.name.at, 'A primary key can only be defined in CREATE TABLE')
  const column = bindColumnDefinition(binding, written, [])
  if (!column.nullable && column.default === undefined) {
    throw binding.fail(
      'BadDefinition',
      written.name.at,
      `${column.name} is NOT NULL, so it needs a DEFAULT for the existing rows`,
    )
  }
  return { kind: 'add-column', table, column }
}

function refuseTaken(binding: Binding, table: TableView, name: Name, except?: string): void {
  const taken = table.columns.find((column) => sameName(column.name, name.text) && column.name !== except)
  if (taken !== undefined)
    throw binding.fail('DuplicateColumn', name.at, `${table.name} already has a column ${taken.name}`)
}

function checkNamed(binding: Binding, { name: tableName, checks = [] }: TableView, name: Name): string {
  const check = checks.find((known) => sameName(known.name, name.text))
  if (check !== undefined) return check.name
  const names = checks.map((known) => known.name)
  throw binding.fail('BadDefinition', name.at, `${tableName} has no constraint ${name.text}`, {
    expected: names,
    hint: didYouMean(name.text, names),
  })
}

function refuseFiltered(binding: Binding, { name: tableName, rowFilter, checks = [] }: TableView, name: Name): void {
  const uses = (expression: Expression) => expression.kind === 'column' && sameName(expression.name.text, name.text)
  const check = checks.find(({ condition }) => someWithin(condition, uses))
  if (check !== undefined)
    throw binding.fail('BadDefinition', name.at, `The check ${check.name} of ${tableName} uses ${name.text}`, {
      hint: `write ALTER TABLE ${tableName} DROP CONSTRAINT ${check.name} first`,
    })
  if (rowFilter === undefined || !someWithin(rowFilter, uses)) return
  throw binding.fail('BadDefinition', name.at, `The row filter of ${tableName} uses ${name.text}`)
}

function ownTable(binding: Binding, name: Name): TableView {
  const table = indexedTable(binding, name)
  if (!table.isKept) return table
  throw binding.fail('BadDefinition', name.at, `${table.name} is a materialized view, not a table`, {
    hint: 'use ALTER MATERIALIZED VIEW or DROP MATERIALIZED VIEW',
  })
}

/** A table or a materialized view. */
function indexedTable(binding: Binding, name: Name): TableView {
  const table = lookupDefinition(binding, name)
  if (table.isSystem) throw binding.fail('SystemTable', name.at, `${table.name} is a system table`)
  if (table.view === undefined) return table
  throw binding.fail('BadDefinition', name.at, `${table.name} is a view, not a table`, {
    hint: 'use CREATE OR REPLACE VIEW, ALTER VIEW or DROP VIEW',
  })
}

export function bindDropTable(binding: Binding, { name, ifExists, at }: DropTable): Bound.DropTable {
  requireDefine(binding, at)
  if (ifExists && definitionIn(binding.catalogue, name.text) === undefined)
    return { kind: 'drop-table', table: undefined }
  return { kind: 'drop-table', table: ownTable(binding, name) }
}

export function bindCreateIndex(binding: Binding, written: CreateIndex): Bound.CreateIndex {
  requireDefine(binding, written.at)
  const { name, unique, ifNotExists } = written
  checkName(binding, name, MAX_INDEX_NAME_BYTES)
  const exists = binding.catalogue.lookupIndex(name.text) !== undefined
  if (exists && !ifNotExists) throw binding.fail('DuplicateIndex', name.at, `There is already an index ${name.text}`)
  const table = indexedTable(binding, written.table)
  const twice = firstDuplicate(written.columns, (column) => column.name.text)
  if (twice !== undefined) throw binding.fail('DuplicateColumn', twice.name.at, `${twice.name.text} is named twice`)
  const columns = written.columns.map(({ name: columnName, descending }) => {
    const column = requireColumn(binding, table, columnName)
    refuseAsKey(binding, column.type, columnName)
    return { name: column.name, descending }
  })
  return { kind: 'create-index', name: name.text, exists, unique, table, columns }
}

export function bindDropIndex(binding: Binding, { name, ifExists, at }: DropIndex): Bound.DropIndex {
  requireDefine(binding, at)
  const index = binding.catalogue.lookupIndex(name.text)
  if (index !== undefined || ifExists) return { kind: 'drop-index', index }
  throw binding.fail('UnknownIndex', name.at, `There is no index ${name.text}`)
}
