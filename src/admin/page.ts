/** Pages of lists that grow: `limit` items after the key of the last one, and the path of the next page. */
import { readCount } from './parameters.ts'
import type { AdminCall, AdminReply } from './route.ts'

const DEFAULT_LIMIT = 100

/** The parameters of a paged route; `things` are listed, `key` is what the last one is named by. */
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

/** `items` are at most `limit`; a full page may have another after it. */
export function pageReply<Item>(
  path: string,
  { query }: Pick<AdminCall, 'query'>,
  { limit }: Page,
  items: readonly Item[],
  { keyOf, present }: { readonly keyOf: (item: Item) => string; readonly present: (item: Item) => object },
): AdminReply {
  const last = items.length === limit ? items.at(-1) : undefined
  const search = last && new URLSearchParams({ ...query, after: keyOf(last), limit: String(limit) })
  return { body: { items: items.map(present), next: search === undefined ? null : `${path}?${search}` } }
}
