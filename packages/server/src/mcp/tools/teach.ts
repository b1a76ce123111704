/** What an error says besides its cause: the statement as it runs, or another one that does, and where the model finds what it lacks. */
import { nearest, Refusal } from 'gatehouse-protocol'
import { permit, type QueryService, refuse, viewFor } from '../../query/index.ts'
import { correctStatement } from '../corrections/correct.ts'
import { Pieces } from '../corrections/pieces.ts'
import type { Call } from '../protocol/features.ts'
import type { Lesson } from '../text/refusal-text.ts'
import { quoteName } from './names.ts'

const FORM = { format: 'ndjson', rows: 'arrays', integers: 'strings' } as const
const NO_ROWS = { rows: 0, bytes: 0, skip: 0 }
const LISTED = 10
const READS: ReadonlySet<string> = new Set(['query', 'describe', 'show-tables', 'explain-live'])

export function teach(refusal: Refusal, statement: string | undefined, call: Call, query: QueryService): Lesson {
  const { code, message } = refusal
  const lesson = LESSONS.get(code) ?? {}
  const view = viewFor(query.catalogue, call.principal.scopes)
  if (code === 'Data.UnknownTable') return nameTable(message, [...view.tableNames()].filter(isReadable))
  if (!/^(IQL|Request|Limit|mcp\.expensive)/.test(code)) return lesson
  const corrected =
    statement === undefined
      ? undefined
      : correctStatement(statement, refusal, {
          findTable: (name) => view.lookup(name),
          tableNames: () => [...view.tableNames()].filter(isReadable),
          check: (candidate) => findFault(candidate, call, query),
        })
  const parameter = code === 'IQL.MissingParameter' ? / :?(\S+) of type/.exec(message)?.[1] : undefined
  const hint = parameter === undefined ? lesson.hint : `Give it as parameters {${JSON.stringify(parameter)}: …}`
  return corrected === undefined ? { hint, example: findExample(statement) } : { hint, corrected }

  function isReadable(name: string): boolean {
    const table = view.lookup(name)
    return table !== undefined && !table.isSystem
  }

  /** On a table that the statement names, or on any. */
  function findExample(failed: string | undefined): string {
    const named = failed === undefined || failed.length > 10_000 ? [] : new Pieces(failed).sources()
    const tables = [...named.map(({ name }) => name), ...view.tableNames()]
    const table = view.lookup(tables.find(isReadable) ?? '')
    if (table === undefined) return 'SHOW TABLES'
    const columns = table.columns.slice(0, 3).map((column) => quoteName(column.name))
    return `SELECT ${columns.join(', ')} FROM ${quoteName(table.name)} LIMIT 5`
  }
}

/** Why a statement could not run for the caller; undefined if it could. */
function findFault(
  statement: string,
  { principal, address, requestId }: Call,
  query: QueryService,
): Refusal | undefined {
  try {
    const { planned } = permit(
      {
        ...{ principal, address, requestId, encoding: FORM },
        plan: (planning) => ({ planned: planning.planAtOnce(statement), valueSets: [], limits: NO_ROWS }),
      },
      query.sessionParts,
    )
    return READS.has(planned.bound.statement.kind) ? undefined : refuse('Request.WritesRefused', 'It writes')
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function nameTable(message: string, names: readonly string[]): Lesson {
  const near = nearest(message.slice(message.indexOf('"') + 1, -1), names) ?? names[0]
  const listed = names.slice(0, LISTED).join(', ')
  return {
    hint: `list_tables lists them: ${listed}${names.length > LISTED ? ', …' : ''}`,
    example: near === undefined ? 'list_tables {}' : `describe_table ${JSON.stringify({ table: near })}`,
  }
}

/** Where to find what was named wrongly, and a call. */
const LESSONS: ReadonlyMap<string, Lesson> = new Map([
  ['feed.unknown', { hint: 'list_feeds lists the feeds', example: 'list_feeds {}' }],
  ['feed.no_topic', { hint: 'list_feeds with the feed lists its topics', example: 'list_feeds {}' }],
  ['feed.bad_topic', { hint: 'list_feeds with the feed lists its topics', example: 'list_feeds {}' }],
  ['Saved.NotFound', { example: 'saved_query {}' }],
  [
    'mcp.no_watch',
    { example: 'watch {"statement": "SELECT …"}, then changes with the id and the since that it gives' },
  ],
  ['mcp.arguments', { example: 'watch {"statement": "SELECT …"} or watch {"feed": "…", "topic": "…"}' }],
  ['Request.BadCursor', { hint: 'Call with the same arguments as the result that gave after, or without after' }],
  [
    'Limit.Time',
    { hint: 'Filter by the first columns of a key or an index, or read a shorter time: EXPLAIN says what it reads' },
  ],
])
