/** The routes of the query service in /openapi.json. */

import { EVENT_STREAM } from '../../http/events/event-response.ts'
import type { ApiContent, ApiParameter, ApiReply, ApiRoute, JsonSchema } from '../../http/openapi.ts'
import { flag, list, number, oneOf, text } from '../../schema/builders.ts'
import { QUERY_ERRORS } from '../errors.ts'
import { DEFAULT_RATE, MAX_RATE as MAX_RATE_LIMIT, MIN_RATE } from '../live/contract.ts'
import { BULK_TYPES } from './bulk-type.ts'
import { OPERATORS } from './criteria.ts'
import { DEFAULT_PAGE, MAX_PAGE } from './page-parameters.ts'
import { MEDIA_TYPES } from './request.ts'

export function describeQuery(): ApiRoute[] {
  return [
    {
      ...COMMON,
      method: 'POST',
      path: '/query',
      summary: 'Runs one IQL statement. ?p.name=… is the value of :name, ?p.1=… that of $1.',
      parameters: [...FORMAT_PARAMETERS, WRITES, AFTER, MAX_RATE, LAST_EVENT_ID, REQUEST_ID, IDEMPOTENCY_KEY],
      body: { 'text/plain': text(), 'application/json': ENVELOPE },
      replies: {
        200: { ...RESULT, content: { ...RESULT.content, [EVENT_STREAM]: EVENTS } },
        ...refusals(400, 401, 403, 406, 408, 409, 413, 415, 422, 429, 503),
      },
    },
    {
      ...COMMON,
      method: 'GET',
      path: '/query',
      summary:
        'A live statement as server-sent events: its result, then whatever changes in it. ?p.name=… as with POST.',
      parameters: [STATEMENT, ...FORMAT_PARAMETERS, MAX_RATE, LAST_EVENT_ID, REQUEST_ID],
      replies: {
        200: { description: 'The events, until the client disconnects.', content: { [EVENT_STREAM]: EVENTS } },
        ...refusals(400, 401, 403, 406, 408, 422, 429, 503),
      },
    },
    {
      ...COMMON,
      method: 'POST',
      path: '/Query/{TableName}/Select',
      summary: 'Reads the rows of a table that match the criteria.',
      parameters: [TABLE, ...SELECT_PARAMETERS, ...FORMAT_PARAMETERS, AFTER, REQUEST_ID],
      body: { 'application/json': CRITERIA },
      mayLackBody: true,
      replies: { 200: RESULT, ...refusals(400, 401, 403, 404, 406, 408, 413, 415, 422, 429, 503) },
    },
    describeInsert(),
    write(
      'Update',
      'Updates the rows that match the criteria.',
      object({ Criteria: CRITERIA, Assignments: ROW }, { required: ['Criteria', 'Assignments'] }),
    ),
    write('Delete', 'Deletes the rows that match the criteria. At least one criterion is required.', CRITERIA),
    {
      ...COMMON,
      method: 'DELETE',
      path: '/query/{RequestId}',
      summary: 'Cancels one of your running queries or ends one of your live statements; with Platform/Admin any.',
      parameters: [{ name: 'RequestId', in: 'path', required: true, description: 'The Request-Id of the query.' }],
      replies: { 204: { description: 'The query was cancelled.' }, ...refusals(401, 403, 404) },
    },
    ...describeCatalogue(),
  ]
}

/** Bodies other than JSON are bulk inserts. */
function describeInsert(): ApiRoute {
  const insert = write('Insert', 'Inserts one or more rows, all or none.', { oneOf: [ROW, list(ROW)] })
  const files = BULK_TYPES.map(
    (type) => [type, { ...text(), description: 'Rows in bulk: the reply has none.' }] as const,
  )
  return {
    ...insert,
    parameters: [
      ...(insert.parameters ?? []),
      parameter(
        'duplicates',
        'In bulk: what happens to a row whose key is taken. The reply counts such rows in `Skipped` and `Replaced`.',
        { ...oneOf(['reject', 'skip', 'replace']), default: 'reject' },
      ),
      parameter('nulls', 'In bulk: whether NULL means the default of a column that has one.', {
        ...oneOf(['keep', 'default']),
        default: 'keep',
      }),
      parameter('timezone', 'In bulk: the zone of times that name none, such as America/New_York. The default is UTC.'),
      parameter(
        'dryrun',
        'In bulk: true reads and checks the rows and inserts none. `RowsAffected` counts them, `Columns` has the types of their columns.',
        flag(),
      ),
      parameter('delimiter', 'In bulk, CSV: comma, semicolon, tab or bar.'),
      parameter('null', 'In bulk, CSV: a text that means NULL; repeatable.'),
    ],
    body: { ...insert.body, ...Object.fromEntries(files) },
  }
}

