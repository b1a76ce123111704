/** Writes a syntax tree as a statement again, in one canonical form: parse(print(x)) is x, but for positions. */
import type {
  Body,
  ColumnDefinition,
  CreateTable,
  Cte,
  From,
  Insert,
  OnConflict,
  Query,
  SelectItem,
  Statement,
  TableChanges,
} from './ast.ts'
import { printExpression, printName, printOrderBy, printText, printType } from './print-expression.ts'

export function print(statement: Statement): string {
  switch (statement.kind) {
    case 'query':
      return printQuery(statement)
    case 'insert':
      return printInsert(statement)
    case 'update': {
      const { table, alias, set, where, returning } = statement
      const target = `UPDATE ${printName(table)}${printAlias(alias)} SET ${printSet(set)}`
      return `${target}${printWhich(where)}${printReturning(returning)}`
    }
    case 'delete': {
      const { table, alias, where, returning } = statement
      return `DELETE FROM ${printName(table)}${printAlias(alias)}${printWhich(where)}${printReturning(returning)}`
    }
    case 'create-table':
      return printCreateTable(statement)
    case 'alter-table':
      return `ALTER TABLE ${printName(statement.table)} ${printAlteration(statement.action)}`
    case 'drop-table':
      return `DROP TABLE ${statement.ifExists ? 'IF EXISTS ' : ''}${printName(statement.name)}`
    case 'create-index': {
      const { unique, ifNotExists, name, table, columns } = statement
      const list = columns.map((column) => `${printName(column.name)}${column.descending ? ' DESC' : ''}`).join(', ')
      const what = `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${ifNotExists ? 'IF NOT EXISTS ' : ''}${printName(name)}`
      return `${what} ON ${printName(table)} (${list})`
    }
    case 'drop-index':
      return `DROP INDEX ${statement.ifExists ? 'IF EXISTS ' : ''}${printName(statement.name)}`
    case 'explain':
      return `EXPLAIN ${print(statement.statement)}`
    case 'describe':
      return `DESCRIBE ${printName(statement.table)}`
    case 'show-tables':
      return 'SHOW TABLES'
    case 'show-columns':
      return `SHOW COLUMNS FROM ${printName(statement.table)}`
  }
}

export function printQuery({ with: ctes, body, orderBy, limit, offset }: Query): string {
  const named = ctes.length === 0 ? '' : `WITH ${ctes.map(printCte).join(', ')} `
  const ordered = orderBy.length === 0 ? '' : ` ${printOrderBy(orderBy)}`
  const limited = limit === undefined ? '' : ` LIMIT ${printExpression(limit)}`
  const skipped = offset === undefined ? '' : ` OFFSET ${printExpression(offset)}`
  return `${named}${printBody(body, 0)}${ordered}${limited}${skipped}`
}

function printCte({ name, columns, query }: Cte): string {
  const list = columns.length === 0 ? '' : ` (${columns.map(printName).join(', ')})`
  return `${printName(name)}${list} AS (${printQuery(query)})`
}

/** UNION and EXCEPT bind less than INTERSECT; `least` is what a body must bind more than to stand bare. */
function printBody(body: Body, least: number): string {
  switch (body.kind) {
    case 'query':
      return `(${printQuery(body)})`
    case 'select':
      return printSelect(body)
    case 'set': {
      const binding = body.operator === 'intersect' ? 2 : 1
      const left = printBody(body.left, binding - 1)
      const right = printBody(body.right, binding)
      const text = `${left} ${body.operator.toUpperCase()}${body.all ? ' ALL' : ''} ${right}`
      return binding > least ? text : `(${text})`
    }
  }
}

function printSelect({ distinct, items, from, where, groupBy, having }: Extract<Body, { kind: 'select' }>): string {
  const parts = [`SELECT ${distinct ? 'DISTINCT ' : ''}${printItems(items)}`]
  if (from !== undefined) parts.push(`FROM ${printFrom(from)}`)
  if (where !== undefined) parts.push(`WHERE ${printExpression(where)}`)
  if (groupBy.length > 0) parts.push(`GROUP BY ${groupBy.map((key) => printExpression(key)).join(', ')}`)
  if (having !== undefined) parts.push(`HAVING ${printExpression(having)}`)
  return parts.join(' ')
}

