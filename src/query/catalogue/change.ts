/** From bound definitions to changes of the catalogue. */
import { refuse } from '../errors.ts'
import type { BoundColumn, BoundStatement, CreateTable, SetRights } from '../iql/bound.ts'
import type { AlterStep, CatalogueChange, ColumnDefinition, TableDefinition } from './definition.ts'
import type { Snapshot } from './snapshot.ts'

/** Undefined when there is nothing to do: IF EXISTS without one, IF NOT EXISTS with one. */
export function changeOf(statement: BoundStatement, snapshot: Snapshot, now: bigint): CatalogueChange | undefined {
  switch (statement.kind) {
    case 'create-table':
      return statement.exists ? undefined : { kind: 'create', table: definitionOf(statement, now) }
    case 'drop-table':
      return statement.table === undefined ? undefined : { kind: 'drop', name: statement.table.name }
    case 'add-column': {
      const table = known(snapshot, statement.table.name)
      const { column } = statement
      const uniques = column.unique ? [...table.uniques, [column.name]] : table.uniques
      const step: AlterStep = { kind: 'add-column', column: columnOf(column), isUnique: column.unique }
      return altered(table, { ...table, columns: [...table.columns, columnOf(column)], uniques }, step)
    }
    case 'drop-column': {
      const table = known(snapshot, statement.table.name)
      const { name } = statement.column
      const index = table.indexes.find(({ columns }) => columns.some((column) => column.name === name))
      if (index !== undefined)
        throw refuse('Data.Conflict', `The index ${index.name} uses the column ${name}; drop it first`)
      return altered(
        table,
        { ...table, columns: table.columns.filter((column) => column.name !== name) },
        { kind: 'drop-column', column: name },
      )
    }
    case 'rename-column': {
      const { name } = statement.column
      const table = known(snapshot, statement.table.name)
      return altered(table, renamed(table, name, statement.to), {
        kind: 'rename-column',
        column: name,
        to: statement.to,
      })
    }
    case 'set-rights': {
      const table = known(snapshot, statement.table.name)
      return altered(table, withRights(table, statement), { kind: 'rights' })
    }
    case 'create-index': {
      if (statement.exists) return undefined
      const table = known(snapshot, statement.table.name)
      const index = { name: statement.name, unique: statement.unique, columns: statement.columns }
      return altered(table, { ...table, indexes: [...table.indexes, index] }, { kind: 'create-index', index })
    }
    case 'drop-index': {
      if (statement.index === undefined) return undefined
      const { name } = statement.index
      const table = known(snapshot, statement.index.table.name)
      return altered(
        table,
        { ...table, indexes: table.indexes.filter((index) => index.name !== name) },
        { kind: 'drop-index', index: name },
      )
    }
    default:
      throw new Error(`${statement.kind} is no definition`)
  }
}

/** What the engines keep for themselves. */
const RESERVED = /^(_gh_|sqlite_)/i

export function definitionOf(statement: CreateTable, now: bigint): TableDefinition {
  if (RESERVED.test(statement.name))
    throw refuse('Data.ReservedName', `Names like ${statement.name} are kept for the service`)
  const ofColumns = statement.columns.filter(({ unique }) => unique).map(({ name }) => [name])
  return {
    name: statement.name,
    columns: statement.columns.map(columnOf),
    primaryKey: statement.primaryKey,
    uniques: [...ofColumns, ...statement.uniques],
    indexes: [],
    readScope: statement.readScope,
    writeScope: statement.writeScope,
    rowFilter: statement.rowFilter,
    description: statement.comment,
    created: now,
  }
}

function columnOf(column: BoundColumn): ColumnDefinition {
  return { name: column.name, type: column.type, nullable: column.nullable, default: column.default?.text }
}

function known(snapshot: Snapshot, name: string): TableDefinition {
  const table = snapshot.definitionOf(name)
  if (table === undefined) throw new Error(`The table ${name} is not in the catalogue`)
  return table
}

function altered(from: TableDefinition, table: TableDefinition, step: AlterStep): CatalogueChange {
  return { kind: 'alter', name: table.name, from, table, step }
}

function withRights(table: TableDefinition, set: SetRights): TableDefinition {
  const chosen = (said: string | null | undefined, current: string | undefined): string | undefined =>
    said === undefined ? current : (said ?? undefined)
  return {
    ...table,
    readScope: chosen(set.readScope, table.readScope),
    writeScope: chosen(set.writeScope, table.writeScope),
    rowFilter: chosen(set.rowFilter, table.rowFilter),
    description: chosen(set.comment, table.description),
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
  }
}
