/** Table definitions that arrive as data (CatalogueTable, the declarative file) become CREATE TABLE, so that one binder checks them all. */

import {
  type BoundColumn,
  bind,
  type CatalogueView,
  type CreateTable,
  NO_TABLES,
  parse,
  parseExpressionText,
  printExpression,
  typeName,
} from 'gatehouse-iql'
import type { StepUpNeed } from 'gatehouse-protocol'
import { refuse } from '../errors.ts'
import type { AttributeViews } from './attributes.ts'
import type { CheckDefinition, ColumnDefinition, RetentionDefinition, TableDefinition } from './definition.ts'
import { toRetention } from './retention.ts'
import { toRules } from './step-up.ts'

export interface TableInput {
  readonly name: string
  readonly columns: readonly ColumnInput[]
  readonly readScope: string | undefined
  readonly writeScope: string | undefined
  readonly rowFilter: string | undefined
  readonly stepUp?: TableDefinition['stepUp']
  readonly description: string | undefined
  readonly isLive: boolean
  readonly isColumnar?: boolean | undefined
  readonly retention?: TableDefinition['retention']
  readonly isHeld?: boolean | undefined
  readonly checks?: readonly CheckDefinition[] | undefined
}

export interface ColumnInput {
  readonly name: string
  /** As written in IQL. */
  readonly type: string
  readonly nullable: boolean
  readonly primaryKey: boolean
  readonly unique: boolean
  readonly default: string | undefined
}

/** Binds the definition like a CREATE TABLE of a caller with this view of the catalogue. */
export function defineTable(table: TableInput, view: CatalogueView, now: bigint): TableDefinition {
  return toTableDefinition(bindCreateTable(createTableText(table), view), now)
}

/** Binds an existing definition again: its defaults, and its row filter, because an invalid row filter would make the table unreadable. */
export function rebind(table: TableDefinition, attributes: AttributeViews): CreateTable {
  const columns = table.columns.map((column) => ({
    name: column.name,
    type: typeName(column.type),
    nullable: column.nullable,
    primaryKey: table.primaryKey.includes(column.name),
    unique: false,
    default: column.default,
  }))
  return bindCreateTable(createTableText({ ...table, columns }), { ...NO_TABLES, attributes })
}

function bindCreateTable(text: string, view: CatalogueView): CreateTable {
  const { statement } = bind(parse(text), text, view)
  if (statement.kind !== 'create-table') throw new Error(`Not a CREATE TABLE: ${statement.kind}`)
  return statement
}

/** Names that the engines reserve for themselves. */
const RESERVED = /^(_gh_|sqlite_)/i

export function refuseReserved(name: string): void {
  if (RESERVED.test(name)) throw refuse('Data.ReservedName', `Names like ${name} are reserved for the service`)
}

export function toTableDefinition(statement: CreateTable, now: bigint): TableDefinition {
  refuseReserved(statement.name)
  const uniqueColumns = statement.columns.filter(({ unique }) => unique).map(({ name }) => [name])
  return {
    name: statement.name,
    columns: statement.columns.map(toColumnDefinition),
    primaryKey: statement.primaryKey,
    uniques: [...uniqueColumns, ...statement.uniques],
    indexes: [],
    ...(statement.checks.length === 0 ? {} : { checks: statement.checks }),
    readScope: statement.readScope,
    writeScope: statement.writeScope,
    rowFilter: statement.rowFilter,
    stepUp: toRules(statement.readNeed, statement.writeNeed),
    description: statement.comment,
    isLive: statement.isLive,
    ...(statement.isColumnar ? { isColumnar: true } : {}),
    ...(statement.retention ? { retention: toRetention(statement.retention) } : {}),
    ...(statement.isHeld ? { isHeld: true } : {}),
    created: now,
  }
}

export function toColumnDefinition(column: BoundColumn): ColumnDefinition {
  return { name: column.name, type: column.type, nullable: column.nullable, default: column.default?.text }
}

/** Names are quoted, types must look like types, and expressions are parsed and printed again: no part can change the statement. */
function createTableText(table: TableInput): string {
  const key = table.columns.filter(({ primaryKey }) => primaryKey)
  const parts = table.columns.map((column) => columnText(column))
  if (key.length > 0) parts.push(`PRIMARY KEY (${key.map(({ name }) => quoteName(name)).join(', ')})`)
  for (const { name, condition } of table.checks ?? [])
    parts.push(`CONSTRAINT ${quoteName(name)} CHECK (${expressionText(condition)})`)
  return [
    `CREATE TABLE ${quoteName(table.name)} (${parts.join(', ')})`,
    ...(table.readScope === undefined ? [] : [`READ SCOPE ${quoteText(table.readScope)}`]),
    ...(table.writeScope === undefined ? [] : [`WRITE SCOPE ${quoteText(table.writeScope)}`]),
    ...(table.rowFilter === undefined ? [] : [`ROW FILTER (${expressionText(table.rowFilter)})`]),
    ...needText('REQUIRE', table.stepUp?.read),
    ...needText('WRITE REQUIRE', table.stepUp?.write),
    ...(table.description === undefined ? [] : [`COMMENT ${quoteText(table.description)}`]),
    ...(table.isLive ? [] : ['WITH (live = off)']),
    ...(table.isColumnar ? ['WITH (columns = on)'] : []),
    ...(table.retention === undefined ? [] : [`WITH (retention = ${retentionText(table.retention)})`]),
    ...(table.isHeld ? ['WITH (hold = on)'] : []),
  ].join(' ')
}

function needText(words: string, need: StepUpNeed | undefined): string[] {
  if (need === undefined) return []
  const parts = [
    ...(need.acr === undefined ? [] : [`acr = ${need.acr}`]),
    ...(need.age === undefined ? [] : [`age = ${need.age}`]),
  ]
  return [`${words} (${parts.join(', ')})`]
}

function columnText(column: ColumnInput): string {
  if (!TYPE_FORM.test(column.type)) {
    throw refuse(
      'Request.BadBody',
      `The column ${column.name} has the type ${JSON.stringify(column.type)}, which does not exist`,
    )
  }
  return [
    `${quoteName(column.name)} ${column.type}`,
    ...(column.nullable ? [] : ['NOT NULL']),
    ...(column.unique ? ['UNIQUE'] : []),
    ...(column.default === undefined ? [] : [`DEFAULT ${expressionText(column.default)}`]),
  ].join(' ')
}

const TYPE_FORM = /^[A-Za-z]+( ?\( ?\d{1,3}( ?, ?\d{1,3})? ?\))?$/

/** Canonical IQL: also the form in which the catalogue stores expressions. */
export function expressionText(text: string): string {
  return printExpression(parseExpressionText(text))
}

function retentionText({ time, on }: RetentionDefinition): string {
  return `${quoteText(time)} ON ${quoteName(on)}`
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
