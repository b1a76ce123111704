/** Names that a caller may read, for completion: tables, feeds and topics that contain what was typed, those that begin with it first. */
import { Refusal } from 'gatehouse-protocol'
import { type FeedService, mayRead } from '../../feeds/feeds.ts'
import { pageOfTables, type QueryService, viewFor } from '../../query/index.ts'
import type { Complete } from '../protocol/features.ts'

export interface Names {
  readonly tables: Complete
  readonly feeds: Complete
  /** Of the feed that is known already. */
  readonly topics: Complete
}

const MOST_TOPICS = 101

export function createNames(query: QueryService, feeds: () => FeedService | undefined): Names {
  return {
    async tables(typed, { principal }) {
      return readableTables(query, principal.scopes).filter((name) => contains(name, typed))
    },
    async feeds(typed, { principal }) {
      const readable = (feeds()?.list() ?? []).filter((feed) => mayRead(feed, principal))
      return readable.map(({ name }) => name).filter((name) => contains(name, typed))
    },
    async topics(typed, call, { feed }) {
      const service = feeds()
      const known = service?.list().find(({ name }) => name === feed)
      if (service === undefined || known === undefined || !mayRead(known, call.principal)) return []
      try {
        const view = await service.openView(known.name, { kind: 'prefix', prefix: typed }, call.principal, call)
        const topics = await view
          .listTopics({ prefix: typed, after: undefined, limit: MOST_TOPICS })
          .finally(() => view.close())
        return topics.map(({ topic }) => topic)
      } catch (error) {
        // Without a licence or a second factor, say, there is nothing to choose from.
        if (error instanceof Refusal && error.status < 500) return []
        throw error
      }
    },
  }
}

function contains(name: string, typed: string): boolean {
  return name.toLowerCase().includes(typed.toLowerCase())
}

/** Without system tables, by name. */
export function readableTables({ catalogue }: QueryService, scopes: ReadonlySet<string>): string[] {
  const view = viewFor(catalogue, scopes)
  const page = { prefix: '', isSystem: false, after: '', limit: Number.POSITIVE_INFINITY }
  const { tables } = pageOfTables(catalogue, view, page)
  return tables.map(({ name }) => name).filter((name) => view.lookup(name) !== undefined)
}
