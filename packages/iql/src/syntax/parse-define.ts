/** Parses the statements that define tables, views and indexes: CREATE, ALTER, DROP. */
import { ACR_LEVELS, type AcrLevel, LONGEST_AGE, type StepUpNeed } from 'gatehouse-protocol'
import type {
  AlterTable,
  AlterView,
  CheckDefinition,
  ColumnDefinition,
  CreateIndex,
  CreateTable,
  CreateView,
  KeyDefinition,
  RetentionClause,
  Statement,
  TableChanges,
  ViewChanges,
} from './ast.ts'
import type { Expression, Name } from './ast-query.ts'
import { opensCheck, parseCheck, parseColumnDefinition, parseKey } from './parse-columns.ts'
import { parseExpression } from './parse-expression.ts'
import { parseQuery } from './parse-select.ts'
import type { TokenStream } from './token-stream.ts'

/** Create = CreateTable | CreateView | CreateIndex */
export function parseCreate(tokens: TokenStream): Statement {
  const at = tokens.expects('create')
  if (tokens.sees('table')) return parseCreateTable(tokens, at)
  if (tokens.sees('view') || tokens.sees('or')) return parseCreateView(tokens, at)
  tokens.couldBe('materialized')
  const unique = tokens.accepts('unique')
  return parseCreateIndex(tokens, unique, at)
}

/**
 * CreateTable = "CREATE" "TABLE" ["IF" "NOT" "EXISTS"] Table ["(" TablePart {"," TablePart} ")"]
 *               {"READ" "SCOPE" Text | "WRITE" "SCOPE" Text | "ROW" "FILTER" "(" Expression ")" | ["WRITE"] "REQUIRE" Need
 *               | "COMMENT" Text | With} ["AS" Query]
 * TablePart = ColumnDefinition | Key | Check
 */
function parseCreateTable(tokens: TokenStream, at: number): CreateTable {
  tokens.expects('table')
  const ifNotExists = acceptsIfNotExists(tokens)
  const name = tokens.tableName()
  const columns: ColumnDefinition[] = []
  const keys: KeyDefinition[] = []
  const checks: CheckDefinition[] = []
  if (tokens.accepts('(')) parseTableParts(tokens, { columns, keys, checks })
  const options = parseTableOptions(tokens)
  const isGiven = columns.length === 0
  if (isGiven || tokens.token.key === 'as') tokens.expects('as')
  if (!isGiven && tokens.ahead(-1).key === 'as')
    throw tokens.fail('The query gives the columns', tokens.ahead(-1).at, 'Syntax', CAST_HINT)
  const query = isGiven ? parseQuery(tokens) : undefined
  const checked = checks.length === 0 ? {} : { checks }
  const filled = query === undefined ? {} : { query }
  return { kind: 'create-table', ifNotExists, name, columns, keys, ...checked, ...options, ...filled, at }
}

const CAST_HINT =
  'name and type them in the query: SELECT CAST(x AS Integer) AS n; only keys and checks stand in parentheses'

type TableParts = { readonly columns: ColumnDefinition[]; keys: KeyDefinition[]; checks: CheckDefinition[] }

function parseTableParts(tokens: TokenStream, { columns, keys, checks }: TableParts): void {
  do {
    const key = parseKey(tokens)
    if (key !== undefined) keys.push(key)
    else if (opensCheck(tokens)) checks.push(parseCheck(tokens))
    else columns.push(parseColumnDefinition(tokens, checks))
  } while (tokens.accepts(','))
  tokens.expects(')')
}

/**
 * CreateView = "CREATE" ("OR" "REPLACE" "VIEW" | "VIEW" ["IF" "NOT" "EXISTS"]) Table ["(" Name {"," Name} ")"]
 *              {"READ" "SCOPE" Text | "COMMENT" Text} "AS" Query
 */
function parseCreateView(tokens: TokenStream, at: number): CreateView {
  const orReplace = tokens.accepts('or')
  if (orReplace) tokens.expects('replace')
  tokens.expects('view')
  const ifNotExists = !orReplace && acceptsIfNotExists(tokens)
  const name = tokens.tableName('a view')
  const columns = tokens.accepts('(') ? tokens.closing(tokens.list((tokens) => tokens.columnName())) : []
  const { readScope, comment } = parseViewChanges(tokens, (part) => part(tokens))
  tokens.expects('as')
  if (!(tokens.sees('select') || tokens.sees('with') || tokens.sees('('))) throw tokens.unexpected()
  const options = { readScope: readScope ?? undefined, comment: comment ?? undefined }
  return { kind: 'create-view', orReplace, ifNotExists, name, columns, ...options, query: parseQuery(tokens), at }
}

