/** Reads the statements that define tables and indexes: CREATE, ALTER, DROP. */
import type {
  AlterTable,
  ColumnDefinition,
  CreateIndex,
  CreateTable,
  KeyDefinition,
  Statement,
  TableChanges,
} from './ast.ts'
import type { Expression } from './ast-expression.ts'
import type { Cursor } from './cursor.ts'
import { parseExpression } from './parse-expression.ts'
import { parseType } from './parse-primary.ts'
import { closing, parseColumnName, parseList } from './parse-select.ts'

/** Create = CreateTable | CreateIndex */
export function parseCreate(cursor: Cursor): Statement {
  const at = cursor.expects('create')
  if (cursor.sees('table')) return parseCreateTable(cursor, at)
  const unique = cursor.accepts('unique')
  return parseCreateIndex(cursor, unique, at)
}

/**
 * CreateTable = "CREATE" "TABLE" ["IF" "NOT" "EXISTS"] Name "(" (ColumnDefinition | Key) {"," (ColumnDefinition | Key)} ")"
 *               {"READ" "SCOPE" Text | "WRITE" "SCOPE" Text | "ROW" "FILTER" "(" Expression ")" | "COMMENT" Text}
 */
function parseCreateTable(cursor: Cursor, at: number): CreateTable {
  cursor.expects('table')
  const ifNotExists = acceptsIfNotExists(cursor)
  const name = cursor.name('a table')
  cursor.expects('(')
  const columns: ColumnDefinition[] = []
  const keys: KeyDefinition[] = []
  do {
    const key = parseKey(cursor)
    if (key === undefined) columns.push(parseColumnDefinition(cursor))
    else keys.push(key)
  } while (cursor.accepts(','))
  cursor.expects(')')
  return { kind: 'create-table', ifNotExists, name, columns, keys, ...parseTableOptions(cursor), at }
}

function acceptsIfNotExists(cursor: Cursor): boolean {
  if (cursor.token.key !== 'if' || cursor.ahead(1).key !== 'not') return false
  cursor.take()
  cursor.take()
  cursor.expects('exists')
  return true
}

function acceptsIfExists(cursor: Cursor): boolean {
  if (cursor.token.key !== 'if' || cursor.ahead(1).key !== 'exists') return false
  cursor.take()
  cursor.take()
  return true
}

/** Key = ("PRIMARY" "KEY" | "UNIQUE") "(" Name {"," Name} ")" */
function parseKey(cursor: Cursor): KeyDefinition | undefined {
  const { key, at } = cursor.token
  if (key === 'primary' && cursor.ahead(1).key === 'key') {
    cursor.take()
    cursor.take()
  } else if (key === 'unique' && cursor.ahead(1).key === '(') cursor.take()
  else return undefined
  cursor.expects('(')
  const columns = closing(cursor, parseList(cursor, parseColumnName))
  return { kind: key === 'unique' ? 'unique' : 'primary-key', columns, at }
}

/** ColumnDefinition = Name Type {"PRIMARY" "KEY" | "NOT" "NULL" | "NULL" | "UNIQUE" | "DEFAULT" Expression} */
function parseColumnDefinition(cursor: Cursor): ColumnDefinition {
  const name = cursor.name('a column')
  const type = parseType(cursor)
  const said = { primaryKey: false, notNull: false, unique: false }
  let defaultValue: Expression | undefined
  for (;;) {
    if (cursor.accepts('primary')) {
      cursor.expects('key')
      said.primaryKey = true
    } else if (cursor.accepts('not')) {
      cursor.expects('null')
      said.notNull = true
    } else if (cursor.accepts('unique')) said.unique = true
    else if (defaultValue === undefined && cursor.accepts('default')) defaultValue = parseExpression(cursor)
    else if (said.notNull || !cursor.accepts('null')) break
  }
  return { name, type, ...said, default: defaultValue }
}

type TableOptions = Pick<CreateTable, 'readScope' | 'writeScope' | 'rowFilter' | 'comment'>

function parseTableOptions(cursor: Cursor): TableOptions {
  const { readScope, writeScope, rowFilter, comment } = parseTableChanges(cursor, (part) => part(cursor))
  return {
    readScope: readScope ?? undefined,
    writeScope: writeScope ?? undefined,
    rowFilter: rowFilter ?? undefined,
    comment: comment ?? undefined,
  }
}

type ReadPart = <Part>(part: (cursor: Cursor) => Part) => Part | null

