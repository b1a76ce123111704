/** The SCIM routes in /openapi.json. */
import type { ApiParameter, ApiReply, ApiRoute, JsonSchema } from '../http/openapi.ts'
import { PROVISIONING } from './authentication.ts'
import { SCIM_PATH } from './environment.ts'
import { SCIM_TYPE } from './scim-error.ts'

const RESOURCE: JsonSchema = { type: 'object', description: 'As /scim/v2/Schemas describes it (RFC 7643).' }
const COMMON = { tag: 'SCIM', scopes: [PROVISIONING] } as const
const text = (name: string, description: string): ApiParameter => ({ name, in: 'query', description })
const LIST = [
  text('filter', 'RFC 7644 §3.4.2.2, up to 2 KiB.'),
  text('startIndex', 'The first resource, from 1.'),
  text('count', 'Resources per page, at most 200.'),
  text('cursor', 'Empty for the first page, then as in nextCursor (RFC 9865).'),
]
const SHOWN = [text('attributes', 'Only these attributes.'), text('excludedAttributes', 'All but these attributes.')]
const MATCH: ApiParameter = { name: 'If-Match', in: 'header', description: 'The ETag of the version that is changed.' }
const ERROR: ApiReply = { description: 'An error (RFC 7644 §3.12).', content: { [SCIM_TYPE]: { type: 'object' } } }
const ERRORS = { 400: ERROR, 401: ERROR, 403: ERROR }

export function describeScim(): ApiRoute[] {
  return [...describeResource('Users', 'user'), ...describeResource('Groups', 'group'), ...describeDiscovery()]
}

function describeResource(collection: string, noun: string): ApiRoute[] {
  const path = `${SCIM_PATH}/${collection}`
  const one = `${path}/{id}`
  const shown = { description: `The ${noun}.`, content: { [SCIM_TYPE]: RESOURCE }, headers: ['ETag'] }
  const list = { description: 'A ListResponse.', content: { [SCIM_TYPE]: { type: 'object' } } }
  const body = { [SCIM_TYPE]: RESOURCE }
  const known = { ...ERRORS, 404: ERROR }
  const changed = { ...known, 409: ERROR, 412: ERROR }
  return [
    {
      ...COMMON,
      method: 'GET',
      path,
      summary: `Lists ${noun}s, or those that a filter finds.`,
      parameters: [...LIST, ...SHOWN],
      replies: { 200: list, ...ERRORS },
    },
    {
      ...COMMON,
      method: 'POST',
      path,
      summary: `Creates a ${noun}.`,
      parameters: SHOWN,
      body,
      replies: { 201: shown, ...ERRORS, 409: ERROR },
    },
    {
      ...COMMON,
      method: 'POST',
      path: `${path}/.search`,
      summary: `Lists ${noun}s, with the parameters in the body.`,
      body: { [SCIM_TYPE]: { type: 'object' } },
      replies: { 200: list, ...ERRORS },
    },
    {
      ...COMMON,
      method: 'GET',
      path: one,
      summary: `Shows a ${noun}.`,
      parameters: SHOWN,
      replies: { 200: shown, ...known },
    },
    {
      ...COMMON,
      method: 'PUT',
      path: one,
      summary: `Replaces a ${noun}.`,
      parameters: [...SHOWN, MATCH],
      body,
      replies: { 200: shown, ...changed },
    },
    {
      ...COMMON,
      method: 'PATCH',
      path: one,
      summary: `Changes a ${noun} (RFC 7644 §3.5.2).`,
      parameters: [...SHOWN, MATCH],
      body: { [SCIM_TYPE]: { type: 'object' } },
      replies: { ...(noun === 'user' ? { 200: shown } : { 204: { description: 'It is changed.' } }), ...changed },
    },
    {
      ...COMMON,
      method: 'DELETE',
      path: one,
      summary: `Deletes a ${noun}.`,
      parameters: [MATCH],
      replies: { 204: { description: 'It is deleted.' }, ...known, 412: ERROR },
    },
  ]
}

function describeDiscovery(): ApiRoute[] {
  return [
    ['ServiceProviderConfig', 'Says what of SCIM is supported.'],
    ['ResourceTypes', 'Lists the kinds of resources.'],
    ['Schemas', 'Lists the attributes of users and groups.'],
  ].map(([name, summary = '']) => ({
    ...COMMON,
    method: 'GET',
    path: `${SCIM_PATH}/${name}`,
    summary,
    replies: { 200: { description: 'The description.', content: { [SCIM_TYPE]: { type: 'object' } } }, ...ERRORS },
  }))
}
