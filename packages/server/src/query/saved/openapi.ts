/** The routes of saved documents in /openapi.json. */

import { SCOPES } from 'gatehouse-protocol'
import type { ApiParameter, ApiReply, ApiRoute, JsonSchema } from '../../http/openapi.ts'
import { closed, number, oneOf, text } from '../../schema/builders.ts'
import { pageSize, refusals } from '../http/openapi.ts'
import { BOARD_BODY, DOCUMENT_CHANGE, KINDS, NEW_DOCUMENT, QUERY_BODY, SHARED } from './document-schema.ts'

const COMMON = { tag: 'Saved', scopes: SCOPES.filter((scope) => scope.startsWith('Platform/')) } as const

export const LISTED = {
  id: text(),
  kind: oneOf(KINDS),
  name: text(),
  owner: text({ description: 'The id of the user or client who owns it.' }),
  username: { type: ['string', 'null'], description: 'The name of the owner; null if the owner no longer exists.' },
  shared: SHARED,
  version: number('integer', { description: 'Grows with each change; in quotes it is the ETag.' }),
  updated: text({ description: 'When it was changed last.' }),
} as const

const DOCUMENT: JsonSchema = closed([], { ...LISTED, body: { anyOf: [QUERY_BODY, BOARD_BODY] } })
const PAGE: JsonSchema = closed(['items', 'next'], {
  items: { type: 'array', items: closed([], LISTED) },
  next: { type: ['string', 'null'], description: 'The path of the next page.' },
})

const one = (description: string): ApiReply => ({
  description,
  headers: ['ETag'],
  content: { 'application/json': DOCUMENT },
})
const ifMatch = (required: boolean): ApiParameter => ({
  name: 'If-Match',
  in: 'header',
  required,
  description: 'The ETag of the version that was read, or *.',
})

export function describeSaved(): ApiRoute[] {
  return [
    {
      ...COMMON,
      method: 'GET',
      path: '/saved',
      summary: 'Lists your saved queries and boards and those shared with you, by name, without their bodies.',
      parameters: [
        { name: 'kind', in: 'query', description: 'Only this kind.', schema: { enum: KINDS } },
        { name: 'prefix', in: 'query', description: 'Only names that begin with this; case-insensitive.' },
        {
          name: 'owner',
          in: 'query',
          description: 'Only documents of this id; another than yours with Platform/Admin.',
        },
        { name: 'after', in: 'query', description: 'As in `next` of the previous page.' },
        pageSize('Documents per page.'),
      ],
      replies: {
        200: { description: 'The documents.', content: { 'application/json': PAGE } },
        ...refusals(400, 401, 403, 429, 503),
      },
    },
    {
      ...COMMON,
      method: 'POST',
      path: '/saved',
      summary: 'Saves a query or a board, which belongs to you.',
      body: { 'application/json': { oneOf: Object.values(NEW_DOCUMENT) } },
      replies: { 201: one('The document.'), ...refusals(400, 401, 403, 409, 413, 422, 429, 503) },
    },
    {
      ...COMMON,
      method: 'GET',
      path: '/saved/{id}',
      summary: 'Shows a saved query or board.',
      replies: { 200: one('The document.'), ...refusals(401, 403, 404, 429, 503) },
    },
    {
      ...COMMON,
      method: 'PATCH',
      path: '/saved/{id}',
      summary: 'Changes a saved query or board: each member that is sent completely replaces the previous value.',
      parameters: [ifMatch(true)],
      body: { 'application/merge-patch+json': { anyOf: Object.values(DOCUMENT_CHANGE) } },
      replies: { 200: one('The changed document.'), ...refusals(400, 401, 403, 404, 412, 413, 422, 428, 429, 503) },
    },
    {
      ...COMMON,
      method: 'DELETE',
      path: '/saved/{id}',
      summary: 'Deletes a saved query or board.',
      parameters: [ifMatch(false)],
      replies: { 204: { description: 'It is deleted.' }, ...refusals(401, 403, 404, 412, 429, 503) },
    },
  ]
}
