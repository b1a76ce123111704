/** The routes of licences and decisions in /openapi.json. */
import { DECISIONS_SCOPE, HTTP_ERRORS, PLATFORM_SCOPES } from 'gatehouse-protocol'
import type { ApiReply, ApiRoute, JsonSchema } from '../../http/openapi.ts'
import { MOST_EVALUATIONS, MOST_RESULTS } from '../authzen/requests.ts'

const TEXT: JsonSchema = { type: 'string' }
const TIME: JsonSchema = { ...TEXT, format: 'date-time' }
const JSON_BODY = 'application/json'
const LICENCES = { tag: 'Licences', scopes: PLATFORM_SCOPES } as const
const DECISIONS = { tag: 'Decisions', scopes: [DECISIONS_SCOPE] } as const

const LICENCE: JsonSchema = {
  type: 'object',
  properties: {
    Product: TEXT,
    Access: { enum: ['none', 'delayed', 'realtime'] },
    Delay: { type: 'integer', description: 'Seconds, with delayed access.' },
    Until: TIME,
    Reason: { ...TEXT, description: 'What gave the access, or what is missing.' },
    Agreement: {
      type: 'object',
      properties: {
        Id: TEXT,
        Version: TEXT,
        Title: TEXT,
        Url: TEXT,
        AsksStatus: { type: 'boolean' },
        Accepted: { type: 'boolean' },
        Grace: TIME,
      },
    },
    Trial: { type: 'object', properties: { Days: { type: 'number' }, From: TIME, Until: TIME } },
  },
}
const AGREEMENT: JsonSchema = {
  type: 'object',
  properties: { Id: TEXT, Version: TEXT, Title: TEXT, AsksStatus: { type: 'boolean' }, Language: TEXT, Text: TEXT },
}

const ENTITY: JsonSchema = {
  type: 'object',
  required: ['type', 'id'],
  properties: { type: TEXT, id: TEXT, properties: { type: 'object' } },
}
const TYPE: JsonSchema = {
  type: 'object',
  required: ['type'],
  properties: { type: TEXT, properties: { type: 'object' } },
}
const ACTION: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: { name: TEXT, properties: { type: 'object' } },
}
const PAGE: JsonSchema = {
  type: 'object',
  properties: { token: TEXT, limit: { type: 'integer', minimum: 1, description: `At most ${MOST_RESULTS} count.` } },
}
const DECISION: JsonSchema = {
  type: 'object',
  properties: { decision: { type: 'boolean' }, context: { type: 'object' } },
}

export async function describeRoutes({ authzen }: { readonly authzen: boolean }): Promise<ApiRoute[]> {
  return [...describeLicences(), describePlaces(), ...(authzen ? describeDecisions() : [])]
}

function describeLicences(): ApiRoute[] {
  return [
    {
      ...LICENCES,
      method: 'GET',
      path: '/licences',
      summary: 'Lists the products with what you may use of each, and why.',
      replies: {
        200: reply('The products.', object({ items: { type: 'array', items: LICENCE } })),
        ...refusals(401, 403),
      },
    },
    {
      ...LICENCES,
      method: 'GET',
      path: '/licences/agreements/{id}',
      summary: 'Shows an agreement in the language that you prefer.',
      replies: { 200: reply('The agreement.', AGREEMENT), ...refusals(401, 403, 404) },
    },
    {
      ...LICENCES,
      method: 'POST',
      path: '/licences/agreements/{id}',
      summary: 'Accepts the current version of an agreement.',
      body: {
        [JSON_BODY]: object({
          Version: TEXT,
          Professional: { type: 'boolean', description: 'Needed where the agreement asks for it.' },
          Language: { ...TEXT, description: 'That of the text that was read.' },
        }),
      },
      replies: {
        201: reply('It is accepted.', object({ Id: TEXT, Version: TEXT, Language: TEXT, Digest: TEXT })),
        ...refusals(401, 403, 404, 409, 422),
      },
    },
    {
      ...LICENCES,
      method: 'POST',
      path: '/licences/{product}/trial',
      summary: 'Begins the trial of a product, once.',
      replies: {
        201: reply('The trial.', object({ Product: TEXT, From: TIME, Until: TIME })),
        ...refusals(401, 403, 404, 409),
      },
    },
  ]
}

function describePlaces(): ApiRoute {
  return {
    ...DECISIONS,
    method: 'POST',
    path: '/licences/places',
    summary: 'Takes, renews or leaves a place of a user or client that uses a product through another program.',
    body: {
      [JSON_BODY]: object({
        User: { ...TEXT, description: 'By id or username; or' },
        Client: { ...TEXT, description: 'a client.' },
        Product: TEXT,
        Place: { ...TEXT, description: 'What tells the sign-in or program from others, such as a session id.' },
        Seconds: { type: 'integer', minimum: 0, maximum: 300, description: 'How long it is kept; 0 leaves it.' },
      }),
    },
    replies: {
      200: reply('It is renewed.', object({ Session: TEXT, Access: TEXT, Delay: { type: 'integer' }, Until: TIME })),
      201: { description: 'It is taken, and recorded in the audit log.' },
      204: { description: 'It is left.' },
      ...refusals(401, 403, 404, 422),
    },
  }
}

function describeDecisions(): ApiRoute[] {
  const post = (
    path: string,
    summary: string,
    properties: Record<string, JsonSchema>,
    answer: JsonSchema,
  ): ApiRoute => ({
    ...DECISIONS,
    method: 'POST',
    path,
    summary,
    body: { [JSON_BODY]: object(properties) },
    replies: { 200: reply('The answer.', answer), ...refusals(400, 401, 403) },
  })
  const found = (item: JsonSchema) => object({ results: { type: 'array', items: item }, page: { type: 'object' } })
  const one = { subject: ENTITY, action: ACTION, resource: ENTITY }
  return [
    post('/access/v1/evaluation', 'Whether a subject may do something with a resource.', one, DECISION),
    post(
      '/access/v1/evaluations',
      'The same for many.',
      {
        ...one,
        evaluations: { type: 'array', maxItems: MOST_EVALUATIONS, items: object(one) },
        options: { type: 'object' },
      },
      object({ evaluations: { type: 'array', items: DECISION } }),
    ),
    post('/access/v1/search/subject', 'Who may do something.', { ...one, subject: TYPE, page: PAGE }, found(ENTITY)),
    post(
      '/access/v1/search/resource',
      'With what a subject may.',
      { ...one, resource: TYPE, page: PAGE },
      found(ENTITY),
    ),
    post('/access/v1/search/action', 'What a subject may do.', { subject: ENTITY, resource: ENTITY }, found(ACTION)),
    {
      method: 'GET',
      path: '/.well-known/authzen-configuration',
      tag: 'Decisions',
      summary: 'The endpoints for decisions.',
      replies: { 200: reply('The metadata.', { type: 'object' }) },
    },
  ]
}

function object(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties }
}

function reply(description: string, schema: JsonSchema): ApiReply {
  return { description, content: { [JSON_BODY]: schema } }
}

function refusals(...statuses: readonly number[]): Record<number, ApiReply> {
  const codes = Object.entries(HTTP_ERRORS).filter(([code]) => /^(access|licence|Licence|decision)\./.test(code))
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      {
        description: codes
          .filter(([, each]) => each.status === status)
          .map(([code]) => code)
          .join(', '),
      },
    ]),
  )
}
