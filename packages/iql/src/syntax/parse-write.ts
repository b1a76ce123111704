/** Parses the statements that change rows: INSERT, UPDATE, DELETE. */
import type { Assignment, DefaultValue, Delete, Insert, OnConflict, Update, ValueRow } from './ast.ts'
import type { Expression, Name, SelectItem } from './ast-query.ts'
import { parseExpression, parseItem } from './parse-expression.ts'
import { parseAlias, parseQuery, parseSelectItem } from './parse-select.ts'
import type { TokenStream } from './token-stream.ts'

/**
 * Insert = "INSERT" "INTO" Table ["(" Name {"," Name} ")"] ("VALUES" Row {"," Row} | Query)
 *          [OnConflict] [Returning]
 */
export function parseInsert(tokens: TokenStream): Insert {
  const at = tokens.expects('insert')
  tokens.expects('into')
  const table = tokens.tableName()
  const columns = parseInsertColumns(tokens)
  const source = parseInsertSource(tokens)
  return {
    kind: 'insert',
    table,
    columns,
    source,
    onConflict: parseOnConflict(tokens),
    returning: parseReturning(tokens),
    at,
  }
}

function parseInsertColumns(tokens: TokenStream): Name[] {
  if (!tokens.sees('(') || tokens.opensQuery()) return []
  tokens.take()
  return tokens.closing(tokens.list((tokens) => tokens.columnName()))
}

function parseInsertSource(tokens: TokenStream): Insert['source'] {
  if (tokens.accepts('values')) return { kind: 'values', rows: tokens.list(parseRow) }
  if (!(tokens.sees('select') || tokens.sees('with') || tokens.sees('('))) throw tokens.unexpected()
  return { kind: 'query', query: parseQuery(tokens) }
}

/** Row = "(" Value {"," Value} ")" */
function parseRow(tokens: TokenStream): ValueRow {
  const at = tokens.expects('(')
  return { values: tokens.closing(tokens.list(parseValue)), at }
}

/** Value = Expression | "DEFAULT" */
function parseValue(tokens: TokenStream): Expression | DefaultValue {
  return tokens.sees('default') ? { kind: 'default', at: tokens.take().at } : parseItem(tokens)
}

/**
 * OnConflict = "ON" "CONFLICT" ["(" Name {"," Name} ")"] "DO" ("NOTHING"
 *            | "UPDATE" "SET" Assignment {"," Assignment} ["WHERE" Expression])
 */
function parseOnConflict(tokens: TokenStream): OnConflict | undefined {
  if (!tokens.sees('on')) return undefined
  const at = tokens.take().at
  tokens.expects('conflict')
  const target = tokens.accepts('(') ? tokens.closing(tokens.list((tokens) => tokens.columnName())) : []
  tokens.expects('do')
  if (tokens.accepts('nothing')) return { target, action: { kind: 'nothing' }, at }
  tokens.expects('update')
  const set = parseSet(tokens)
  const where = tokens.accepts('where') ? parseExpression(tokens) : undefined
  return { target, action: { kind: 'update', set, where }, at }
}

function parseSet(tokens: TokenStream): Assignment[] {
  tokens.expects('set')
  return tokens.list(parseAssignment)
}

/** Assignment = Name "=" Value */
function parseAssignment(tokens: TokenStream): Assignment {
  const column = tokens.name('a column')
  tokens.expects('=')
  return { column, value: parseValue(tokens) }
}

/** Update = "UPDATE" Table [Alias] "SET" Assignment {"," Assignment} ("WHERE" Expression | "ALL") [Returning] */
export function parseUpdate(tokens: TokenStream): Update {
  const at = tokens.expects('update')
  const table = tokens.tableName()
  const alias = parseAlias(tokens)
  const set = parseSet(tokens)
  return { kind: 'update', table, alias, set, where: parseWhereOrAll(tokens), returning: parseReturning(tokens), at }
}

/** Delete = "DELETE" "FROM" Table [Alias] ("WHERE" Expression | "ALL") [Returning] */
export function parseDelete(tokens: TokenStream): Delete {
  const at = tokens.expects('delete')
  tokens.expects('from')
  const table = tokens.tableName()
  const alias = parseAlias(tokens)
  return { kind: 'delete', table, alias, where: parseWhereOrAll(tokens), returning: parseReturning(tokens), at }
}

/** Changing every row takes the keyword ALL, so that a forgotten WHERE is refused. */
function parseWhereOrAll(tokens: TokenStream): Expression | undefined {
  if (tokens.accepts('where')) return parseExpression(tokens)
  if (tokens.accepts('all')) return undefined
  throw tokens.unexpected('write ALL to change every row')
}

/** Returning = "RETURNING" SelectItem {"," SelectItem} */
function parseReturning(tokens: TokenStream): SelectItem[] {
  return tokens.accepts('returning') ? tokens.list(parseSelectItem) : []
}
