/**
 * Copies of tables as they were some time ago, for callers with delayed access. Four times a second the keeper writes a mark: how far the
 * change logs are, and then the time. A copy is moved to the newest mark that is old enough, by the rows that the log has of the changes
 * in between. All copies of a delay are moved in one commit, so that they show one state, and each state was one of the tables.
 * What both engines share.
 */
import { createHash } from 'node:crypto'
import { INTEGER, type IqlType, TEXT } from 'gatehouse-iql'
import type { CatalogueChange, TableDefinition } from '../catalogue/definition.ts'
import type { Sql } from './emit/dialect.ts'

/** The state of each copy. */
export const COPIES = '_gh_copies'
/** The marks, oldest first. */
export const MARKS = '_gh_marks'

const COPY_PREFIX = '_gh_delayed_'

/** Of a copy. */
export type CopyPhase =
  /** It gets the rows of its table in pieces, at any time. */
  | 'filling'
  /** It has had each row at some time since it began. It is a state of the table at the first mark since then. */
  | 'filled'
  /** It is a former state of the table. */
  | 'open'

interface OwnTablesDialect {
  readonly schema: string
  readonly columnType: (type: IqlType) => Sql
  readonly textKeyOptions: Sql
}

/** `position` is how far the log has been applied, `filled` when a copy had all rows, `asof` the time of its state; in microseconds. */
export function createCopyTables({ schema, columnType, textKeyOptions }: OwnTablesDialect): Sql[] {
  const [text, integer] = [TEXT, INTEGER].map(columnType)
  return [
    `CREATE TABLE IF NOT EXISTS ${schema}.${COPIES} (
      name ${text} PRIMARY KEY, base ${text} NOT NULL, delay ${integer} NOT NULL, phase ${text} NOT NULL, position ${text} NOT NULL,
      filled ${integer}, asof ${integer}
    )${textKeyOptions}`,
    `CREATE TABLE IF NOT EXISTS ${schema}.${MARKS} (id ${integer} PRIMARY KEY, at ${integer} NOT NULL, position ${text} NOT NULL)`,
  ]
}

/** It depends on the name of the table and the delay alone. */
export function copyName(table: string, delay: number): string {
  return `${COPY_PREFIX}${createHash('sha256').update(table.toLowerCase()).digest('hex').slice(0, 24)}_${delay}`
}

/** The copy of a table for one of its delays: with its columns, key and indexes, and a log of its own. */
export function copyDefinition(table: TableDefinition, delay: number): TableDefinition {
  const name = copyName(table.name, delay)
  const uniques = [...table.uniques.map((columns) => columns.map((column) => ({ name: column, descending: false })))]
  const indexes = [...table.indexes.map(({ columns }) => columns), ...uniques]
  return {
    name,
    columns: table.columns.map((column) => ({ ...column, default: undefined })),
    primaryKey: table.primaryKey,
    // Several commits are applied as one, so that a row can take the unique value of another one before that has lost it.
    uniques: [],
    indexes: indexes.map((columns, index) => ({ name: `${name}_${index}`, unique: false, columns })),
    readScope: undefined,
    writeScope: undefined,
    rowFilter: undefined,
    description: undefined,
    isLive: true,
    created: table.created,
  }
}

/** A copy, and what it is one of. */
export interface Copy {
  readonly definition: TableDefinition
  readonly base: TableDefinition
  /** In milliseconds. */
  readonly delay: number
}

export function listCopies(tables: readonly TableDefinition[]): Copy[] {
  return tables.flatMap((base) =>
    (base.delays ?? []).map((delay) => ({ definition: copyDefinition(base, delay), base, delay })),
  )
}

/** Whether the log of the table holds each row as it became, so that copies can be moved. */
export function isDelayed({ delays = [] }: Pick<TableDefinition, 'delays'>): boolean {
  return delays.length > 0
}

/** What a change of the catalogue means for the copies of its table. */
export interface CopyChange {
  readonly drop: readonly Copy[]
  readonly create: readonly Copy[]
  /** Those that stay, but have other indexes: as they were, and as they become. */
  readonly indexed: readonly (readonly [before: Copy, after: Copy])[]
}

/** With other columns it is another table: its copies begin anew. */
export function toCopyChange(change: CatalogueChange, before: TableDefinition | undefined): CopyChange {
  const after = change.kind === 'drop' ? undefined : change.table
  const old = listCopies(before === undefined ? [] : [before])
  const now = listCopies(after === undefined ? [] : [after])
  const isSame = before !== undefined && after !== undefined && writeForm(before) === writeForm(after)
  if (!isSame) return { drop: old, create: now, indexed: [] }
  const find = (copies: readonly Copy[], { delay }: Copy) => copies.find((copy) => copy.delay === delay)
  return {
    drop: old.filter((copy) => find(now, copy) === undefined),
    create: now.filter((copy) => find(old, copy) === undefined),
    indexed: now.flatMap((copy) => {
      const known = find(old, copy)
      const isOther = known !== undefined && writeIndexes(known) !== writeIndexes(copy)
      return isOther ? [[known, copy] as const] : []
    }),
  }
}

function writeForm({ columns, primaryKey, isLive }: TableDefinition): string {
  return JSON.stringify([columns.map(({ name, type, nullable }) => [name, type, nullable]), primaryKey, isLive])
}

function writeIndexes({ definition }: Copy): string {
  return JSON.stringify(definition.indexes)
}
