/** Binds CREATE VIEW, ALTER VIEW and DROP VIEW. */

import type * as Bound from '../bound/bound.ts'
import type { ResultColumn } from '../bound/bound-query.ts'
import { definitionIn, type TableView } from '../bound/catalogue-view.ts'
import type { Binding } from '../scope/binding.ts'
import type { AlterView, CreateView, DropView } from '../syntax/ast.ts'
import type { Name, Query, Select, SelectItem } from '../syntax/ast-query.ts'
import { firstDuplicate, sameName } from '../syntax/names.ts'
import { printQuery } from '../syntax/print-query.ts'
import { checkName, requireDefine } from './define.ts'
import { lookupDefinition } from './from.ts'
import { refuseUnstorable } from './query.ts'
import { refuseCopies } from './refuse-copies.ts'

export function bindCreateView(binding: Binding, written: CreateView): Bound.CreateView {
  requireDefine(binding, written.at)
  const { name, readScope, comment } = written
  checkName(binding, name)
  const existing = definitionIn(binding.catalogue, name.text)
  if (existing !== undefined) refuseTaken(binding, written, existing)
  const stars = new Map<SelectItem, readonly SelectItem[]>()
  binding.stars = stars
  const query = binding.query(undefined, written.query, { anyNames: written.columns.length > 0 })
  refuseUnstorable(binding, written.query, query.columns)
  refuseCopies(binding, query)
  const [parameter] = binding.parameters
  if (parameter !== undefined)
    throw binding.fail('BadDefinition', parameter.at, 'A view cannot have parameters', {
      hint: 'filter where the view is used: SELECT … FROM view WHERE column = :value',
    })
  const used = [...binding.expansion.views].find((view) => sameName(view.name, name.text))
  if (used !== undefined)
    throw binding.fail('BadDefinition', name.at, `${used.name} would use itself: its query reads ${used.name}`)
  return {
    kind: 'create-view',
    name: existing?.name ?? name.text,
    exists: existing !== undefined && !written.orReplace,
    replaced: existing,
    columns: namedColumns(binding, written, query.columns),
    text: printQuery(withoutStars(written.query, stars)),
    uses: [...binding.uses].map((table) => table.name),
    readScope,
    comment,
  }
}

function refuseTaken(binding: Binding, { name, orReplace, ifNotExists }: CreateView, existing: TableView): void {
  if (existing.isSystem) throw binding.fail('SystemTable', name.at, `${existing.name} is a system table`)
  if (existing.view === undefined)
    throw binding.fail(
      'TableExists',
      name.at,
      `${existing.name} is a ${existing.isKept ? 'materialized view' : 'table'}, not a view`,
    )
  if (!orReplace && !ifNotExists)
    throw binding.fail('TableExists', name.at, `There is already a view ${existing.name}`, {
      hint: `write CREATE OR REPLACE VIEW`,
    })
}

export function namedColumns(
  binding: Binding,
  { name, columns: names, query }: Pick<CreateView, 'name' | 'columns' | 'query'>,
  columns: readonly ResultColumn[],
): ResultColumn[] {
  if (names.length > 0 && names.length !== columns.length)
    throw binding.fail(
      'ColumnCount',
      name.at,
      `${name.text} names ${names.length} columns, but its query has ${columns.length}`,
    )
  const twice = firstDuplicate(names, ({ text }) => text)
  if (twice !== undefined) throw binding.fail('DuplicateColumn', twice.at, `${name.text} names ${twice.text} twice`)
  return columns.map((column, index) => {
    const given: Name = names[index] ?? { text: column.name, at: query.at }
    checkName(binding, given)
    return { ...column, name: given.text }
  })
}

/** A column that is added to a table later does not become a column of the view. */
export function withoutStars(query: Query, stars: ReadonlyMap<unknown, readonly SelectItem[]>): Query {
  const copy = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.flatMap((item): readonly unknown[] => stars.get(item) ?? [copy(item)])
    if (typeof node !== 'object' || node === null) return node
    const from = isSelect(node) ? { ...node, groupBy: node.groupBy.map((key) => resolveGroupKey(key, node)) } : node
    return Object.fromEntries(Object.entries(from).map(([name, child]) => [name, copy(child)]))
  }
  return copy(query) as Query
}

function isSelect(node: object): node is Select {
  return 'kind' in node && node.kind === 'select'
}

/** GROUP BY 2 refers to the second output as written. When a * before it is expanded to a list, the number changes. */
function resolveGroupKey(key: Select['groupBy'][number], { items }: Select): Select['groupBy'][number] {
  const item = key.kind === 'number' ? items[Number(key.text) - 1] : undefined
  return item?.kind === 'item' ? item.expression : key
}

export function bindAlterView(binding: Binding, { name, changes, at }: AlterView): Bound.SetRights {
  requireDefine(binding, at)
  const needs = { readNeed: undefined, writeNeed: undefined }
  const kept = { isLive: undefined, isColumnar: undefined, retention: undefined, isHeld: undefined }
  const unchanged = { writeScope: undefined, rowFilter: undefined, ...kept, ...needs }
  return { kind: 'set-rights', table: viewNamed(binding, name), ...changes, ...unchanged }
}

export function bindDropView(binding: Binding, { name, ifExists, at }: DropView): Bound.DropView {
  requireDefine(binding, at)
  if (ifExists && definitionIn(binding.catalogue, name.text) === undefined)
    return { kind: 'drop-view', view: undefined }
  return { kind: 'drop-view', view: viewNamed(binding, name) }
}

const KEPT_HINT = 'use ALTER MATERIALIZED VIEW or DROP MATERIALIZED VIEW'

function viewNamed(binding: Binding, name: Name): TableView {
  const table = lookupDefinition(binding, name, 'view')
  if (table.isSystem) throw binding.fail('SystemTable', name.at, `${table.name} is a system table`)
  if (table.view !== undefined) return table
  if (table.isKept)
    throw binding.fail('BadDefinition', name.at, `${table.name} is a materialized view`, { hint: KEPT_HINT })
  throw binding.fail('BadDefinition', name.at, `${table.name} is a table, not a view`)
}
