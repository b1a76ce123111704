/** Turns bound definition statements into changes of the catalogue. */

import type {
  AddCheck,
  AddColumn,
  BoundStatement,
  CreateIndex,
  CreateView,
  DropCheck,
  DropColumn,
  RenameColumn,
  SetRights,
} from 'gatehouse-iql'
import { refuse } from '../errors.ts'
import { createKeptView } from './create-kept-view.ts'
import { toColumnDefinition, toTableDefinition } from './create-table.ts'
import { toViewDefinition } from './create-view.ts'
import type { AlterStep, CatalogueChange, TableDefinition } from './definition.ts'
import { toRetention } from './retention.ts'
import type { CatalogueSnapshot } from './snapshot.ts'
import { toRules } from './step-up.ts'

/** Undefined when there is nothing to do: IF EXISTS without such a table, or IF NOT EXISTS with one. */
export function planChange(
  statement: BoundStatement,
  snapshot: CatalogueSnapshot,
  now: bigint,
  text = '',
): CatalogueChange | undefined {
  switch (statement.kind) {
    case 'create-table':
      return statement.exists ? undefined : { kind: 'create', table: toTableDefinition(statement, now) }
    case 'drop-table':
      return statement.table === undefined ? undefined : { kind: 'drop', name: statement.table.name, isView: false }
    case 'create-view':
      return statement.exists ? undefined : viewChange(statement, snapshot, now)
    case 'drop-view':
      return statement.view === undefined ? undefined : { kind: 'drop', name: statement.view.name, isView: true }
    case 'create-kept-view':
      if (statement.exists) return undefined
      return { kind: 'create', table: createKeptView(statement, snapshot.byName, text, now) }
    case 'drop-kept-view':
      return statement.view === undefined ? undefined : { kind: 'drop', name: statement.view.name, isView: false }
    case 'create-index':
      return statement.exists ? undefined : alteration(statement, existing(snapshot, statement.table.name))
    case 'drop-index':
      return statement.index && withoutIndex(existing(snapshot, statement.index.table.name), statement.index.name)
    case 'add-column':
    case 'drop-column':
    case 'add-check':
    case 'drop-check':
    case 'rename-column':
    case 'set-rights':
      return alteration(statement, existing(snapshot, statement.table.name))
    default:
      throw new Error(`${statement.kind} is not a definition`)
  }
}

function alteration(
  statement: AddColumn | DropColumn | AddCheck | DropCheck | RenameColumn | SetRights | CreateIndex,
  table: TableDefinition,
): CatalogueChange {
  switch (statement.kind) {
    case 'add-column': {
      const column = toColumnDefinition(statement.column)
      const isUnique = statement.column.unique
      const uniques = isUnique ? [...table.uniques, [column.name]] : table.uniques
      const step: AlterStep = { kind: 'add-column', column, isUnique }
      return altered(table, { ...table, columns: [...table.columns, column], uniques }, step)
    }
    case 'drop-column': {
      const { name } = statement.column
      const index = table.indexes.find(({ columns }) => columns.some((column) => column.name === name))
      if (index !== undefined)
        throw refuse('Data.Conflict', `The index ${index.name} uses the column ${name}; drop it first`)
      const columns = table.columns.filter((column) => column.name !== name)
      return altered(table, { ...table, columns }, { kind: 'drop-column', column: name })
    }
    case 'add-check':
      return altered(table, { ...table, checks: [...(table.checks ?? []), statement.check] }, { kind: 'rights' })
    case 'drop-check': {
      const checks = (table.checks ?? []).filter(({ name }) => name !== statement.name)
      return altered(table, { ...table, checks }, { kind: 'rights' })
    }
    case 'rename-column': {
      const { column, to } = statement
      return altered(table, renamed(table, column.name, to), { kind: 'rename-column', column: column.name, to })
    }
    case 'set-rights':
      return altered(table, withRights(table, statement), { kind: 'rights' })
    case 'create-index': {
      const index = { name: statement.name, unique: statement.unique, columns: statement.columns }
      return altered(table, { ...table, indexes: [...table.indexes, index] }, { kind: 'create-index', index })
    }
  }
}

function withoutIndex(table: TableDefinition, name: string): CatalogueChange {
  const indexes = table.indexes.filter((index) => index.name !== name)
  return altered(table, { ...table, indexes }, { kind: 'drop-index', index: name })
}

function existing(snapshot: CatalogueSnapshot, name: string): TableDefinition {
  const table = snapshot.findDefinition(name)
  if (table === undefined) throw new Error(`The table ${name} is not in the catalogue`)
  return table
}

export function altered(from: TableDefinition, table: TableDefinition, step: AlterStep): CatalogueChange {
  return { kind: 'alter', name: table.name, from, table, step }
}

/** A view that is replaced keeps its read scope and its description where the statement names none. */
function viewChange(statement: CreateView, snapshot: CatalogueSnapshot, now: bigint): CatalogueChange {
  const { replaced, readScope, comment } = statement
  const from = replaced === undefined ? undefined : existing(snapshot, replaced.name)
  const table = toViewDefinition(statement, {
    readScope: readScope ?? from?.readScope,
    description: comment ?? from?.description,
    created: from?.created ?? now,
  })
  return from === undefined ? { kind: 'create', table } : altered(from, table, { kind: 'replace-view' })
}

function withRights(table: TableDefinition, set: Omit<SetRights, 'kind' | 'table'>): TableDefinition {
  const chosen = <Value>(wanted: Value | null | undefined, current: Value | undefined): Value | undefined =>
    wanted === undefined ? current : (wanted ?? undefined)
  return {
    ...table,
    readScope: chosen(set.readScope, table.readScope),
    writeScope: chosen(set.writeScope, table.writeScope),
    rowFilter: chosen(set.rowFilter, table.rowFilter),
    stepUp: toRules(chosen(set.readNeed, table.stepUp?.read), chosen(set.writeNeed, table.stepUp?.write)),
    description: chosen(set.comment, table.description),
    isLive: set.isLive ?? table.isLive,
    isColumnar: set.isColumnar ?? table.isColumnar,
    retention: chosen(set.retention && toRetention(set.retention), table.retention),
    isHeld: set.isHeld ?? table.isHeld,
  }
}

function renamed(table: TableDefinition, from: string, to: string): TableDefinition {
  const rename = (name: string): string => (name === from ? to : name)
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, name: rename(column.name) })),
    primaryKey: table.primaryKey.map(rename),
    uniques: table.uniques.map((unique) => unique.map(rename)),
    indexes: table.indexes.map((index) => ({
      ...index,
      columns: index.columns.map((column) => ({ ...column, name: rename(column.name) })),
    })),
    ...(table.retention && { retention: { ...table.retention, on: rename(table.retention.on) } }),
  }
}