/** Each option at most once. */
function parseViewChanges(tokens: TokenStream, read: ReadPart): ViewChanges {
  let changes: ViewChanges = { readScope: undefined, comment: undefined }
  for (;;) {
    if (changes.readScope === undefined && tokens.accepts('read')) {
      tokens.expects('scope')
      changes = { ...changes, readScope: read(parseScope) }
    } else if (changes.comment === undefined && tokens.accepts('comment')) {
      changes = { ...changes, comment: read(parseComment) }
    } else return changes
  }
}

export function acceptsIfNotExists(tokens: TokenStream): boolean {
  if (tokens.token.key !== 'if' || tokens.ahead(1).key !== 'not') return false
  tokens.take()
  tokens.take()
  tokens.expects('exists')
  return true
}

export function acceptsIfExists(tokens: TokenStream): boolean {
  if (tokens.token.key !== 'if' || tokens.ahead(1).key !== 'exists') return false
  tokens.take()
  tokens.take()
  return true
}

type TableOptions = Pick<
  CreateTable,
  'readScope' | 'writeScope' | 'rowFilter' | 'readNeed' | 'writeNeed' | 'comment' | Switched
>

function parseTableOptions(tokens: TokenStream): TableOptions {
  const { readScope, writeScope, rowFilter, readNeed, writeNeed, comment, ...switches } = parseTableChanges(
    tokens,
    (part) => part(tokens),
  )
  return {
    readScope: readScope ?? undefined,
    writeScope: writeScope ?? undefined,
    rowFilter: rowFilter ?? undefined,
    readNeed: readNeed ?? undefined,
    writeNeed: writeNeed ?? undefined,
    comment: comment ?? undefined,
    ...switches,
  }
}

export type ReadPart = <Part>(part: (tokens: TokenStream) => Part) => Part | null

/** Each option at most once. */
export function parseTableChanges(tokens: TokenStream, read: ReadPart): TableChanges {
  let changes: TableChanges = NO_CHANGES
  for (;;) {
    if (changes.readScope === undefined && tokens.accepts('read')) {
      tokens.expects('scope')
      changes = { ...changes, readScope: read(parseScope) }
    } else if ((changes.writeScope === undefined || changes.writeNeed === undefined) && tokens.accepts('write')) {
      if (changes.writeNeed === undefined && tokens.accepts('require'))
        changes = { ...changes, writeNeed: read(parseNeed) }
      else {
        if (changes.writeScope !== undefined) throw tokens.unexpected()
        tokens.expects('scope')
        changes = { ...changes, writeScope: read(parseScope) }
      }
    } else if (changes.readNeed === undefined && tokens.accepts('require')) {
      changes = { ...changes, readNeed: read(parseNeed) }
    } else if (changes.rowFilter === undefined && tokens.accepts('row')) {
      tokens.expects('filter')
      changes = { ...changes, rowFilter: read(parseRowFilter) }
    } else if (changes.comment === undefined && tokens.accepts('comment')) {
      changes = { ...changes, comment: read(parseComment) }
    } else if (SWITCHES.some((name) => changes[name] === undefined) && tokens.accepts('with')) {
      changes = parseSwitches(tokens, changes)
    } else return changes
  }
}

const NO_CHANGES: TableChanges = {
  readScope: undefined,
  writeScope: undefined,
  rowFilter: undefined,
  readNeed: undefined,
  writeNeed: undefined,
  comment: undefined,
  live: undefined,
  columnar: undefined,
  retention: undefined,
  hold: undefined,
}

const SWITCHES = ['live', 'columnar', 'retention', 'hold'] as const
type Switched = (typeof SWITCHES)[number]

/**
 * With = "WITH" "(" Switch {"," Switch} ")"
 * Switch = ("LIVE" | "COLUMNS" | "HOLD") "=" ("ON" | "OFF") | "RETENTION" "=" (Text "ON" Name | "NULL")
 */
