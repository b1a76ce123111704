/** The parameters of a list or a search (RFC 7644 §3.4.2, RFC 9865 §2), and which attributes a reply has (RFC 7644 §3.9). */
import { hash } from 'node:crypto'
import type { Context } from '../http/context.ts'
import { isObject, type JsonObject } from './filter/match.ts'
import { badRequest } from './scim-error.ts'

export const MOST_RESULTS = 200

export interface ListQuery {
  readonly filter: string | undefined
  /** From 1. */
  readonly startIndex: number
  readonly count: number
  /** The id of the last resource of the page before; undefined where pages are counted by startIndex. */
  readonly cursor: { readonly afterId: string } | undefined
  readonly projection: Projection
}

export interface Projection {
  /** Paths in lower case; undefined for all. */
  readonly only: readonly string[] | undefined
  readonly without: readonly string[]
}

export const WHOLE: Projection = { only: undefined, without: [] }

export function readListQuery({ query }: Context): ListQuery {
  return listQuery((name) => {
    const value = query.get(name)
    return Array.isArray(value) ? value.at(-1) : value
  })
}

/** The body of `POST …/.search` (RFC 7644 §3.4.3). */
export function readSearch(body: JsonObject): ListQuery {
  return listQuery((name) => {
    const value = Object.hasOwn(body, name) ? body[name] : undefined
    if (Array.isArray(value)) return value.join(',')
    return value === undefined || value === null || isObject(value) ? undefined : String(value)
  })
}

function listQuery(find: (name: string) => string | undefined): ListQuery {
  const filter = find('filter')
  const cursor = find('cursor')
  return {
    filter: filter === '' ? undefined : filter,
    startIndex: Math.max(1, readInteger(find('startIndex'), 'startIndex') ?? 1),
    count: Math.min(MOST_RESULTS, Math.max(0, readInteger(find('count'), 'count') ?? MOST_RESULTS)),
    cursor: cursor === undefined ? undefined : { afterId: readCursor(cursor, filter) },
    projection: { only: readPaths(find('attributes')), without: readPaths(find('excludedAttributes')) ?? [] },
  }
}

/** The end of a page. It is good for the same filter only. */
export function writeCursor(lastId: string, filter: string | undefined): string {
  return Buffer.from(JSON.stringify([filterDigest(filter), lastId])).toString('base64url')
}

function readCursor(text: string, filter: string | undefined): string {
  if (text === '') return ''
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    const [digest, id]: unknown[] = Array.isArray(value) ? value : []
    if (digest === filterDigest(filter) && typeof id === 'string' && /^\w{3}_[\w-]{1,64}$/.test(id)) return id
  } catch {
    // Refused below.
  }
  throw badRequest('invalidCursor', 'The cursor is not one of this server, or belongs to another filter')
}

function filterDigest(filter = ''): string {
  return hash('sha256', filter, 'base64url').slice(0, 8)
}

function readInteger(text: string | undefined, name: string): number | undefined {
  if (text === undefined || text === '') return undefined
  if (!/^-?\d{1,15}$/.test(text))
    throw badRequest(name === 'count' ? 'invalidCount' : 'invalidValue', `${name} must be a whole number`)
  return Number(text)
}

const MOST_PATHS = 100

function readPaths(text: string | undefined): readonly string[] | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const paths = text.split(',').map((path) => path.trim().toLowerCase())
  if (paths.length > MOST_PATHS) throw badRequest('invalidValue', `At most ${MOST_PATHS} attributes can be listed`)
  return paths
}

export function readProjection(context: Context): Projection {
  return readListQuery(context).projection
}

/** Whether an attribute, or a part of it, is in the reply. */
export function isShown(name: string, { only, without }: Projection): boolean {
  if (without.includes(name)) return false
  return only === undefined || only.some((path) => path === name || path.startsWith(`${name}.`))
}

/** `id` and `schemas` are always returned (RFC 7643 §3.1). */
export function project(resource: JsonObject, projection: Projection, core: string): JsonObject {
  const { only, without } = projection
  if (only === undefined && without.length === 0) return resource
  const bare = {
    only: only?.map((path) => withoutPrefix(path, core)),
    without: without.map((path) => withoutPrefix(path, core)),
  }
  const shown = Object.entries(resource).map(([name, value]): [string, unknown] => [
    name,
    name === 'id' || name === 'schemas' ? value : projectMember(name.toLowerCase(), value, bare),
  ])
  return Object.fromEntries(shown.filter(([, value]) => value !== undefined))
}

function withoutPrefix(path: string, core: string): string {
  const prefix = `${core.toLowerCase()}:`
  return path.startsWith(prefix) ? path.slice(prefix.length) : path
}

function projectMember(name: string, value: unknown, { only, without }: Projection): unknown {
  // The members of an extension follow its URN after a colon, the parts of an attribute after a dot.
  const separator = name.startsWith('urn:') ? ':' : '.'
  const partsIn = (paths: readonly string[]) =>
    paths.flatMap((path) => (path.startsWith(name + separator) ? [path.slice(name.length + 1)] : []))
  if (without.includes(name)) return undefined
  const hidden = partsIn(without)
  if (only === undefined || only.includes(name))
    return hidden.length === 0 ? value : keepParts(value, undefined, hidden)
  const shown = partsIn(only)
  return shown.length === 0 ? undefined : keepParts(value, shown, hidden)
}

function keepParts(value: unknown, shown: readonly string[] | undefined, hidden: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => keepParts(item, shown, hidden))
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([name]) => {
    const folded = name.toLowerCase()
    return !hidden.includes(folded) && (shown === undefined || shown.includes(folded))
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
