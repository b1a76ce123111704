/** Reading the audit log: page by page into the past, and as it is written. */
import { read, withQuery } from '../../admin/requests.ts'
import { pause, visible } from '../../ui/polling.ts'
import type { AuditItem, AuditPage, Names } from './replies.ts'

/** As the address of the page and the API name them. */
export const FILTERS = [
  'changes',
  'event',
  'outcome',
  'actor',
  'target',
  'client',
  'address',
  'since',
  'until',
] as const
export type AuditFilter = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>

export interface AuditRows {
  /** Newest first. */
  readonly items: readonly AuditItem[]
  readonly names: Names
  /** Older ones; null at the beginning of the log. */
  readonly next: string | null
  /** The newest row that was searched: the log is followed from here. */
  readonly newest: number
}

const PAGE = 50
/** A page of rare events may be empty although there are older ones. */
const MOST_EMPTY_PAGES = 20
/** Rows that are kept while the log is followed. */
const MOST_ROWS = 1000
const WAIT_S = 20
const REST_AFTER_ERROR_MS = 3000

export async function readNewest(filter: AuditFilter, signal?: AbortSignal): Promise<AuditRows> {
  // Before the search, so that no row falls between the two.
  const newest = (await read<AuditPage>('/admin/audit?limit=1', signal)).items[0]?.seq ?? 0
  return { ...(await readBack(withQuery('/admin/audit', { ...filter, limit: String(PAGE) }), signal)), newest }
}

export async function readOlder(rows: AuditRows, signal?: AbortSignal): Promise<AuditRows> {
  if (rows.next === null) return rows
  const { items, names, next } = await readBack(rows.next, signal)
  return { ...rows, items: [...rows.items, ...items], names: { ...rows.names, ...names }, next }
}

async function readBack(path: string, signal?: AbortSignal): Promise<AuditPage> {
  let page = await read<AuditPage>(path, signal)
  for (let empty = 0; page.items.length === 0 && page.next !== null && empty < MOST_EMPTY_PAGES; empty++)
    page = await read<AuditPage>(page.next, signal)
  return page
}

/** The rows with newer ones added. Too many rows lose the oldest, which can be read again. */
export function withNewer(rows: AuditRows, page: AuditPage, filter: AuditFilter): AuditRows {
  const all = [...page.items].reverse().concat(rows.items)
  const items = all.slice(0, MOST_ROWS)
  const before = items.length < all.length ? items.at(-1)?.seq : undefined
  return {
    items,
    names: { ...rows.names, ...page.names },
    newest: Math.max(rows.newest, items[0]?.seq ?? 0),
    next:
      before === undefined
        ? rows.next
        : withQuery('/admin/audit', { ...filter, before: String(before), limit: String(PAGE) }),
  }
}

/** Reports the events after a row until it is aborted. It reports errors too, and continues after them. */
export async function followLog(
  filter: AuditFilter,
  after: number,
  signal: AbortSignal,
  report: { readonly page: (page: AuditPage) => void; readonly error: (error: unknown) => void },
): Promise<void> {
  let path = withQuery('/admin/audit', { ...filter, after: String(after), wait: String(WAIT_S) })
  while (!signal.aborted) {
    try {
      await visible(signal)
      const page = await read<AuditPage>(path, signal)
      path = page.next ?? path
      if (!signal.aborted) report.page(page)
    } catch (error) {
      if (signal.aborted) return
      report.error(error)
      await pause(REST_AFTER_ERROR_MS, signal)
    }
  }
}
