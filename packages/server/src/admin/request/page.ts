/** Pages of lists that grow: `limit` items after the key of the last one, and the path of the next page. */
import { Refusal } from 'gatehouse-protocol'
import type { AdminCall, AdminReply } from '../route.ts'
import { readCount } from './parameters.ts'

const DEFAULT_LIMIT = 100

/** The parameters of a list whose order has no simple key. */
export function cursorQuery(things: string) {
  return { ...pageQuery(things, 'id'), after: 'As in `next` of the previous page.' } as const
}

/** The parameters of a paged route; `things` names the listed items, `key` the member that identifies the last one. */
export function pageQuery(things: string, key: string) {
  return {
    after: `The ${key} of the last one on the previous page.`,
    limit: `${things} per page: 1 to 1000, default ${DEFAULT_LIMIT}.`,
  } as const
}

export const PAGE_REPLY = '{"items": […], "next": "the path of the next page or null"}'

export interface Page {
  readonly after: string
  readonly limit: number
}

export function readPage({ query }: Pick<AdminCall, 'query'>): Page {
  return { after: query.after ?? '', limit: readCount(query.limit, 'limit', DEFAULT_LIMIT, 1000) }
}

/** Of a list that is newest first: the time of the last item, and its id. */
export interface TimeCursor {
  readonly createdAt: number
  readonly id: string
}

export function writeTimeCursor({ createdAt, id }: TimeCursor): string {
  return `${createdAt}.${id}`
}

export function readTimeCursor(text: string, idPattern = /^[\w-]{1,64}$/): TimeCursor | undefined {
  if (text === '') return undefined
  const [, createdAt, id = ''] = /^(\d{1,15})\.(.+)$/.exec(text) ?? []
  if (createdAt === undefined || !idPattern.test(id)) throw badCursor()
  return { createdAt: Number(createdAt), id }
}

export function badCursor(): Refusal {
  return new Refusal('admin.bad_parameter', 400, 'after must be as in next of the previous page')
}

/** `items` are at most `limit`; a full page may have another after it. */
export function pageReply<Item>(
  path: string,
  { query }: Pick<AdminCall, 'query'>,
  { limit }: Page,
  items: readonly Item[],
  { cursorKey, present }: { readonly cursorKey: (item: Item) => string; readonly present: (item: Item) => object },
): AdminReply & { readonly body: object } {
  const last = items.length === limit ? items.at(-1) : undefined
  const search = last && new URLSearchParams({ ...query, after: cursorKey(last), limit: String(limit) })
  return { body: { items: items.map(present), next: search === undefined ? null : `${path}?${search}` } }
}
