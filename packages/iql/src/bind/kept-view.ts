/** Binds the statements of materialized views, and refuses queries whose rows cannot be kept up to date group by group. */

import type * as Bound from '../bound/bound.ts'
import type { BoundExpression, BoundQuery, BoundSelect, ResultColumn, TableSource } from '../bound/bound-query.ts'
import { directOperands, walkQuery } from '../bound/bound-walk.ts'
import { definitionIn, type TableView } from '../bound/catalogue-view.ts'
import { findVolatility } from '../functions/functions.ts'
import { type Binding, startPosition } from '../scope/binding.ts'
import type { AlterKeptView, CreateKeptView, DropKeptView, RefreshView, RetentionClause } from '../syntax/ast.ts'
import type { Expression, Name, Query, Select, SelectItem } from '../syntax/ast-query.ts'
import { printQuery } from '../syntax/print-query.ts'
import { typeName } from '../types/types.ts'
import { checkName, requireDefine } from './define.ts'
import { computeFingerprint } from './expression.ts'
import { lookupDefinition, lookupTable } from './from.ts'
import { refuseUnstorable } from './query.ts'
import { refuseCopies } from './refuse-copies.ts'
import { bindRetention } from './retention.ts'
import { namedColumns, withoutStars } from './view.ts'

export function bindCreateKeptView(binding: Binding, written: CreateKeptView): Bound.CreateKeptView {
  requireDefine(binding, written.at)
  const { name, ifNotExists, changes } = written
  checkName(binding, name)
  const existing = definitionIn(binding.catalogue, name.text)
  if (existing !== undefined && !(existing.isKept && ifNotExists)) throw taken(binding, name, existing)
  const select = keptSelect(binding, written.query)
  const stars = new Map<SelectItem, readonly SelectItem[]>()
  binding.stars = stars
  const query = binding.query(undefined, written.query, { anyNames: written.columns.length > 0 })
  const { body, source } = requireOneTable(binding, written.query, query)
  refuseUnkept(binding, written.query, query)
  refuseUnstorable(binding, written.query, query.columns)
  refuseCopies(binding, query)
  const [parameter] = binding.parameters
  if (parameter !== undefined)
    throw binding.fail('BadDefinition', parameter.at, 'A materialized view cannot have parameters', {
      hint: 'filter where the view is used: SELECT … FROM view WHERE column = :value',
    })
  const columns = namedColumns(binding, written, query.columns)
  const keys = findKeys(binding, body, select, columns)
  return {
    kind: 'create-kept-view',
    name: existing?.name ?? name.text,
    exists: existing !== undefined,
    columns: columns.map((column) => fixedColumn(binding, written.query, column)),
    text: printQuery(withoutStars(written.query, stars)),
    base: source.table,
    keys,
    logged: loggedColumns(body),
    queryAt: written.query.at,
    readScope: changes.readScope ?? undefined,
    readNeed: changes.readNeed ?? undefined,
    comment: changes.comment ?? undefined,
    isColumnar: changes.columnar ?? false,
    retention:
      bindKeptRetention(
        binding,
        columns,
        keys.map(({ column }) => column),
        changes.retention,
      ) ?? undefined,
  }
}

function taken(binding: Binding, name: Name, existing: TableView) {
  if (existing.isSystem) return binding.fail('SystemTable', name.at, `${existing.name} is a system table`)
  if (existing.isKept)
    return binding.fail('TableExists', name.at, `There is already a materialized view ${existing.name}`, {
      hint: `write DROP MATERIALIZED VIEW ${existing.name} first, or IF NOT EXISTS`,
    })
  const what = existing.view === undefined ? 'table' : 'view'
  return binding.fail('TableExists', name.at, `${existing.name} is a ${what}, not a materialized view`)
}

