/** The routes of alerts in /openapi.json. */
import { SCOPES } from 'gatehouse-protocol'
import type { ApiParameter, ApiReply, ApiRoute, JsonSchema } from '../../http/openapi.ts'
import { ALERT } from '../../resources/alert-shape.ts'
import { SUBSCRIPTION } from '../push/browsers.ts'

const COMMON = { tag: 'Alerts', scopes: SCOPES.filter((scope) => scope.startsWith('Platform/')) } as const
const JSON_TYPE = 'application/json'

const SHOWN: JsonSchema = {
  type: 'object',
  properties: {
    ...ALERT.properties,
    id: { type: 'string' },
    owner: { type: 'string', description: 'The id of the user or client.' },
    version: { type: 'integer', description: 'Grows with each change; in quotes it is the ETag.' },
    state: { enum: ['ok', 'pending', 'firing', 'paused', 'suspended', 'error'] },
    error: { type: ['string', 'null'], description: 'Why it is suspended, or cannot be evaluated.' },
    watched: { type: ['string', 'null'], description: 'When it was evaluated first.' },
    instances: { type: 'array', items: { type: 'object' }, description: 'The keys that are pending or firing.' },
    silences: { type: 'array', items: { type: 'object' } },
  },
}
const WEBHOOK: JsonSchema = {
  type: 'object',
  properties: {
    url: { type: 'string' },
    secret: { type: 'string', description: 'A key of Standard Webhooks, whsec_….' },
  },
}
const PAGE: JsonSchema = {
  type: 'object',
  properties: {
    items: { type: 'array', items: { type: 'object' } },
    next: { type: ['string', 'null'], description: 'The path of the next page.' },
  },
}
const PATCH: JsonSchema = { type: 'object', properties: ALERT.properties }
const SILENCE: JsonSchema = {
  type: 'object',
  properties: {
    for: { type: 'string', description: 'How long, such as "2 hours".' },
    until: { type: 'string', description: 'Or until when.' },
    key: { type: 'array', description: 'Of one key; without it, of all.' },
  },
}

const one = (description: string): ApiReply => ({ description, headers: ['ETag'], content: { [JSON_TYPE]: SHOWN } })
const page = (description: string): ApiReply => ({ description, content: { [JSON_TYPE]: PAGE } })
const ifMatch = (required: boolean): ApiParameter => ({
  name: 'If-Match',
  in: 'header',
  required,
  description: 'The ETag of the version that was read, or *.',
})
const PAGES: readonly ApiParameter[] = [
  { name: 'after', in: 'query', description: 'As in `next` of the previous page.' },
  { name: 'limit', in: 'query', description: 'Items per page.', schema: { type: 'integer' } },
]

export function describeAlerts(): ApiRoute[] {
  const route = (
    method: ApiRoute['method'],
    path: string,
    summary: string,
    replies: Readonly<Record<number, ApiReply>>,
    more: Partial<ApiRoute> = {},
  ): ApiRoute => ({ ...COMMON, method, path: `/alerts${path}`, summary, replies, ...more })
  const body = (schema: JsonSchema) => ({ [JSON_TYPE]: schema })
  return [
    route('GET', '', 'Lists your alerts by name.', { 200: page('The alerts.') }, { parameters: PAGES }),
    route(
      'POST',
      '',
      'Makes an alert. The reply comes when it was evaluated first, within 5 seconds.',
      { 201: one('The alert.') },
      { body: body(ALERT) },
    ),
    route('GET', '/channels', 'Lists the channels that you may use.', { 200: page('The channels.') }),
    route(
      'POST',
      '/webhooks',
      'Shows the key with which notices to an address of yours are signed. An alert names the address among its channels.',
      { 200: { description: 'The address and its key.', content: { [JSON_TYPE]: WEBHOOK } } },
      { body: body({ type: 'object', required: ['url'], properties: { url: { type: 'string' } } }) },
    ),
    route('GET', '/push', 'Lists your browsers that get notices by push, and the key with which one subscribes.', {
      200: page('The browsers.'),
    }),
    route(
      'POST',
      '/push',
      'Adds a browser: what its PushSubscription is as JSON.',
      { 201: page('The browser.') },
      {
        body: body(SUBSCRIPTION),
      },
    ),
    route('DELETE', '/push/{browser}', 'Removes a browser.', { 204: { description: 'It is removed.' } }),
    route('GET', '/{alert}', 'Shows an alert, and the keys that are pending or firing.', { 200: one('The alert.') }),
    route(
      'PATCH',
      '/{alert}',
      'Changes an alert (JSON merge patch). With another statement, condition or time its states begin anew.',
      { 200: one('The changed alert.') },
      {
        parameters: [ifMatch(true)],
        body: { 'application/merge-patch+json': PATCH },
      },
    ),
    route(
      'DELETE',
      '/{alert}',
      'Deletes an alert, and what waits to be delivered.',
      { 204: { description: 'It is deleted.' } },
      {
        parameters: [ifMatch(false)],
      },
    ),
    route(
      'POST',
      '/{alert}/silence',
      'Silences an alert, or one key of it, for a while.',
      { 200: one('The alert.') },
      { body: body(SILENCE) },
    ),
    route(
      'DELETE',
      '/{alert}/silence',
      'Ends the silences of an alert.',
      { 204: { description: 'They have ended.' } },
      {
        parameters: [{ name: 'key', in: 'query', description: 'Only that of this key, in JSON.' }],
      },
    ),
    route(
      'POST',
      '/{alert}/test',
      'Sends a test to each channel of an alert.',
      { 202: page('The deliveries.') },
      { mayLackBody: true },
    ),
    route(
      'GET',
      '/{alert}/history',
      'Lists what has happened, newest first.',
      { 200: page('The events.') },
      { parameters: PAGES },
    ),
    route(
      'GET',
      '/{alert}/deliveries',
      'Lists the deliveries of an alert and what came of them, newest first.',
      { 200: page('The deliveries.') },
      { parameters: PAGES },
    ),
    route(
      'POST',
      '/{alert}/deliveries/{delivery}/retry',
      'Tries a delivery again that could not be made for a day.',
      { 202: page('The delivery.') },
      { mayLackBody: true },
    ),
  ]
}