function parseSwitches(tokens: TokenStream, changes: TableChanges): TableChanges {
  let switched = changes
  tokens.expects('(')
  do {
    if (switched.live === undefined && tokens.accepts('live')) switched = { ...switched, live: parseSwitch(tokens) }
    else if (switched.columnar === undefined && tokens.accepts('columns'))
      switched = { ...switched, columnar: parseSwitch(tokens) }
    else if (switched.retention === undefined && tokens.accepts('retention'))
      switched = { ...switched, retention: parseRetention(tokens) }
    else if (switched.hold === undefined && tokens.accepts('hold'))
      switched = { ...switched, hold: parseSwitch(tokens) }
    else throw tokens.unexpected()
  } while (tokens.accepts(','))
  return tokens.closing(switched)
}

function parseSwitch(tokens: TokenStream): boolean {
  tokens.expects('=')
  const isOn = tokens.accepts('on')
  if (!isOn) tokens.expects('off')
  return isOn
}

function parseRetention(tokens: TokenStream): RetentionClause | null {
  tokens.expects('=')
  const { at } = tokens.token
  if (tokens.accepts('null')) return null
  const time = tokens.text("an interval, such as '30 days'")
  tokens.expects('on')
  return { time, on: tokens.name('a column'), at }
}

/**
 * Need = "(" Demand ["," Demand] ")"
 * Demand = "ACR" "=" Number | "AGE" "=" Number
 */
function parseNeed(tokens: TokenStream): StepUpNeed {
  tokens.expects('(')
  let acr: AcrLevel | undefined
  let age: number | undefined
  do {
    if (acr === undefined && tokens.accepts('acr')) acr = parseLevel(tokens)
    else if (age === undefined && tokens.accepts('age')) age = parseAge(tokens)
    else throw tokens.unexpected()
  } while (tokens.accepts(','))
  return tokens.closing({ ...(acr && { acr }), ...(age !== undefined && { age }) })
}

function parseLevel(tokens: TokenStream): AcrLevel {
  tokens.expects('=')
  const { at } = tokens.token
  const given = tokens.wholeNumber('1 or 2')
  const level = ACR_LEVELS.find((known) => known === given)
  if (level === undefined) throw tokens.fail('acr is 1 (one factor) or 2 (two factors)', at)
  return level
}

function parseAge(tokens: TokenStream): number {
  tokens.expects('=')
  const { at } = tokens.token
  const age = tokens.wholeNumber('seconds')
  if (age < 1 || age > LONGEST_AGE) throw tokens.fail(`age is from 1 to ${LONGEST_AGE} seconds`, at)
  return age
}

function parseScope(tokens: TokenStream): string {
  return tokens.text("a scope in 'quotes'")
}

function parseComment(tokens: TokenStream): string {
  return tokens.text("a text in 'quotes'")
}

function parseRowFilter(tokens: TokenStream): Expression {
  tokens.expects('(')
  return tokens.closing(parseExpression(tokens))
}

/**
 * CreateIndex = "CREATE" ["UNIQUE"] "INDEX" ["IF" "NOT" "EXISTS"] Name "ON" Table ["USING" "BTREE"]
 *               "(" IndexColumn {"," IndexColumn} ")"
 */
function parseCreateIndex(tokens: TokenStream, unique: boolean, at: number): CreateIndex {
  tokens.expects('index')
  const ifNotExists = acceptsIfNotExists(tokens)
  const name = tokens.name('an index')
  tokens.expects('on')
  const table = tokens.tableName()
  if (tokens.accepts('using')) tokens.expects('btree')
  tokens.expects('(')
  const columns = tokens.closing(tokens.list(parseIndexColumn))
  return { kind: 'create-index', unique, ifNotExists, name, table, columns, at }
}

/** IndexColumn = Name ["TEXT_PATTERN_OPS" | "VARCHAR_PATTERN_OPS"] ["ASC" | "DESC"] */
function parseIndexColumn(tokens: TokenStream): CreateIndex['columns'][number] {
  const name = tokens.name('a column')
  // PostgreSQL's order by code points, which every index has here.
  if (tokens.token.key === 'text_pattern_ops' || tokens.token.key === 'varchar_pattern_ops') tokens.take()
  const descending = tokens.accepts('desc')
  if (!descending) tokens.accepts('asc')
  return { name, descending }
}

/** Alter = AlterTable | AlterView */
export function parseAlter(tokens: TokenStream): AlterTable | AlterView | CreateIndex {
  const at = tokens.expects('alter')
  tokens.couldBe('materialized')
  return tokens.sees('view') ? parseAlterView(tokens, at) : parseAlterTable(tokens, at)
}