/** Each at most once. */
function parseTableChanges(cursor: Cursor, read: ReadPart): TableChanges {
  let changes: TableChanges = { readScope: undefined, writeScope: undefined, rowFilter: undefined, comment: undefined }
  for (;;) {
    if (changes.readScope === undefined && cursor.accepts('read')) {
      cursor.expects('scope')
      changes = { ...changes, readScope: read(parseScope) }
    } else if (changes.writeScope === undefined && cursor.accepts('write')) {
      cursor.expects('scope')
      changes = { ...changes, writeScope: read(parseScope) }
    } else if (changes.rowFilter === undefined && cursor.accepts('row')) {
      cursor.expects('filter')
      changes = { ...changes, rowFilter: read(parseRowFilter) }
    } else if (changes.comment === undefined && cursor.accepts('comment')) {
      changes = { ...changes, comment: read(parseComment) }
    } else return changes
  }
}

function parseScope(cursor: Cursor): string {
  return cursor.text("a scope in 'quotes'")
}

function parseComment(cursor: Cursor): string {
  return cursor.text("a text in 'quotes'")
}

function parseRowFilter(cursor: Cursor): Expression {
  cursor.expects('(')
  return closing(cursor, parseExpression(cursor))
}

/** CreateIndex = "CREATE" ["UNIQUE"] "INDEX" ["IF" "NOT" "EXISTS"] Name "ON" Name "(" IndexColumn {"," IndexColumn} ")" */
function parseCreateIndex(cursor: Cursor, unique: boolean, at: number): CreateIndex {
  cursor.expects('index')
  const ifNotExists = acceptsIfNotExists(cursor)
  const name = cursor.name('an index')
  cursor.expects('on')
  const table = cursor.name('a table')
  cursor.expects('(')
  const columns = closing(cursor, parseList(cursor, parseIndexColumn))
  return { kind: 'create-index', unique, ifNotExists, name, table, columns, at }
}

/** IndexColumn = Name ["ASC" | "DESC"] */
function parseIndexColumn(cursor: Cursor): CreateIndex['columns'][number] {
  const name = cursor.name('a column')
  const descending = cursor.accepts('desc')
  if (!descending) cursor.accepts('asc')
  return { name, descending }
}

/**
 * AlterTable = "ALTER" "TABLE" Name ("ADD" ["COLUMN"] ColumnDefinition | "DROP" ["COLUMN"] Name
 *            | "RENAME" ["COLUMN"] Name "TO" Name | "SET" TableChange {TableChange})
 */
export function parseAlterTable(cursor: Cursor): AlterTable {
  const at = cursor.expects('alter')
  cursor.expects('table')
  const table = cursor.name('a table')
  return { kind: 'alter-table', table, action: parseAlteration(cursor), at }
}

function parseAlteration(cursor: Cursor): AlterTable['action'] {
  if (cursor.accepts('add')) {
    cursor.accepts('column')
    return { kind: 'add', column: parseColumnDefinition(cursor) }
  }
  if (cursor.accepts('drop')) {
    cursor.accepts('column')
    return { kind: 'drop', column: cursor.name('a column') }
  }
  if (cursor.accepts('set')) return parseSet(cursor)
  cursor.expects('rename')
  cursor.accepts('column')
  const column = cursor.name('a column')
  cursor.expects('to')
  return { kind: 'rename', column, to: cursor.name('a column') }
}

/**
 * TableChange = "READ" "SCOPE" (Text | "NULL") | "WRITE" "SCOPE" (Text | "NULL") | "ROW" "FILTER" ("(" Expression ")" | "NULL")
 *             | "COMMENT" (Text | "NULL")
 */
function parseSet(cursor: Cursor): AlterTable['action'] {
  const changes = parseTableChanges(cursor, (part) => (cursor.accepts('null') ? null : part(cursor)))
  if (Object.values(changes).every((change) => change === undefined)) throw cursor.unexpected()
  return { kind: 'set', ...changes }
}

/** Drop = "DROP" ("TABLE" | "INDEX") ["IF" "EXISTS"] Name */
export function parseDrop(cursor: Cursor): Statement {
  const at = cursor.expects('drop')
  const isTable = cursor.accepts('table')
  if (!isTable) cursor.expects('index')
  const ifExists = acceptsIfExists(cursor)
  const name = cursor.name(isTable ? 'a table' : 'an index')
  return { kind: isTable ? 'drop-table' : 'drop-index', ifExists, name, at }
}
