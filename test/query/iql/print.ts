/** Prints the syntax tree of any statement: parse(print(x)) equals x except for positions. The language itself prints queries and expressions only. */
import type {
  CheckDefinition,
  ColumnDefinition,
  CreateKeptView,
  CreateTable,
  CreateView,
  Insert,
  KeptViewChanges,
  OnConflict,
  Statement,
  TableChanges,
  ViewChanges,
} from '../../../packages/iql/src/syntax/ast.ts'
import type { SelectItem } from '../../../packages/iql/src/syntax/ast-query.ts'
import {
  printAlias,
  printExpression,
  printItems,
  printName,
  printQuery,
  printText,
  printType,
} from '../../../packages/iql/src/syntax/print-query.ts'

export function print(statement: Statement): string {
  switch (statement.kind) {
    case 'query':
      return printQuery(statement)
    case 'insert':
      return printInsert(statement)
    case 'update': {
      const { table, alias, set, where, returning } = statement
      const target = `UPDATE ${printName(table)}${printAlias(alias)} SET ${printSet(set)}`
      return `${target}${printWhereOrAll(where)}${printReturning(returning)}`
    }
    case 'delete': {
      const { table, alias, where, returning } = statement
      return `DELETE FROM ${printName(table)}${printAlias(alias)}${printWhereOrAll(where)}${printReturning(returning)}`
    }
    case 'create-table':
      return printCreateTable(statement)
    case 'alter-table':
      return `ALTER TABLE ${printName(statement.table)} ${printAlteration(statement.action)}`
    case 'drop-table':
      return `DROP TABLE ${statement.ifExists ? 'IF EXISTS ' : ''}${printName(statement.name)}`
    case 'create-view':
      return printCreateView(statement)
    case 'alter-view':
      return `ALTER VIEW ${printName(statement.name)} SET${printViewChanges(statement.changes)}`
    case 'drop-view':
      return `DROP VIEW ${statement.ifExists ? 'IF EXISTS ' : ''}${printName(statement.name)}`
    case 'create-kept-view':
      return printCreateKeptView(statement)
    case 'alter-kept-view':
      return `ALTER MATERIALIZED VIEW ${printName(statement.name)} SET${printKeptChanges(statement.changes)}`
    case 'drop-kept-view':
      return `DROP MATERIALIZED VIEW ${statement.ifExists ? 'IF EXISTS ' : ''}${printName(statement.name)}`
    case 'refresh-view':
      return `REFRESH MATERIALIZED VIEW ${printName(statement.name)}${statement.isFull ? ' FULL' : ''}`
    case 'create-index': {
      const { unique, ifNotExists, name, table, columns } = statement
      const list = columns.map((column) => `${printName(column.name)}${column.descending ? ' DESC' : ''}`).join(', ')
      const what = `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${ifNotExists ? 'IF NOT EXISTS ' : ''}${printName(name)}`
      return `${what} ON ${printName(table)} (${list})`
    }
    case 'drop-index':
      return `DROP INDEX ${statement.ifExists ? 'IF EXISTS ' : ''}${printName(statement.name)}`
    case 'explain':
      return `EXPLAIN ${statement.analyze ? 'ANALYZE ' : ''}${print(statement.statement)}`
    case 'explain-live':
      return `EXPLAIN LIVE ${print(statement.query)}`
    case 'explain-retention':
      return `EXPLAIN ${print(statement.statement)}`
    case 'describe':
      return `DESCRIBE ${printName(statement.table)}`
    case 'show-tables':
      return 'SHOW TABLES'
  }
}

function printInsert({ table, columns, source, onConflict, returning }: Insert): string {
  const list = columns.length === 0 ? '' : ` (${columns.map(printName).join(', ')})`
  const rows =
    source.kind === 'query'
      ? printQuery(source.query)
      : `VALUES ${source.rows.map(({ values }) => `(${values.map(printValue).join(', ')})`).join(', ')}`
  const conflict = onConflict === undefined ? '' : printOnConflict(onConflict)
  return `INSERT INTO ${printName(table)}${list} ${rows}${conflict}${printReturning(returning)}`
}

function printValue(value: Parameters<typeof printExpression>[0] | { readonly kind: 'default' }): string {
  return value.kind === 'default' ? 'DEFAULT' : printExpression(value)
}

function printOnConflict({ target, action }: OnConflict): string {
  const head = ` ON CONFLICT${target.length === 0 ? '' : ` (${target.map(printName).join(', ')})`} DO`
  if (action.kind === 'nothing') return `${head} NOTHING`
  const where = action.where === undefined ? '' : ` WHERE ${printExpression(action.where)}`
  return `${head} UPDATE SET ${printSet(action.set)}${where}`
}

function printSet(set: Extract<OnConflict['action'], { kind: 'update' }>['set']): string {
  return set.map(({ column, value }) => `${printName(column)} = ${printValue(value)}`).join(', ')
}

function printWhereOrAll(where: Parameters<typeof printExpression>[0] | undefined): string {
  return where === undefined ? ' ALL' : ` WHERE ${printExpression(where)}`
}