/**
 * AlterTable = "ALTER" "TABLE" Table ("ADD" ["COLUMN"] ColumnDefinition | "DROP" ["COLUMN"] Name
 *            | "ADD" Check | "ADD" "CONSTRAINT" Name "UNIQUE" "(" Name {"," Name} ")" | "DROP" "CONSTRAINT" Name
 *            | "RENAME" ["COLUMN"] Name "TO" Name | "SET" TableChange {TableChange})
 */
function parseAlterTable(tokens: TokenStream, at: number): AlterTable | CreateIndex {
  tokens.expects('table')
  const table = tokens.tableName()
  const index = parseAddedUnique(tokens, table, at)
  if (index !== undefined) return index
  return { kind: 'alter-table', table, action: parseAlteration(tokens), at }
}

/** A UNIQUE constraint that is added to a table is an index with its name. */
function parseAddedUnique(tokens: TokenStream, table: Name, at: number): CreateIndex | undefined {
  if (tokens.token.key !== 'add' || tokens.ahead(1).key !== 'constraint' || tokens.ahead(3).key !== 'unique')
    return undefined
  tokens.take()
  tokens.take()
  const name = tokens.name('a constraint')
  tokens.take()
  tokens.expects('(')
  const columns = tokens.closing(tokens.list((tokens) => tokens.columnName()))
  return {
    kind: 'create-index',
    unique: true,
    ifNotExists: false,
    name,
    table,
    columns: columns.map((column) => ({ name: column, descending: false })),
    at,
  }
}

/**
 * AlterView = "ALTER" "VIEW" Table "SET" ViewChange {ViewChange}
 * ViewChange = ("READ" "SCOPE" | "COMMENT") (Text | "NULL")
 */
function parseAlterView(tokens: TokenStream, at: number): AlterView {
  tokens.expects('view')
  const name = tokens.tableName('a view')
  tokens.expects('set')
  const changes = parseViewChanges(tokens, (part) => (tokens.accepts('null') ? null : part(tokens)))
  if (changes.readScope === undefined && changes.comment === undefined) throw tokens.unexpected()
  return { kind: 'alter-view', name, changes, at }
}

function parseAlteration(tokens: TokenStream): AlterTable['action'] {
  if (tokens.accepts('add')) {
    if (opensCheck(tokens)) return { kind: 'add-check', check: parseCheck(tokens) }
    tokens.accepts('column')
    return { kind: 'add', column: parseColumnDefinition(tokens) }
  }
  if (tokens.accepts('drop')) {
    if (tokens.token.key === 'constraint' && tokens.ahead(1).kind !== 'end') {
      tokens.take()
      return { kind: 'drop-check', name: tokens.name('a constraint') }
    }
    tokens.accepts('column')
    return { kind: 'drop', column: tokens.name('a column') }
  }
  if (tokens.accepts('set')) return parseSet(tokens)
  tokens.expects('rename')
  tokens.accepts('column')
  const column = tokens.name('a column')
  tokens.expects('to')
  return { kind: 'rename', column, to: tokens.name('a column') }
}

/**
 * TableChange = "READ" "SCOPE" (Text | "NULL") | "WRITE" "SCOPE" (Text | "NULL") | "ROW" "FILTER" ("(" Expression ")" | "NULL")
 *             | ["WRITE"] "REQUIRE" (Need | "NULL") | "COMMENT" (Text | "NULL") | With
 */
function parseSet(tokens: TokenStream): AlterTable['action'] {
  const changes = parseTableChanges(tokens, (part) => (tokens.accepts('null') ? null : part(tokens)))
  if (Object.values(changes).every((change) => change === undefined)) throw tokens.unexpected()
  return { kind: 'set', ...changes }
}

/** Drop = "DROP" (("TABLE" | "VIEW") ["IF" "EXISTS"] Table | "INDEX" ["IF" "EXISTS"] Name) */
export function parseDrop(tokens: TokenStream): Statement {
  const at = tokens.expects('drop')
  tokens.couldBe('materialized')
  const kind = tokens.accepts('table') ? 'drop-table' : tokens.accepts('view') ? 'drop-view' : 'drop-index'
  if (kind === 'drop-index') tokens.expects('index')
  const ifExists = acceptsIfExists(tokens)
  const name = kind === 'drop-index' ? tokens.name('an index') : tokens.tableName(DROPPED[kind])
  return { kind, ifExists, name, at }
}

const DROPPED = { 'drop-table': 'a table', 'drop-view': 'a view' } as const
