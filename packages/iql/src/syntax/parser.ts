/** Parses one IQL statement into a syntax tree: recursive descent, with a Pratt loop for expressions. */
import { Refusal } from 'gatehouse-protocol'
import type { Explain, ExplainLive, ExplainRetention, Statement } from './ast.ts'
import type { Expression } from './ast-query.ts'
import { type Token, tokenize } from './lexer.ts'
import { DEFAULT_LIMITS, type Limits } from './limits.ts'
import { parseAlter, parseCreate, parseDrop } from './parse-define.ts'
import { parseAbove, parseExpression } from './parse-expression.ts'
import { isOfKeptView, parseKeptView, parseRefresh } from './parse-kept-view.ts'
import { parseParenthesisedQuery, parseQuery } from './parse-select.ts'
import { parseDelete, parseInsert, parseUpdate } from './parse-write.ts'
import { type SharedRules, TokenStream } from './token-stream.ts'

/** `tokens` are those of the statement, where they are known. */
export function parse(statement: string, limits: Limits = DEFAULT_LIMITS, tokens?: readonly Token[]): Statement {
  return parseWhole(statement, limits, parseStatement, tokens)
}

/** Parses a standalone expression: a row filter or a default. */
export function parseExpressionText(text: string, limits: Limits = DEFAULT_LIMITS): Expression {
  return parseWhole(text, limits, parseExpression)
}

const RULES: SharedRules = { subquery: parseParenthesisedQuery, expression: parseAbove }

function parseWhole<Tree>(
  text: string,
  limits: Limits,
  rule: (tokens: TokenStream) => Tree,
  tokens: readonly Token[] = tokenize(text, limits),
): Tree {
  const openStream = (recordExpected: boolean) => new TokenStream(text, tokens, limits, recordExpected, RULES)
  try {
    return parseToEnd(openStream(false), rule)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'IQL.Syntax') throw error
    // Only a statement that fails pays for recording what was expected at each token.
    return parseToEnd(openStream(true), rule)
  }
}

/** Script = Statement [";"] */
function parseToEnd<Tree>(tokens: TokenStream, rule: (tokens: TokenStream) => Tree): Tree {
  const tree = rule(tokens)
  const ended = tokens.accepts(';')
  if (tokens.token.kind === 'end') return tree
  if (ended) throw tokens.fail('One statement at a time: nothing can follow the ;', tokens.token.at)
  tokens.couldBe('the end of the statement')
  throw tokens.unexpected()
}

/** Statement = Query | Insert | Update | Delete | Create | Alter | Drop | KeptView | Refresh | Explain | Describe | Show */
function parseStatement(tokens: TokenStream): Statement {
  if (tokens.sees('select') || tokens.sees('with') || tokens.sees('(')) return parseQuery(tokens)
  if (tokens.sees('insert')) return parseInsert(tokens)
  if (tokens.sees('update')) return parseUpdate(tokens)
  if (tokens.sees('delete')) return parseDelete(tokens)
  if (isOfKeptView(tokens)) return parseKeptView(tokens)
  if (tokens.sees('create')) return parseCreate(tokens)
  if (tokens.sees('alter')) return parseAlter(tokens)
  if (tokens.sees('drop')) return parseDrop(tokens)
  if (tokens.sees('refresh')) return parseRefresh(tokens)
  if (tokens.sees('explain')) return parseExplain(tokens)
  if (tokens.sees('describe')) return parseDescribe(tokens)
  if (tokens.sees('show')) return parseShow(tokens)
  throw tokens.unexpected()
}

/** Explain = "EXPLAIN" (["ANALYZE"] Query | Insert | Update | Delete | AlterTable | "LIVE" Query) */
function parseExplain(tokens: TokenStream): Explain | ExplainLive | ExplainRetention {
  const at = tokens.expects('explain')
  if (tokens.accepts('live')) return { kind: 'explain-live', query: parseQuery(tokens), at }
  const analyze = tokens.accepts('analyze')
  const startsAt = tokens.token.at
  const statement = parseStatement(tokens)
  switch (statement.kind) {
    case 'query':
    case 'insert':
    case 'update':
    case 'delete':
      if (!analyze) return { kind: 'explain', statement, at }
      if (statement.kind === 'query') return { kind: 'explain', analyze, statement, at }
      throw tokens.fail(
        'EXPLAIN ANALYZE runs the statement, and takes a SELECT only',
        startsAt,
        'Syntax',
        'write EXPLAIN',
      )
    case 'alter-table':
      if (!analyze && statement.action.kind === 'set' && statement.action.retention !== undefined)
        return { kind: 'explain-retention', statement, at }
      throw tokens.fail('EXPLAIN takes an ALTER TABLE that sets a retention, no other', startsAt)
    case 'alter-kept-view':
      if (!analyze && statement.changes.retention !== undefined) return { kind: 'explain-retention', statement, at }
      throw tokens.fail('EXPLAIN takes an ALTER MATERIALIZED VIEW that sets a retention, no other', startsAt)
    default:
      throw tokens.fail('EXPLAIN takes a SELECT, INSERT, UPDATE or DELETE', startsAt)
  }
}

/** Describe = "DESCRIBE" Table */
function parseDescribe(tokens: TokenStream): Statement {
  const at = tokens.expects('describe')
  return { kind: 'describe', table: tokens.tableName(), at }
}

/** Show = "SHOW" ("TABLES" | "COLUMNS" "FROM" Table) */
function parseShow(tokens: TokenStream): Statement {
  const at = tokens.expects('show')
  if (tokens.accepts('tables')) return { kind: 'show-tables', at }
  tokens.expects('columns')
  tokens.expects('from')
  return { kind: 'describe', table: tokens.tableName(), at }
}
