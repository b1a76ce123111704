/** Reads one IQL statement into its syntax tree: recursive descent, with a Pratt loop for expressions. */
import { Refusal } from '../../protocol/refusal.ts'
import type { Explain, Statement } from './ast.ts'
import type { Expression } from './ast-expression.ts'
import { Cursor } from './cursor.ts'
import { tokenize } from './lexer.ts'
import { DEFAULT_LIMITS, type Limits } from './limits.ts'
import { parseAlterTable, parseCreate, parseDrop } from './parse-define.ts'
import { parseExpression } from './parse-expression.ts'
import { parseQuery } from './parse-select.ts'
import { parseDelete, parseInsert, parseUpdate } from './parse-write.ts'

export function parse(statement: string, limits: Limits = DEFAULT_LIMITS): Statement {
  return parseWhole(statement, limits, parseStatement)
}

/** Reads an expression alone: a row filter, a default. */
export function parseExpressionText(text: string, limits: Limits = DEFAULT_LIMITS): Expression {
  return parseWhole(text, limits, parseExpression)
}

function parseWhole<Tree>(text: string, limits: Limits, rule: (cursor: Cursor) => Tree): Tree {
  const tokens = tokenize(text, limits)
  try {
    return parseToEnd(new Cursor(text, tokens, limits, false), rule)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'IQL.Syntax') throw error
    // Only a statement that fails pays for writing down what could have stood where.
    return parseToEnd(new Cursor(text, tokens, limits, true), rule)
  }
}

/** Script = Statement [";"] */
function parseToEnd<Tree>(cursor: Cursor, rule: (cursor: Cursor) => Tree): Tree {
  const tree = rule(cursor)
  const ended = cursor.accepts(';')
  if (cursor.token.kind === 'end') return tree
  if (ended) throw cursor.fail('One statement at a time: nothing can follow the ;', cursor.token.at)
  cursor.couldBe('the end of the statement')
  throw cursor.unexpected()
}

/** Statement = Query | Insert | Update | Delete | Create | AlterTable | Drop | Explain | Describe | Show */
function parseStatement(cursor: Cursor): Statement {
  if (cursor.sees('select') || cursor.sees('with') || cursor.sees('(')) return parseQuery(cursor)
  if (cursor.sees('insert')) return parseInsert(cursor)
  if (cursor.sees('update')) return parseUpdate(cursor)
  if (cursor.sees('delete')) return parseDelete(cursor)
  if (cursor.sees('create')) return parseCreate(cursor)
  if (cursor.sees('alter')) return parseAlterTable(cursor)
  if (cursor.sees('drop')) return parseDrop(cursor)
  if (cursor.sees('explain')) return parseExplain(cursor)
  if (cursor.sees('describe')) return parseDescribe(cursor)
  if (cursor.sees('show')) return parseShow(cursor)
  throw cursor.unexpected()
}

/** Explain = "EXPLAIN" (Query | Insert | Update | Delete) */
function parseExplain(cursor: Cursor): Explain {
  const at = cursor.expects('explain')
  const startsAt = cursor.token.at
  const statement = parseStatement(cursor)
  switch (statement.kind) {
    case 'query':
    case 'insert':
    case 'update':
    case 'delete':
      return { kind: 'explain', statement, at }
    default:
      throw cursor.fail('EXPLAIN takes a SELECT, INSERT, UPDATE or DELETE', startsAt)
  }
}

/** Describe = "DESCRIBE" Name */
function parseDescribe(cursor: Cursor): Statement {
  const at = cursor.expects('describe')
  return { kind: 'describe', table: cursor.name('a table'), at }
}

/** Show = "SHOW" ("TABLES" | "COLUMNS" "FROM" Name) */
function parseShow(cursor: Cursor): Statement {
  const at = cursor.expects('show')
  if (cursor.accepts('tables')) return { kind: 'show-tables', at }
  cursor.expects('columns')
  cursor.expects('from')
  return { kind: 'show-columns', table: cursor.name('a table'), at }
}
