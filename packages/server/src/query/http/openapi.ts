/** The routes of the query service in /openapi.json. */
import type { ApiContent, ApiParameter, ApiReply, ApiRoute, JsonSchema } from '../../http/openapi.ts'
import { QUERY_ERRORS } from '../errors.ts'
import { DEFAULT_RATE, MAX_RATE as MAX_RATE_LIMIT, MIN_RATE } from '../live/contract.ts'
import { OPERATORS } from './criteria.ts'
import { DEFAULT_PAGE, MAX_PAGE } from './page-parameters.ts'
import { EVENT_STREAM, MEDIA_TYPES } from './request.ts'

export function describeQuery(): ApiRoute[] {
  return [
    {
      ...COMMON,
      method: 'POST',
      path: '/query',
      summary: 'Runs one IQL statement. ?p.name=… is the value of :name, ?p.1=… that of $1.',
      parameters: [...FORMAT_PARAMETERS, WRITES, AFTER, MAX_RATE, LAST_EVENT_ID, REQUEST_ID, IDEMPOTENCY_KEY],
      body: { 'text/plain': { type: 'string' }, 'application/json': ENVELOPE },
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
    write('Insert', 'Inserts one or more rows, all or none.', { oneOf: [ROW, { type: 'array', items: ROW }] }),
    write('Update', 'Updates the rows that match the criteria.', {
      type: 'object',
      required: ['Criteria', 'Assignments'],
      properties: { Criteria: CRITERIA, Assignments: ROW },
    }),
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
        text('Only names that begin with this; case-insensitive.', 'prefix'),
        {
          name: 'system',
          in: 'query',
          description: 'true lists system tables alone, false leaves them out.',
          schema: { type: 'boolean' },
        },
        text('The name of the last table on the previous page.', 'after'),
        {
          name: 'limit',
          in: 'query',
          description: 'Tables per page.',
          schema: { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: DEFAULT_PAGE },
        },
      ],
      replies: reply(
        'The tables, and the path of the next page.',
        {
          type: 'object',
          properties: { items: { type: 'array', items: TABLE_SUMMARY }, next: { type: ['string', 'null'] } },
        },
        400,
        401,
        403,
        429,
      ),
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

const text = (description: string, name: string, place: ApiParameter['in'] = 'query'): ApiParameter => ({
  name,
  in: place,
  description,
  schema: { type: 'string' },
})

const TABLE: ApiParameter = {
  name: 'TableName',
  in: 'path',
  required: true,
  description: 'The table; case-insensitive.',
  schema: { type: 'string' },
}
const REQUEST_ID = text('Identifies the running query. Generated if absent, and echoed.', 'Request-Id', 'header')
const IDEMPOTENCY_KEY = text(
  'A write that is repeated with the same key, body and parameters gets the first response, and nothing is written.',
  'Idempotency-Key',
  'header',
)
const STATEMENT: ApiParameter = { ...text('The statement, in IQL.', 'statement'), required: true }
const MAX_RATE: ApiParameter = {
  name: 'maxrate',
  in: 'query',
  description: `Live statements: the most changes per second, ${DEFAULT_RATE} by default.`,
  schema: { type: 'integer', minimum: MIN_RATE, maximum: MAX_RATE_LIMIT },
}
const LAST_EVENT_ID = text(
  'Live statements: the id of the last event received; what was missed follows.',
  'Last-Event-ID',
  'header',
)
const EVENTS: JsonSchema = {
  type: 'string',
  description:
    'For Accept: text/event-stream. The events snapshot, change, progress, reset and end; the data of each is a JSON object.',
}
const AFTER = text('NextCursor of the previous page.', 'after')
const FORMAT_PARAMETERS: readonly ApiParameter[] = [
  {
    name: 'rows',
    in: 'query',
    description: 'Rows as objects with a member for each column, or as arrays.',
    schema: { enum: ['objects', 'arrays'] },
  },
  {
    name: 'integers',
    in: 'query',
    description: 'Integers as numbers, or as strings for clients that read every number as a double.',
    schema: { enum: ['numbers', 'strings'] },
  },
  {
    name: 'header',
    in: 'query',
    description: 'With columns, NDJSON begins with a line {"Columns": …}.',
    schema: { enum: ['none', 'columns'] },
  },
]
const WRITES: ApiParameter = {
  name: 'writes',
  in: 'query',
  description: 'With refused, a statement that writes or defines is not run.',
  schema: { enum: ['allowed', 'refused'] },
}
const SELECT_PARAMETERS: readonly ApiParameter[] = [
  text('Columns, separated by commas. Default: all columns.', 'columns'),
  text('One column; repeatable.', 'column'),
  text('Columns to order by, separated by commas. A leading - sorts in descending order.', 'orderby'),
  { name: 'limit', in: 'query', description: 'The maximum number of rows.', schema: { type: 'integer', minimum: 0 } },
  { name: 'offset', in: 'query', description: 'The number of rows to skip.', schema: { type: 'integer', minimum: 0 } },
]

const ROW: JsonSchema = { type: 'object', description: 'A member for each column.', additionalProperties: true }
const CRITERION: JsonSchema = {
  type: 'object',
  properties: {
    ColumnName: { type: 'string' },
    Operator: { type: 'string', description: `One of ${OPERATORS.flatMap(({ names }) => names).join(', ')}.` },
    Value: {},
    And: { type: 'array' },
    Or: { type: 'array' },
    Not: { type: 'object' },
  },
}
const CRITERIA: JsonSchema = { type: 'array', items: CRITERION, description: 'All of them must match.' }
const ENVELOPE: JsonSchema = {
  type: 'object',
  required: ['Statement'],
  properties: {
    Statement: { type: 'string' },
    Parameters: { type: ['object', 'array', 'null'] },
    MaxRate: { type: 'integer', description: 'As maxrate; for live statements only.' },
  },
}

const STRING = { type: 'string' }
const OPTIONAL_STRING = { type: ['string', 'null'] }
const STRINGS = { type: 'array', items: STRING }
const SUMMARY_MEMBERS = {
  name: STRING,
  issystem: { type: 'boolean' },
  description: OPTIONAL_STRING,
  readscope: OPTIONAL_STRING,
  writescope: OPTIONAL_STRING,
  created: STRING,
  live: { type: 'boolean', description: 'Whether changes are logged for live queries.' },
  isview: { type: 'boolean', description: 'A view is only read; its rows are those of its query.' },
  rights: { type: 'array', items: { enum: ['select', 'insert', 'update', 'delete', 'alter'] } },
  missingscopes: {
    ...STRINGS,
    description: 'The scopes that you lack to read the rows. Only who may define tables sees such a table.',
  },
}
const TABLE_SUMMARY: JsonSchema = {
  type: 'object',
  properties: { ...SUMMARY_MEMBERS, columns: { type: 'integer', description: 'How many.' } },
}
const TABLE_DETAILS: JsonSchema = {
  type: 'object',
  properties: {
    ...SUMMARY_MEMBERS,
    columns: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: STRING,
          type: STRING,
          nullable: { type: 'boolean' },
          isprimarykey: { type: 'boolean' },
          default: OPTIONAL_STRING,
        },
      },
    },
    primarykey: STRINGS,
    uniques: { type: 'array', items: STRINGS },
    indexes: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: STRING,
          unique: { type: 'boolean' },
          columns: {
            type: 'array',
            items: { type: 'object', properties: { name: STRING, descending: { type: 'boolean' } } },
          },
        },
      },
    },
    rowfilter: OPTIONAL_STRING,
    view: { ...OPTIONAL_STRING, description: 'The query of a view, as IQL.' },
  },
}
const LANGUAGE_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    keywords: STRINGS,
    types: STRINGS,
    functions: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: STRING,
          kind: { enum: ['scalar', 'aggregate', 'window', 'table'] },
          group: STRING,
          signature: STRING,
          description: STRING,
          example: STRING,
        },
      },
    },
  },
}

const RESULT_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['Columns', 'Rows'],
  properties: {
    Columns: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: { Ordinal: { type: 'integer' }, Type: { type: 'string' }, Nullable: { type: 'boolean' } },
      },
    },
    Rows: { type: 'array' },
    RowCount: { type: 'integer' },
    RowsAffected: { type: 'integer' },
    Truncated: { type: 'boolean' },
    NextCursor: { type: 'string' },
    RequestId: { type: 'string' },
    ElapsedMs: { type: 'integer' },
    Error: { description: 'Present if the statement failed after rows had been sent; then RowCount is absent.' },
  },
}

const RESULT: ApiReply = {
  description: 'The result.',
  content: Object.fromEntries(
    Object.entries(MEDIA_TYPES).map(([format, type]) => [
      type.split(';', 1)[0],
      format === 'json' ? RESULT_SCHEMA : { type: 'string' },
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
