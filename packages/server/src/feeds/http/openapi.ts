/** The routes of feeds in /openapi.json. */
import { HTTP_ERRORS, PLATFORM_SCOPES } from 'gatehouse-protocol'
import type { ApiParameter, ApiReply, ApiRoute, JsonSchema } from '../../http/openapi.ts'
import { MAX_LAST, MAX_MESSAGES, MAX_RATE, MIN_RATE } from '../service.ts'
import { CLOUD_EVENT, JSON_BODY, NDJSON } from './read-messages.ts'

const TEXT: JsonSchema = { type: 'string' }
const COMMON = { tag: 'Feeds', scopes: PLATFORM_SCOPES } as const

const FEED: JsonSchema = {
  type: 'object',
  properties: {
    Name: TEXT,
    Class: TEXT,
    Description: TEXT,
    Keep: { enum: ['latest', 'all'] },
    History: { type: 'object', properties: { Messages: { type: 'integer' }, Seconds: { type: 'number' } } },
    MayRead: { type: 'boolean' },
    MayPublish: { type: 'boolean' },
  },
}
const NEW_MESSAGE: JsonSchema = { type: 'object', required: ['Topic', 'Data'], properties: { Topic: TEXT, Data: {} } }
const MESSAGE: JsonSchema = {
  type: 'object',
  properties: {
    Topic: TEXT,
    Time: { ...TEXT, format: 'date-time' },
    Position: TEXT,
    Delay: { type: 'number', description: 'Seconds, where the caller may see it with a delay only.' },
    Data: {},
  },
}
const TOPIC: JsonSchema = {
  type: 'object',
  properties: { Topic: TEXT, Time: { ...TEXT, format: 'date-time' }, Messages: { type: 'integer' } },
}
const PUBLISHED: ApiReply = {
  description:
    'All messages are published; Position is that of the last one, if the feed has a history, and the caller may see it in real time.',
  content: {
    [JSON_BODY]: { type: 'object', properties: { Published: { type: 'integer' }, Position: TEXT } },
  },
}

const KEY: ApiParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Within 24 hours, a request with the same key is published once and gets the same reply.',
  schema: { ...TEXT, pattern: '^[\\x21-\\x7e]{1,200}$' },
}
const integer = (name: string, description: string, minimum: number, maximum: number): ApiParameter => ({
  ...{ name, in: 'query', description, schema: { type: 'integer', minimum, maximum } },
})

export function describeFeeds(): ApiRoute[] {
  return [
    {
      ...COMMON,
      method: 'GET',
      path: '/feeds',
      summary: 'Lists the feeds that you may use.',
      replies: {
        200: { description: 'The feeds.', content: { [JSON_BODY]: listSchema(FEED) } },
        ...refusals(401, 403),
      },
    },
    {
      ...COMMON,
      method: 'GET',
      path: '/feeds/{feed}',
      summary: 'Lists the topics of a feed that hold a message, by name.',
      parameters: [
        { name: 'prefix', in: 'query', description: 'Only topics that begin with this.' },
        { name: 'after', in: 'query', description: 'Topics after this one: `next` of the page before.' },
        integer('limit', 'Topics per page. Default: 100.', 1, 1000),
      ],
      replies: {
        200: { description: 'The feed and its topics.', content: { [JSON_BODY]: listSchema(TOPIC) } },
        ...refusals(400, 401, 403, 404),
      },
    },
    {
      ...COMMON,
      method: 'POST',
      path: '/feeds/{feed}',
      summary: `Publishes up to ${MAX_MESSAGES} messages, all or none; or a CloudEvents event.`,
      parameters: [KEY],
      body: { [JSON_BODY]: { type: 'array', items: NEW_MESSAGE }, [NDJSON]: TEXT, [CLOUD_EVENT]: { type: 'object' } },
      replies: { 200: PUBLISHED, ...refusals(400, 401, 403, 404, 413, 422, 429, 503) },
    },
    {
      ...COMMON,
      method: 'GET',
      path: '/feeds/{feed}/{topic}',
      summary: 'Shows the newest message of a topic, or its history; follows it as server-sent events.',
      parameters: [
        integer('last', 'How many of the latest messages are returned, the newest last.', 0, MAX_LAST),
        {
          name: 'maxrate',
          in: 'query',
          description: 'With events: messages per second and topic.',
          schema: { type: 'number', minimum: MIN_RATE, maximum: MAX_RATE },
        },
        {
          name: 'Last-Event-ID',
          in: 'header',
          description: 'With events: what was published after this one comes first.',
        },
      ],
      replies: {
        200: {
          description: 'The message, or the messages.',
          content: { [JSON_BODY]: MESSAGE, 'text/event-stream': TEXT },
        },
        ...refusals(400, 401, 403, 404, 503),
      },
    },
    {
      ...COMMON,
      method: 'POST',
      path: '/feeds/{feed}/{topic}',
      summary: 'Publishes a message. The body is its Data, any JSON value.',
      parameters: [KEY],
      body: { [JSON_BODY]: {} },
      replies: { 200: PUBLISHED, ...refusals(400, 401, 403, 404, 413, 422, 429, 503) },
    },
    {
      ...COMMON,
      method: 'DELETE',
      path: '/feeds/{feed}/{topic}',
      summary: 'Forgets the state and history of a topic, and tells its subscribers.',
      parameters: [KEY],
      replies: { 204: { description: 'The topic is removed.' }, ...refusals(400, 401, 403, 404, 422, 429, 503) },
    },
  ]
}

function listSchema(items: JsonSchema): JsonSchema {
  return { type: 'object', properties: { items: { type: 'array', items }, next: TEXT } }
}

/** The error codes of each status. */
function refusals(...statuses: readonly number[]): Record<number, ApiReply> {
  const codes = Object.entries(HTTP_ERRORS).filter(([code]) => /^(feed|access)\./.test(code))
  return Object.fromEntries(
    statuses.map((status) => {
      const matching = codes.filter(([, error]) => error.status === status).map(([code]) => code)
      return [status, { description: matching.length === 0 ? 'Refused.' : `Refused: ${matching.join(', ')}.` }]
    }),
  )
}
