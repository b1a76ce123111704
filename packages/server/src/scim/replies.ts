/** Replies: resources with their entity tags, lists, and the conditions of a request (RFC 7644 §3.14). */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../http/context.ts'
import { isObject, type JsonObject } from './filter/match.ts'
import { type Projection, project } from './query-parameters.ts'
import { SCIM_TYPE } from './scim-error.ts'

const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

export interface ListPage {
  readonly totalResults: number
  /** Of the first resource; undefined where pages are counted by cursors. */
  readonly startIndex: number | undefined
  readonly nextCursor?: string | undefined
  readonly resources: readonly JsonObject[]
}

export function sendList(context: Context, { totalResults, startIndex, nextCursor, resources }: ListPage): void {
  const itemsPerPage = resources.length
  const body = { schemas: [LIST_SCHEMA], totalResults, itemsPerPage, startIndex, nextCursor, Resources: resources }
  send(context, body, 200)
}

export function sendResource(
  context: Context,
  resource: JsonObject,
  { status = 200, projection, core }: { status?: number; projection: Projection; core: string },
): void {
  const version = readVersion(resource)
  context.setHeader('etag', version)
  if (status === 201) context.setHeader('location', readLocation(resource))
  const known = context.headers['if-none-match']
  if (status === 200 && context.method === 'GET' && known !== undefined && isListed(known, version)) context.end(304)
  else send(context, project(resource, projection, core), status)
}

export function send(context: Context, body: object, status: number): void {
  context.setHeader('cache-control', 'no-store')
  context.send(SCIM_TYPE, JSON.stringify(body), status)
}

/** If-Match is optional. Weak tags match: they stand for what is shown. */
export function checkVersion({ headers }: Context, resource: JsonObject): void {
  const wanted = headers['if-match']
  const version = readVersion(resource)
  if (wanted === undefined || isListed(wanted, version)) return
  throw new Refusal('scim.changed_meanwhile', 412, 'The resource was changed in the meantime: read it again', {
    headers: { etag: version },
  })
}

function isListed(header: string, version: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some((tag) => opaque(tag) === opaque(version))
}

function readVersion({ meta }: JsonObject): string {
  return isObject(meta) ? String(meta.version) : ''
}

function readLocation({ meta }: JsonObject): string {
  return isObject(meta) ? String(meta.location) : ''
}
