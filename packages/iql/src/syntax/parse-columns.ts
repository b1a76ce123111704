/** Parses the parts of a table: columns, keys and CHECK constraints. */
import type { CheckDefinition, ColumnDefinition, KeyDefinition } from './ast.ts'
import type { Expression, Name, TypeRef } from './ast-query.ts'
import { call } from './parse-call.ts'
import { parseExpression } from './parse-expression.ts'
import { LIMITED_TEXTS, parseType } from './parse-type.ts'
import type { TokenStream } from './token-stream.ts'

/** Key = ["CONSTRAINT" Name] ("PRIMARY" "KEY" | "UNIQUE") "(" Name {"," Name} ")" */
export function parseKey(tokens: TokenStream): KeyDefinition | undefined {
  if (!opensKey(tokens)) return undefined
  acceptsConstraintName(tokens)
  const { key, at } = tokens.take()
  if (key === 'primary') tokens.expects('key')
  tokens.expects('(')
  const columns = tokens.closing(tokens.list((tokens) => tokens.columnName()))
  return { kind: key === 'unique' ? 'unique' : 'primary-key', columns, at }
}

/** None of the words is reserved: a column can be named constraint, and be a primary key. Only a key has columns in parentheses. */
function opensKey(tokens: TokenStream): boolean {
  if (tokens.token.kind !== 'word') return false
  const start = tokens.token.key === 'constraint' ? 2 : 0
  const { key } = tokens.ahead(start)
  if (key === 'unique') return tokens.ahead(start + 1).key === '('
  return key === 'primary' && tokens.ahead(start + 1).key === 'key' && (start === 0 || tokens.ahead(4).key === '(')
}

/** The name of a key has no effect: errors name its columns. */
function acceptsConstraintName(tokens: TokenStream): boolean {
  const isNamed = tokens.accepts('constraint')
  if (isNamed) tokens.name('a constraint')
  return isNamed
}

/** Neither word is reserved: both can be the names of columns. */
export function opensCheck(tokens: TokenStream): boolean {
  const { key, kind } = tokens.token
  if (kind !== 'word') return false
  if (key === 'check') return tokens.ahead(1).key === '('
  return key === 'constraint' && tokens.ahead(2).key === 'check' && tokens.ahead(3).key === '('
}

/** Check = ["CONSTRAINT" Name] "CHECK" "(" Expression ")" */
export function parseCheck(tokens: TokenStream, column?: Name): CheckDefinition {
  const { at } = tokens.token
  const name = tokens.accepts('constraint') ? tokens.name('a constraint') : undefined
  tokens.expects('check')
  tokens.expects('(')
  return { name, column, condition: tokens.closing(parseExpression(tokens)), at }
}

/**
 * ColumnDefinition = Name Type {["CONSTRAINT" Name] ("PRIMARY" "KEY" | "NOT" "NULL" | "NULL" | "UNIQUE" | "DEFAULT" Expression) | Check}
 *
 * Without `checks` the column is added to a table, and cannot have any.
 */
export function parseColumnDefinition(tokens: TokenStream, checks?: CheckDefinition[]): ColumnDefinition {
  const name = tokens.name('a column')
  const type = parseLimitedType(tokens, name, checks)
  const constraints = { primaryKey: false, notNull: false, unique: false }
  let defaultValue: Expression | undefined
  for (;;) {
    if (checks !== undefined && opensCheck(tokens)) {
      checks.push(parseCheck(tokens, name))
      continue
    }
    const isNamed = acceptsConstraintName(tokens)
    if (tokens.accepts('primary')) {
      tokens.expects('key')
      constraints.primaryKey = true
    } else if (tokens.accepts('not')) {
      tokens.expects('null')
      constraints.notNull = true
    } else if (tokens.accepts('unique')) constraints.unique = true
    else if (defaultValue === undefined && tokens.accepts('default')) defaultValue = parseExpression(tokens)
    else if (constraints.notNull || !tokens.accepts('null')) {
      if (isNamed) throw tokens.unexpected()
      break
    }
  }
  return { name, type, ...constraints, default: defaultValue }
}

function addHint(column: string, length: number): string {
  return `add ${column} as Text, then write ALTER TABLE … ADD CHECK (length(${column}) <= ${length})`
}

/** varchar(n) is a Text with a CHECK of its length. */
function parseLimitedType(tokens: TokenStream, column: Name, checks: CheckDefinition[] | undefined): TypeRef {
  const { at } = tokens.token
  const type = parseType(tokens)
  const [length] = type.arguments
  if (length === undefined || !LIMITED_TEXTS.has(type.name.text.toLowerCase())) return type
  if (length === 0 || type.arguments.length > 1) throw tokens.fail('A length is a number from 1', at, 'BadType')
  if (checks === undefined)
    throw tokens.fail('A column with a length cannot be added', at, 'BadType', addHint(column.text, length))
  const characters = call({ text: 'length', at }, [{ kind: 'column', table: undefined, name: column }])
  const limit = { kind: 'number', text: String(length), at } as const
  checks.push({
    name: undefined,
    column,
    condition: { kind: 'binary', operator: '<=', left: characters, right: limit, at },
    at,
  })
  return { ...type, arguments: [] }
}
