/** Reads the statements that change rows: INSERT, UPDATE, DELETE. */
import type { Assignment, DefaultValue, Delete, Insert, OnConflict, SelectItem, Update, ValueRow } from './ast.ts'
import type { Expression, Name } from './ast-expression.ts'
import type { Cursor } from './cursor.ts'
import { parseExpression } from './parse-expression.ts'
import { closing, parseAlias, parseColumnName, parseList, parseQuery, parseSelectItem } from './parse-select.ts'

/**
 * Insert = "INSERT" "INTO" Name ["(" Name {"," Name} ")"] ("VALUES" Row {"," Row} | Query)
 *          [OnConflict] [Returning]
 */
export function parseInsert(cursor: Cursor): Insert {
  const at = cursor.expects('insert')
  cursor.expects('into')
  const table = cursor.name('a table')
  const columns = parseInsertColumns(cursor)
  const source = parseInsertSource(cursor)
  return {
    kind: 'insert',
    table,
    columns,
    source,
    onConflict: parseOnConflict(cursor),
    returning: parseReturning(cursor),
    at,
  }
}

function parseInsertColumns(cursor: Cursor): Name[] {
  if (!cursor.sees('(') || cursor.opensQuery()) return []
  cursor.take()
  return closing(cursor, parseList(cursor, parseColumnName))
}

function parseInsertSource(cursor: Cursor): Insert['source'] {
  if (cursor.accepts('values')) return { kind: 'values', rows: parseList(cursor, parseRow) }
  if (!(cursor.sees('select') || cursor.sees('with') || cursor.sees('('))) throw cursor.unexpected()
  return { kind: 'query', query: parseQuery(cursor) }
}

/** Row = "(" Value {"," Value} ")" */
function parseRow(cursor: Cursor): ValueRow {
  const at = cursor.expects('(')
  return { values: closing(cursor, parseList(cursor, parseValue)), at }
}

/** Value = Expression | "DEFAULT" */
function parseValue(cursor: Cursor): Expression | DefaultValue {
  return cursor.sees('default') ? { kind: 'default', at: cursor.take().at } : parseExpression(cursor)
}

/**
 * OnConflict = "ON" "CONFLICT" ["(" Name {"," Name} ")"] "DO" ("NOTHING"
 *            | "UPDATE" "SET" Assignment {"," Assignment} ["WHERE" Expression])
 */
function parseOnConflict(cursor: Cursor): OnConflict | undefined {
  if (!cursor.sees('on')) return undefined
  const at = cursor.take().at
  cursor.expects('conflict')
  const target = cursor.accepts('(') ? closing(cursor, parseList(cursor, parseColumnName)) : []
  cursor.expects('do')
  if (cursor.accepts('nothing')) return { target, action: { kind: 'nothing' }, at }
  cursor.expects('update')
  const set = parseSet(cursor)
  const where = cursor.accepts('where') ? parseExpression(cursor) : undefined
  return { target, action: { kind: 'update', set, where }, at }
}

function parseSet(cursor: Cursor): Assignment[] {
  cursor.expects('set')
  return parseList(cursor, parseAssignment)
}

/** Assignment = Name "=" Value */
function parseAssignment(cursor: Cursor): Assignment {
  const column = cursor.name('a column')
  cursor.expects('=')
  return { column, value: parseValue(cursor) }
}

/** Update = "UPDATE" Name [Alias] "SET" Assignment {"," Assignment} ("WHERE" Expression | "ALL") [Returning] */
export function parseUpdate(cursor: Cursor): Update {
  const at = cursor.expects('update')
  const table = cursor.name('a table')
  const alias = parseAlias(cursor)
  const set = parseSet(cursor)
  return { kind: 'update', table, alias, set, where: parseWhich(cursor), returning: parseReturning(cursor), at }
}

/** Delete = "DELETE" "FROM" Name [Alias] ("WHERE" Expression | "ALL") [Returning] */
export function parseDelete(cursor: Cursor): Delete {
  const at = cursor.expects('delete')
  cursor.expects('from')
  const table = cursor.name('a table')
  const alias = parseAlias(cursor)
  return { kind: 'delete', table, alias, where: parseWhich(cursor), returning: parseReturning(cursor), at }
}

/** To change every row must be said: a forgotten WHERE is refused. */
function parseWhich(cursor: Cursor): Expression | undefined {
  if (cursor.accepts('where')) return parseExpression(cursor)
  if (cursor.accepts('all')) return undefined
  throw cursor.unexpected('to change every row, say ALL')
}

/** Returning = "RETURNING" SelectItem {"," SelectItem} */
function parseReturning(cursor: Cursor): SelectItem[] {
  return cursor.accepts('returning') ? parseList(cursor, parseSelectItem) : []
}