function printItems(items: readonly SelectItem[]): string {
  return items.map(printItem).join(', ')
}

function printItem(item: SelectItem): string {
  if (item.kind === 'all') return item.table === undefined ? '*' : `${printName(item.table)}.*`
  return `${printExpression(item.expression)}${printAlias(item.alias)}`
}

function printAlias(alias: Parameters<typeof printName>[0] | undefined): string {
  return alias === undefined ? '' : ` AS ${printName(alias)}`
}

const JOIN_WORDS = {
  inner: 'INNER JOIN',
  left: 'LEFT JOIN',
  right: 'RIGHT JOIN',
  full: 'FULL JOIN',
  cross: 'CROSS JOIN',
  asof: 'ASOF JOIN',
  'asof-left': 'ASOF LEFT JOIN',
} as const

function printFrom(from: From): string {
  switch (from.kind) {
    case 'table':
      return `${printName(from.name)}${printAlias(from.alias)}`
    case 'derived':
      return `(${printQuery(from.query)})${printAlias(from.alias)}`
    case 'join': {
      const right = from.right.kind === 'join' ? `(${printFrom(from.right)})` : printFrom(from.right)
      const on = from.on === undefined ? '' : ` ON ${printExpression(from.on)}`
      return `${printFrom(from.left)} ${JOIN_WORDS[from.join]} ${right}${on}`
    }
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

function printWhich(where: Parameters<typeof printExpression>[0] | undefined): string {
  return where === undefined ? ' ALL' : ` WHERE ${printExpression(where)}`
}

function printReturning(items: readonly SelectItem[]): string {
  return items.length === 0 ? '' : ` RETURNING ${printItems(items)}`
}

function printCreateTable(table: CreateTable): string {
  const keys = table.keys.map(({ kind, columns }) => {
    return `${kind === 'unique' ? 'UNIQUE' : 'PRIMARY KEY'} (${columns.map(printName).join(', ')})`
  })
  const parts = [...table.columns.map(printColumnDefinition), ...keys].join(', ')
  const head = `CREATE TABLE ${table.ifNotExists ? 'IF NOT EXISTS ' : ''}${printName(table.name)}`
  return `${head} (${parts})${printTableChanges(table)}`
}

function printColumnDefinition(column: ColumnDefinition): string {
  const said = [
    column.primaryKey ? ' PRIMARY KEY' : '',
    column.notNull ? ' NOT NULL' : '',
    column.unique ? ' UNIQUE' : '',
    column.default === undefined ? '' : ` DEFAULT ${printExpression(column.default)}`,
  ].join('')
  return `${printName(column.name)} ${printType(column.type)}${said}`
}

function printAlteration(action: Extract<Statement, { kind: 'alter-table' }>['action']): string {
  switch (action.kind) {
    case 'add':
      return `ADD COLUMN ${printColumnDefinition(action.column)}`
    case 'drop':
      return `DROP COLUMN ${printName(action.column)}`
    case 'rename':
      return `RENAME COLUMN ${printName(action.column)} TO ${printName(action.to)}`
    case 'set':
      return `SET${printTableChanges(action)}`
  }
}

function printTableChanges({ readScope, writeScope, rowFilter, comment }: TableChanges): string {
  return [
    printChange('READ SCOPE', readScope, printText),
    printChange('WRITE SCOPE', writeScope, printText),
    printChange('ROW FILTER', rowFilter, (filter) => `(${printExpression(filter)})`),
    printChange('COMMENT', comment, printText),
  ].join('')
}

function printChange<Part>(words: string, part: Part | null | undefined, print: (part: Part) => string): string {
  if (part === undefined) return ''
  return ` ${words} ${part === null ? 'NULL' : print(part)}`
}
