/** Parses the statements of materialized views: CREATE, ALTER, DROP and REFRESH MATERIALIZED VIEW. */
import type { CreateKeptView, KeptViewChanges, RefreshView, Statement } from './ast.ts'
import { acceptsIfExists, acceptsIfNotExists, parseTableChanges, type ReadPart } from './parse-define.ts'
import { parseQuery } from './parse-select.ts'
import type { TokenStream } from './token-stream.ts'

export function isOfKeptView(tokens: TokenStream): boolean {
  return DEFINED.has(tokens.token.key) && tokens.ahead(1).key === 'materialized'
}

const DEFINED: ReadonlySet<string> = new Set(['create', 'alter', 'drop'])

/**
 * KeptView = CreateKeptView | AlterKeptView | DropKeptView
 * AlterKeptView = "ALTER" "MATERIALIZED" "VIEW" Table "SET" TableChange {TableChange}
 * DropKeptView = "DROP" "MATERIALIZED" "VIEW" ["IF" "EXISTS"] Table
 */
export function parseKeptView(tokens: TokenStream): Statement {
  const { at, key } = tokens.take()
  expectsView(tokens)
  if (key === 'create') return parseCreate(tokens, at)
  if (key === 'drop') {
    const ifExists = acceptsIfExists(tokens)
    return { kind: 'drop-kept-view', ifExists, name: tokens.tableName(NAME), at }
  }
  const name = tokens.tableName(NAME)
  tokens.expects('set')
  const changes = parseChanges(tokens, (part) => (tokens.accepts('null') ? null : part(tokens)))
  if (Object.values(changes).every((change) => change === undefined)) throw tokens.unexpected()
  return { kind: 'alter-kept-view', name, changes, at }
}

const NAME = 'a materialized view'

function expectsView(tokens: TokenStream): void {
  tokens.expects('materialized')
  tokens.expects('view')
}

/**
 * CreateKeptView = "CREATE" "MATERIALIZED" "VIEW" ["IF" "NOT" "EXISTS"] Table ["(" Name {"," Name} ")"] {TableChange} "AS" Query [WithData]
 */
function parseCreate(tokens: TokenStream, at: number): CreateKeptView {
  const ifNotExists = acceptsIfNotExists(tokens)
  const name = tokens.tableName(NAME)
  const columns = tokens.accepts('(') ? tokens.closing(tokens.list((tokens) => tokens.columnName())) : []
  const changes = parseChanges(tokens, (part) => part(tokens))
  tokens.expects('as')
  if (!(tokens.sees('select') || tokens.sees('with') || tokens.sees('('))) throw tokens.unexpected()
  const query = parseQuery(tokens)
  acceptsWithData(tokens)
  return { kind: 'create-kept-view', ifNotExists, name, columns, changes, query, at }
}

/** A view has the rights of what it reads, and is not written: it takes fewer options than a table. */
function parseChanges(tokens: TokenStream, read: ReadPart): KeptViewChanges {
  const { at } = tokens.token
  const { writeScope, writeNeed, rowFilter, live, hold, ...changes } = parseTableChanges(tokens, read)
  if (writeScope !== undefined || writeNeed !== undefined)
    throw tokens.fail('A materialized view is not written: it has no WRITE SCOPE and no WRITE REQUIRE', at)
  if (rowFilter !== undefined)
    throw tokens.fail('A materialized view has the row filter of its table, and none of its own', at)
  if (live !== undefined) throw tokens.fail('A materialized view is always live', at)
  if (hold !== undefined) throw tokens.fail('A materialized view cannot be held', at, 'Syntax', 'hold its table')
  return changes
}

/** WithData = "WITH" "DATA" */
function acceptsWithData(tokens: TokenStream): void {
  const { at } = tokens.token
  if (!tokens.accepts('with')) return
  if (tokens.token.key === 'no')
    throw tokens.fail('A materialized view always has the rows of its query', at, 'Syntax', 'omit WITH NO DATA')
  tokens.expects('data')
}

/** Refresh = "REFRESH" "MATERIALIZED" "VIEW" ["CONCURRENTLY"] Table ["FULL"] [WithData] */
export function parseRefresh(tokens: TokenStream): RefreshView {
  const at = tokens.expects('refresh')
  expectsView(tokens)
  tokens.accepts('concurrently')
  const name = tokens.tableName(NAME)
  const isFull = tokens.accepts('full')
  acceptsWithData(tokens)
  return { kind: 'refresh-view', name, isFull, at }
}