function describeCatalogue(): ApiRoute[] {
  const reply = (description: string, schema: JsonSchema, ...statuses: readonly number[]): ApiRoute['replies'] => ({
    200: { description, content: { 'application/json': schema } },
    ...refusals(...statuses),
  })
  return [
    {
      ...COMMON,
      method: 'GET',
      path: '/catalogue/tables',
      summary: 'Lists the tables and views that you may read or define, by name, page by page.',
      parameters: [
        parameter('prefix', 'Only names that begin with this; case-insensitive.'),
        parameter('system', 'true lists system tables alone, false leaves them out.', flag()),
        parameter('after', 'The name of the last table on the previous page.'),
        pageSize('Tables per page.'),
      ],
      replies: reply('The tables, and the path of the next page.', TABLE_PAGE, 400, 401, 403, 429),
    },
    {
      ...COMMON,
      method: 'GET',
      path: '/catalogue/tables/{TableName}',
      summary:
        'Shows a table or view that you may read or define: columns, keys, indexes, scopes, row filter, and your rights.',
      parameters: [TABLE],
      replies: reply('The table.', TABLE_DETAILS, 401, 403, 404, 429),
    },
    {
      ...COMMON,
      method: 'GET',
      path: '/catalogue/language',
      summary: 'The keywords, types and functions of IQL, for editors.',
      replies: reply('The words.', LANGUAGE_SCHEMA, 401, 403, 429),
    },
  ]
}

const COMMON = {
  tag: 'Query',
  scopes: ['Platform/Market', 'Platform/News', 'Platform/Trading', 'Platform/OrderPad', 'Platform/Admin'],
} as const

function write(name: string, summary: string, body: JsonSchema): ApiRoute {
  return {
    ...COMMON,
    method: 'POST',
    path: `/Query/{TableName}/${name}`,
    summary,
    parameters: [TABLE, ...FORMAT_PARAMETERS, REQUEST_ID, IDEMPOTENCY_KEY],
    body: { 'application/json': body },
    replies: { 200: RESULT, ...refusals(400, 401, 403, 404, 406, 408, 409, 413, 415, 422, 429, 503) },
  }
}

function parameter(name: string, description: string, schema: JsonSchema = text()): ApiParameter {
  return { name, in: 'query', description, schema }
}

function header(name: string, description: string): ApiParameter {
  return { name, in: 'header', description, schema: text() }
}

/** The parameter `limit` of a list. */
export function pageSize(description: string): ApiParameter {
  return parameter('limit', description, {
    ...number('integer', { minimum: 1, maximum: MAX_PAGE }),
    default: DEFAULT_PAGE,
  })
}

function object(properties: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return { type: 'object', properties, ...more }
}

const TABLE: ApiParameter = { ...parameter('TableName', 'The table; case-insensitive.'), in: 'path', required: true }
const REQUEST_ID = header('Request-Id', 'Identifies the running query. Generated if absent, and echoed.')
const IDEMPOTENCY_KEY = header(
  'Idempotency-Key',
  'A write that is repeated with the same key, body and parameters gets the first response, and nothing is written.',
)
const STATEMENT: ApiParameter = { ...parameter('statement', 'The statement, in IQL.'), required: true }
const MAX_RATE = parameter(
  'maxrate',
  `Live statements: the most changes per second, ${DEFAULT_RATE} by default.`,
  number('integer', { minimum: MIN_RATE, maximum: MAX_RATE_LIMIT }),
)
const LAST_EVENT_ID = header(
  'Last-Event-ID',
  'Live statements: the id of the last event received; what was missed follows.',
)
const EVENTS = text({
  description:
    'For Accept: text/event-stream. The events snapshot, change, progress, reset and end; the data of each is a JSON object.',
})
const AFTER = parameter('after', 'NextCursor of the previous page.')
const FORMAT_PARAMETERS: readonly ApiParameter[] = [
  parameter('rows', 'Rows as objects with a member for each column, or as arrays.', oneOf(['objects', 'arrays'])),
  parameter(
    'integers',
    'Integers as numbers, or as strings for clients that read every number as a double.',
    oneOf(['numbers', 'strings']),
  ),
  parameter('header', 'With columns, NDJSON begins with a line {"Columns": …}.', oneOf(['none', 'columns'])),
]
const WRITES = parameter(
  'writes',
  'With refused, a statement that writes or defines is not run.',
  oneOf(['allowed', 'refused']),
)
const COUNT = number('integer', { minimum: 0 })
const SELECT_PARAMETERS: readonly ApiParameter[] = [
  parameter('columns', 'Columns, separated by commas. Default: all columns.'),
  parameter('column', 'One column; repeatable.'),
  parameter('orderby', 'Columns to order by, separated by commas. A leading - sorts in descending order.'),
  parameter('limit', 'The maximum number of rows.', COUNT),
  parameter('offset', 'The number of rows to skip.', COUNT),
]

