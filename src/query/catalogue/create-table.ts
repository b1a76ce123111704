/** Definitions that come as data (CatalogueTable, the declarative file) are said as CREATE TABLE, so that one binder checks them all. */
import { refuse } from '../errors.ts'
import { parseExpressionText } from '../iql/parser.ts'
import { printExpression } from '../iql/print-expression.ts'
import { typeName } from '../iql/types.ts'
import type { TableDefinition } from './definition.ts'

export interface NamedColumn {
  readonly name: string
  /** As IQL writes it. */
  readonly type: string
  readonly nullable: boolean
  readonly primaryKey: boolean
  readonly unique: boolean
  readonly default: string | undefined
}

export interface NamedTable {
  readonly name: string
  readonly columns: readonly NamedColumn[]
  readonly readScope: string | undefined
  readonly writeScope: string | undefined
  readonly rowFilter: string | undefined
  readonly description: string | undefined
}

/** Names are quoted, types have to look like types, expressions are read and printed again: nothing can slip in between. */
export function tableText(table: NamedTable): string {
  const key = table.columns.filter(({ primaryKey }) => primaryKey)
  const parts = table.columns.map((column) => columnText(column))
  if (key.length > 0) parts.push(`PRIMARY KEY (${key.map(({ name }) => quoteName(name)).join(', ')})`)
  return [
    `CREATE TABLE ${quoteName(table.name)} (${parts.join(', ')})`,
    ...(table.readScope === undefined ? [] : [`READ SCOPE ${quoteText(table.readScope)}`]),
    ...(table.writeScope === undefined ? [] : [`WRITE SCOPE ${quoteText(table.writeScope)}`]),
    ...(table.rowFilter === undefined ? [] : [`ROW FILTER (${expressionText(table.rowFilter)})`]),
    ...(table.description === undefined ? [] : [`COMMENT ${quoteText(table.description)}`]),
  ].join(' ')
}

/** The same for a definition that was checked before. */
export function createTableText(table: TableDefinition): string {
  return tableText({
    name: table.name,
    columns: table.columns.map((column) => ({
      name: column.name,
      type: typeName(column.type),
      nullable: column.nullable,
      primaryKey: table.primaryKey.includes(column.name),
      unique: false,
      default: column.default,
    })),
    readScope: table.readScope,
    writeScope: table.writeScope,
    rowFilter: table.rowFilter,
    description: table.description,
  })
}

function columnText(column: NamedColumn): string {
  if (!TYPE_FORM.test(column.type)) {
    throw refuse(
      'Request.BadBody',
      `The column ${column.name} has the type ${JSON.stringify(column.type)}, which is none`,
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

function expressionText(text: string): string {
  return printExpression(parseExpressionText(text))
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
