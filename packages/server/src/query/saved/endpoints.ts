/** `/saved`: saved queries and boards over HTTP. */
import type { Context } from '../../http/context.ts'
import type { Route, RouteGroup } from '../../http/route.ts'
import type { DocumentPlace } from '../engines/document-rows.ts'
import { refuse } from '../errors.ts'
import { nextPage, readListParameters, readPageSize } from '../http/page-parameters.ts'
import { replyToError } from '../http/problem.ts'
import { readWholeJson, requirePlatformAccess } from '../http/request.ts'
import { KINDS, MAX_BODY_BYTES } from './document-schema.ts'
import {
  type DocumentCaller,
  type DocumentQuery,
  type Documents,
  type PresentedDocument,
  versionEtag,
} from './documents.ts'

/** In addition to the body of the document, which may be written with spaces. */
const REQUEST_BYTES = 4 * MAX_BODY_BYTES
const JSON_TYPES = ['application/json', 'application/merge-patch+json']

export function savedGroup(documents: Documents): RouteGroup {
  const route = (method: Route['method'], path: string, handle: Route['handle']): Route => ({
    method,
    path,
    ...(method === 'POST' || method === 'PATCH' ? { body: { limit: REQUEST_BYTES, types: JSON_TYPES } } : {}),
    access: requirePlatformAccess,
    handle,
  })
  return {
    at: ['/saved'],
    limit: 'query',
    headers: { 'cache-control': 'no-store' },
    fail: replyToError,
    routes: [
      route('GET', '/saved', async (context) => {
        const query = readQuery(context)
        const { items, next } = await documents.list(toCaller(context), query)
        context.json({
          items,
          next: next === undefined ? null : nextPage('/saved', context.query, `${next.id}.${next.sortname}`),
        })
      }),
      route('POST', '/saved', async (context) => {
        const created = await documents.create(toCaller(context), readWholeJson(context))
        context.setHeader('location', `/saved/${created.id}`)
        reply(context, created, 201)
      }),
      route('GET', '/saved/:id', async (context) => {
        reply(context, await documents.get(toCaller(context), context.param('id')))
      }),
      route('PATCH', '/saved/:id', async (context) => {
        const version = readMatch(context)
        if (version === undefined)
          throw refuse('Saved.MatchRequired', 'Send If-Match with the ETag that you have read, or *')
        const any = version === '*' ? undefined : version
        reply(context, await documents.change(toCaller(context), context.param('id'), any, readWholeJson(context)))
      }),
      route('DELETE', '/saved/:id', async (context) => {
        const version = readMatch(context)
        await documents.remove(toCaller(context), context.param('id'), version === '*' ? undefined : version)
        context.end(204)
      }),
    ],
  }
}

function toCaller({ principal, address, id }: Context): DocumentCaller {
  return { principal, address, requestId: id }
}

function reply(context: Context, document: PresentedDocument, status = 200): void {
  context.setHeader('etag', versionEtag(document.version))
  context.json(document, status)
}

/** No stored version matches anything that is not one of our tags (RFC 9110 §13.1.1). */
const NO_VERSION = 0

function readMatch({ headers }: Context): number | '*' | undefined {
  const text = headers['if-match']?.trim()
  if (text === undefined || text === '*') return text
  return Number(/^"([1-9]\d{0,14})"$/.exec(text)?.[1] ?? NO_VERSION)
}

function readQuery({ query }: Context): DocumentQuery {
  const text = readListParameters(query, ['kind', 'prefix', 'owner', 'after', 'limit'])
  const kind = text('kind')
  const known = KINDS.find((candidate) => candidate === kind)
  if (kind !== undefined && known === undefined)
    throw refuse('Request.BadParameter', `kind must be one of ${KINDS.join(', ')}`)
  return {
    kind: known,
    prefix: text('prefix') ?? '',
    owner: text('owner'),
    after: readPlace(text('after')),
    limit: readPageSize(text('limit')),
  }
}

function readPlace(text: string | undefined): DocumentPlace {
  if (text === undefined) return { sortname: '', id: '' }
  const [, id, sortname] = /^([\w-]{1,64})\.(.*)$/s.exec(text) ?? []
  if (id === undefined || sortname === undefined)
    throw refuse('Request.BadParameter', 'after must be as in next of the previous page')
  return { id, sortname }
}
