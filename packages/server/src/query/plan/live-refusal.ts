/** Statements that cannot be live: the refusal says which part is in the way, and what to do. */

import {
  type Bound,
  type BoundQuery,
  type BoundStatement,
  DEFAULT_LIMITS,
  findVolatility,
  refuse,
  type ScalarId,
  tokenize,
  walkQuery,
} from 'gatehouse-iql'
import type { Refusal } from 'gatehouse-protocol'

/** The query of a statement that can be live. */
export function checkLive({ statement, tables }: Bound, text: string): BoundQuery {
  if (statement.kind !== 'query') throw notLive(text, ...otherStatement(statement))
  if (tables.length === 0)
    throw notLive(text, 'The statement reads no table, so its result never changes', 'run it once, as a query')
  for (const part of walkQuery(statement)) {
    if (part.kind === 'query' && !part.isExists) refuseUnordered(part.query, text)
    if (part.kind === 'expression' && part.expression.kind === 'call')
      refuseRandom(part.expression.function, part.isOfRowFilter, text)
  }
  return statement
}

function otherStatement(statement: Exclude<BoundStatement, BoundQuery>): [message: string, hint: string] {
  switch (statement.kind) {
    case 'insert':
    case 'update':
    case 'delete':
      return [`${statement.kind.toUpperCase()} writes; only a SELECT can be live`, 'run the write by itself']
    case 'explain':
    case 'explain-live':
    case 'explain-retention':
      return ['EXPLAIN describes a statement; only a SELECT can be live', 'leave out EXPLAIN']
    case 'describe':
      return [
        'DESCRIBE and SHOW COLUMNS cannot be live',
        `select from cataloguecolumns where tablename = '${statement.table.name.replaceAll("'", "''")}'`,
      ]
    case 'show-tables':
      return ['SHOW TABLES cannot be live', 'select from cataloguetables']
    default:
      return ['The statement defines tables; only a SELECT can be live', 'run the definition by itself']
  }
}

/** Without an order the database chooses which rows come first, and the choice may differ from run to run. */
function refuseUnordered({ limit, offset, orderBy }: BoundQuery, text: string): void {
  if (orderBy.length > 0 || (limit === undefined && offset === undefined)) return
  const word = limit === undefined ? 'OFFSET' : 'LIMIT'
  throw notLive(
    text,
    `${word} without ORDER BY leaves open which rows it keeps`,
    `add ORDER BY before ${word}`,
    word.toLowerCase(),
  )
}

function refuseRandom(id: ScalarId, isOfRowFilter: boolean, text: string): void {
  if (findVolatility(id) !== 'volatile') return
  throw isOfRowFilter
    ? notLive(text, 'Which rows you may read is random', 'ask an administrator to change the row filter of the table')
    : notLive(text, `${id}() gives another value each time`, `leave out ${id}()`, id)
}

/** The error is at the first use of the word, or at the start of the statement. */
function notLive(text: string, message: string, hint: string, word?: string): Refusal {
  const token = word === undefined ? undefined : tokenize(text, DEFAULT_LIMITS).find(({ key }) => key === word)
  return refuse('NotLive', message, { statement: text, at: token?.at ?? 0, hint })
}