/** The SELECT of a query without the parts that combine rows across groups. */
function keptSelect(binding: Binding, query: Query): Select {
  const refuse = (at: number, part: string, hint: string) =>
    binding.fail('BadDefinition', at, `A materialized view cannot have ${part}`, { hint })
  const { with: ctes, body, orderBy, limit, offset } = query
  if (ctes[0] !== undefined) throw refuse(ctes[0].name.at, 'WITH', 'write one SELECT from one table')
  if (body.kind === 'set')
    throw refuse(body.at, body.operator.toUpperCase(), 'make a materialized view of each side, and a view of both')
  if (body.kind === 'query') throw refuse(body.at, 'a query in parentheses', 'omit the parentheses')
  if (orderBy[0] !== undefined)
    throw refuse(startPosition(orderBy[0].expression), 'ORDER BY', 'omit it, and order where the view is read')
  const cut = limit ?? offset
  if (cut !== undefined)
    throw refuse(
      startPosition(cut),
      limit === undefined ? 'OFFSET' : 'LIMIT',
      'omit it, and limit where the view is read',
    )
  if (body.distinct || body.distinctOn !== undefined)
    throw refuse(body.at, 'DISTINCT', 'write GROUP BY with the same columns, or LATEST ON')
  if (body.qualify !== undefined) throw refuse(startPosition(body.qualify), 'QUALIFY', 'filter where the view is read')
  if (body.from === undefined) throw refuse(body.at, 'no FROM', 'read a table')
  if (body.from.kind !== 'table')
    throw refuse(body.at, FROM_PARTS[body.from.kind], 'read one table; join where the view is read')
  if (body.latest !== undefined && body.groupBy.length > 0)
    throw refuse(body.at, 'both LATEST ON and GROUP BY', 'make a view with LATEST ON, and group another view of it')
  return body
}

const FROM_PARTS = { derived: 'a sub-query in FROM', function: 'a generated series', join: 'a join' } as const

function requireOneTable(
  binding: Binding,
  { at }: Query,
  { body }: BoundQuery,
): { readonly body: BoundSelect; readonly source: TableSource } {
  const fail = (message: string, hint: string) => binding.fail('BadDefinition', at, message, { hint })
  if (body.kind !== 'select' || body.from === undefined)
    throw fail('A materialized view reads one table', 'read a table')
  const source = body.from
  if (source.kind === 'derived')
    throw fail('A materialized view cannot read a view', 'read its table, or a materialized view')
  if (source.kind !== 'table')
    throw fail(
      'A materialized view cannot have time_bucket_gapfill',
      'write time_bucket, and fill gaps where it is read',
    )
  const { table } = source
  const name = table.name
  if (table.isSystem) throw fail(`${name} is a system table, whose changes are not logged`, 'read a table of your own')
  if (table.primaryKey.length === 0)
    throw fail(`${name} has no primary key`, `write CREATE TABLE ${name}_2 (PRIMARY KEY (…)) AS SELECT * FROM ${name}`)
  if (!table.isLive)
    throw fail(`${name} is defined WITH (live = off)`, `write ALTER TABLE ${name} SET WITH (live = on)`)
  if (body.latest === undefined && body.groupBy.length === 0)
    throw fail('A materialized view has GROUP BY or LATEST ON', 'group by the columns that identify its rows')
  return { body, source }
}

/** What depends on other rows, on the caller or on the time. */
function refuseUnkept(binding: Binding, { at }: Query, query: BoundQuery): void {
  const fail = (message: string, hint: string) => binding.fail('BadDefinition', at, message, { hint })
  for (const part of walkQuery(query)) {
    if (part.kind === 'query') {
      if (part.query !== query) throw fail('A materialized view cannot have a sub-query', 'join where the view is read')
      continue
    }
    const { expression, isOfRowFilter } = part
    if (isOfRowFilter) continue
    if (expression.kind === 'window')
      throw fail('A materialized view cannot have a window function', 'use it where the view is read')
    if (expression.kind === 'claim' || expression.kind === 'claim-in')
      throw fail('A materialized view cannot depend on who reads it', 'filter where the view is read')
    if (expression.kind === 'call' && findVolatility(expression.function) !== undefined)
      throw fail(`${expression.function}() gives another value each time`, 'compare with it where the view is read')
  }
}

/** Every group is selected, so that its row can be found. */
function findKeys(
  binding: Binding,
  { outputs, groupBy, latest }: BoundSelect,
  written: Select,
  columns: readonly ResultColumn[],
): Bound.KeptKey[] {
  const expressions = latest?.partitionBy ?? groupBy
  const writtenKeys = latest === undefined ? written.groupBy : (written.latest?.partitionBy ?? [])
  return expressions.map((expression, index) => {
    const at = positionOf(writtenKeys[index], written)
    const ordinal = outputs.findIndex(({ expression: output }) =>
      isKey(output, index, expression, latest !== undefined),
    )
    const column = columns[ordinal]
    if (column === undefined)
      throw binding.fail('BadDefinition', at, 'Each group of a materialized view is a column of it', {
        hint: 'add the expression to SELECT',
      })
    refuseAsKey(binding, at, column)
    return { column: column.name, expression }
  })
}