const ROW: JsonSchema = { type: 'object', description: 'A member for each column.', additionalProperties: true }
const CRITERION = object({
  ColumnName: text(),
  Operator: text({ description: `One of ${OPERATORS.flatMap(({ names }) => names).join(', ')}.` }),
  Value: {},
  And: { type: 'array' },
  Or: { type: 'array' },
  Not: { type: 'object' },
})
const CRITERIA = list(CRITERION, 'All of them must match.')
const ENVELOPE = object(
  {
    Statement: text(),
    Parameters: { type: ['object', 'array', 'null'] },
    MaxRate: number('integer', { description: 'As maxrate; for live statements only.' }),
  },
  { required: ['Statement'] },
)

const OPTIONAL_STRING = { type: ['string', 'null'] }
const OPTIONAL_INTEGER = { type: ['integer', 'null'] }
const STRINGS = list(text())
const SUMMARY_MEMBERS = {
  name: text(),
  issystem: flag(),
  description: OPTIONAL_STRING,
  readscope: OPTIONAL_STRING,
  writescope: OPTIONAL_STRING,
  requireacr: { ...OPTIONAL_INTEGER, description: 'The factors of the sign-in that reading needs: 1 or 2 (step-up).' },
  requireage: { ...OPTIONAL_INTEGER, description: 'How many seconds ago the sign-in may be for reading.' },
  writerequireacr: { ...OPTIONAL_INTEGER, description: 'The same for writing, which needs what reading needs, too.' },
  writerequireage: OPTIONAL_INTEGER,
  created: text(),
  live: flag('Whether changes are logged for live queries.'),
  columnar: flag('Whether the rows are also kept by column.'),
  isview: flag('A view is only read; its rows are those of its query.'),
  ismaterialized: flag(
    'A materialized view: the rows of its query are stored, and brought up to date after each commit.',
  ),
  rights: list(oneOf(['select', 'insert', 'update', 'delete', 'alter'])),
  missingscopes: list(
    text(),
    'The scopes that you lack to read the rows. Only callers that may define tables see such a table.',
  ),
}
const TABLE_SUMMARY = object({ ...SUMMARY_MEMBERS, columns: number('integer', { description: 'How many.' }) })
const TABLE_PAGE = object({ items: list(TABLE_SUMMARY), next: OPTIONAL_STRING })
const COLUMN = object({ name: text(), type: text(), nullable: flag(), isprimarykey: flag(), default: OPTIONAL_STRING })
const INDEX = object({ name: text(), unique: flag(), columns: list(object({ name: text(), descending: flag() })) })
const TABLE_DETAILS = object({
  ...SUMMARY_MEMBERS,
  columns: list(COLUMN),
  primarykey: STRINGS,
  uniques: list(STRINGS),
  indexes: list(INDEX),
  checks: list(object({ name: text(), condition: text() }), 'CHECK constraints, in IQL.'),
  rowfilter: OPTIONAL_STRING,
  retention: {
    ...object({ time: text(), on: text() }),
    type: ['object', 'null'],
    description: 'How long rows are kept, and the column that says how old one is.',
  },
  hold: flag('Whether no row can be deleted.'),
  view: { ...OPTIONAL_STRING, description: 'The query of a view, as IQL.' },
})
const FUNCTION = object({
  name: text(),
  kind: oneOf(['scalar', 'aggregate', 'window', 'table']),
  group: text(),
  signature: text(),
  description: text(),
  example: text(),
})
const LANGUAGE_SCHEMA = object({ keywords: STRINGS, types: STRINGS, functions: list(FUNCTION) })

const RESULT_COLUMN = object({ Ordinal: number('integer'), Type: text(), Nullable: flag() })
const RESULT_SCHEMA = object(
  {
    Columns: { type: 'object', additionalProperties: RESULT_COLUMN },
    Rows: { type: 'array' },
    RowCount: number('integer'),
    RowsAffected: number('integer'),
    Truncated: flag(),
    NextCursor: text(),
    RequestId: text(),
    ElapsedMs: number('integer'),
    Error: { description: 'Present if the statement failed after rows had been sent; then RowCount is absent.' },
  },
  { required: ['Columns', 'Rows'] },
)

const RESULT: ApiReply = {
  description: 'The result.',
  content: Object.fromEntries(
    Object.entries(MEDIA_TYPES).map(([format, type]) => [
      type.split(';', 1)[0],
      format === 'json' ? RESULT_SCHEMA : text(),
    ]),
  ) as ApiContent,
}

/** The error codes of each status. */
export function refusals(...statuses: readonly number[]): Record<number, ApiReply> {
  const codes = Object.entries(QUERY_ERRORS)
  return Object.fromEntries(
    statuses.map((status) => {
      const matching = codes.filter(([, entry]) => entry.status === status).map(([code]) => code)
      return [status, { description: matching.length === 0 ? 'Refused.' : `Refused: ${matching.join(', ')}.` }]
    }),
  )
}