function printReturning(items: readonly SelectItem[]): string {
  return items.length === 0 ? '' : ` RETURNING ${printItems(items)}`
}

function printCreateTable(table: CreateTable): string {
  const keys = table.keys.map(({ kind, columns }) => {
    return `${kind === 'unique' ? 'UNIQUE' : 'PRIMARY KEY'} (${columns.map(printName).join(', ')})`
  })
  const checks = (table.checks ?? []).map(printCheck)
  const parts = [...table.columns.map(printColumnDefinition), ...keys, ...checks].join(', ')
  const filled = table.query === undefined ? '' : ` AS ${printQuery(table.query)}`
  const head = `CREATE TABLE ${table.ifNotExists ? 'IF NOT EXISTS ' : ''}${printName(table.name)}`
  return `${head}${parts === '' ? '' : ` (${parts})`}${printTableChanges(table)}${filled}`
}

function printCreateView(view: CreateView): string {
  const words = view.orReplace ? 'CREATE OR REPLACE VIEW' : `CREATE VIEW${view.ifNotExists ? ' IF NOT EXISTS' : ''}`
  const list = view.columns.length === 0 ? '' : ` (${view.columns.map(printName).join(', ')})`
  return `${words} ${printName(view.name)}${list}${printViewChanges(view)} AS ${printQuery(view.query)}`
}

function printCreateKeptView({ ifNotExists, name, columns, changes, query }: CreateKeptView): string {
  const words = `CREATE MATERIALIZED VIEW${ifNotExists ? ' IF NOT EXISTS' : ''}`
  const list = columns.length === 0 ? '' : ` (${columns.map(printName).join(', ')})`
  return `${words} ${printName(name)}${list}${printKeptChanges(changes)} AS ${printQuery(query)}`
}

function printKeptChanges(changes: KeptViewChanges): string {
  const others = {
    writeScope: undefined,
    writeNeed: undefined,
    rowFilter: undefined,
    live: undefined,
    hold: undefined,
  }
  return printTableChanges({ ...changes, ...others })
}

function printViewChanges({ readScope, comment }: ViewChanges): string {
  return `${printChange('READ SCOPE', readScope, printText)}${printChange('COMMENT', comment, printText)}`
}

function printColumnDefinition(column: ColumnDefinition): string {
  const constraints = [
    column.primaryKey ? ' PRIMARY KEY' : '',
    column.notNull ? ' NOT NULL' : '',
    column.unique ? ' UNIQUE' : '',
    column.default === undefined ? '' : ` DEFAULT ${printExpression(column.default)}`,
  ].join('')
  return `${printName(column.name)} ${printType(column.type)}${constraints}`
}

function printCheck({ name, condition }: CheckDefinition): string {
  return `${name === undefined ? '' : `CONSTRAINT ${printName(name)} `}CHECK (${printExpression(condition)})`
}

function printAlteration(action: Extract<Statement, { kind: 'alter-table' }>['action']): string {
  switch (action.kind) {
    case 'add':
      return `ADD COLUMN ${printColumnDefinition(action.column)}`
    case 'drop':
      return `DROP COLUMN ${printName(action.column)}`
    case 'add-check':
      return `ADD ${printCheck(action.check)}`
    case 'drop-check':
      return `DROP CONSTRAINT ${printName(action.name)}`
    case 'rename':
      return `RENAME COLUMN ${printName(action.column)} TO ${printName(action.to)}`
    case 'set':
      return `SET${printTableChanges(action)}`
  }
}

function printTableChanges(changes: TableChanges): string {
  const { readScope, writeScope, rowFilter, readNeed, writeNeed, comment, live, columnar, hold } = changes
  const { retention } = changes
  return [
    printChange('READ SCOPE', readScope, printText),
    printChange('WRITE SCOPE', writeScope, printText),
    printChange('ROW FILTER', rowFilter, (filter) => `(${printExpression(filter)})`),
    printChange('REQUIRE', readNeed, printNeed),
    printChange('WRITE REQUIRE', writeNeed, printNeed),
    printChange('COMMENT', comment, printText),
    printChange('WITH', live, (isOn) => `(live = ${isOn ? 'on' : 'off'})`),
    printChange('WITH', columnar, (isOn) => `(columns = ${isOn ? 'on' : 'off'})`),
    ...(retention === undefined
      ? []
      : [
          ` WITH (retention = ${retention === null ? 'NULL' : `${printText(retention.time)} ON ${printName(retention.on)}`})`,
        ]),
    printChange('WITH', hold, (isOn) => `(hold = ${isOn ? 'on' : 'off'})`),
  ].join('')
}

function printNeed(need: NonNullable<TableChanges['readNeed']>): string {
  return `(${Object.entries(need)
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ')})`
}

function printChange<Part>(words: string, part: Part | null | undefined, print: (part: Part) => string): string {
  if (part === undefined) return ''
  return ` ${words} ${part === null ? 'NULL' : print(part)}`
}