/** Those of WHERE and of the keys. */
function loggedColumns({ where, groupBy, latest }: BoundSelect): string[] {
  const names = new Set<string>()
  const visit = (node: BoundExpression): void => {
    if (node.kind === 'column') names.add(node.name)
    directOperands(node).forEach(visit)
  }
  for (const part of [...(where === undefined ? [] : [where]), ...(latest?.partitionBy ?? groupBy)]) visit(part)
  return [...names]
}

function positionOf(key: Expression | undefined, select: Select): number {
  return key === undefined ? select.at : startPosition(key)
}

function isKey(output: BoundExpression, index: number, expression: BoundExpression, isLatest: boolean): boolean {
  if (isLatest) return computeFingerprint(output) === computeFingerprint(expression)
  return output.kind === 'group-key' && output.index === index
}

function refuseAsKey(binding: Binding, at: number, { name, type, nullable }: ResultColumn): void {
  if (type.kind === 'Double' || type.kind === 'Json')
    throw binding.fail('BadDefinition', at, `${name} is ${typeName(type)}, which cannot be a key`, {
      hint: `write CAST(${name} AS ${type.kind === 'Json' ? 'Text' : 'Decimal(38, 10)'})`,
    })
  if (nullable)
    throw binding.fail('BadDefinition', at, `${name} can be NULL, and is part of the key`, {
      hint: `write coalesce(${name}, …), or CAST a value that is never NULL`,
    })
}

function fixedColumn(binding: Binding, { at }: Query, column: ResultColumn): ResultColumn {
  if (column.type.kind !== 'LocalTimestamp') return column
  throw binding.fail('BadType', at, `A column cannot hold a LocalTimestamp, as ${column.name} is`, {
    hint: "select the Timestamp, or write x AT TIME ZONE 'America/New_York' to make it one",
  })
}

/** By a group: the other columns of a row change with those of its table. */
function bindKeptRetention(
  binding: Binding,
  columns: readonly ResultColumn[],
  keys: readonly string[],
  written: RetentionClause | null | undefined,
): Bound.RetentionChange | null | undefined {
  const bound = bindRetention(binding, columns, written)
  if (!bound || !written || keys.includes(bound.on)) return bound
  throw binding.fail(
    'BadDefinition',
    written.on.at,
    `A retention of a materialized view is on a group: ${bound.on} is none`,
  )
}

export function bindAlterKeptView(binding: Binding, { name, changes, at }: AlterKeptView): Bound.SetRights {
  requireDefine(binding, at)
  const table = keptView(binding, name)
  const { columnar, retention: written, ...others } = changes
  const retention = bindKeptRetention(binding, table.columns, table.primaryKey, written)
  const unchanged = {
    writeScope: undefined,
    rowFilter: undefined,
    writeNeed: undefined,
    isLive: undefined,
    isHeld: undefined,
  }
  return { kind: 'set-rights', table, ...others, retention, isColumnar: columnar, ...unchanged }
}

export function bindDropKeptView(binding: Binding, { name, ifExists, at }: DropKeptView): Bound.DropKeptView {
  requireDefine(binding, at)
  if (ifExists && definitionIn(binding.catalogue, name.text) === undefined)
    return { kind: 'drop-kept-view', view: undefined }
  return { kind: 'drop-kept-view', view: keptView(binding, name) }
}

/** Whoever may read it may wait for it; to build it anew is a change of it. */
export function bindRefresh(binding: Binding, { name, isFull, at }: RefreshView): Bound.RefreshView {
  if (isFull) requireDefine(binding, at)
  const view = keptView(binding, name)
  if (!isFull) lookupTable(binding, name)
  return { kind: 'refresh-view', view, isFull }
}

function keptView(binding: Binding, name: Name): TableView {
  const table = lookupDefinition(binding, name, 'materialized view')
  if (table.isKept) return table
  const what = table.isSystem ? 'a system table' : table.view === undefined ? 'a table' : 'a view'
  throw binding.fail('BadDefinition', name.at, `${table.name} is ${what}, not a materialized view`)
}
