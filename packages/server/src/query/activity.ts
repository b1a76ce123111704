/** What callers run on this node, as operators see it: queries, and live statements until they end. */
import type { LiveQueries } from './live/contract.ts'
import type { QueryInfo, RunningQueries } from './run/running.ts'

export interface ListedQuery extends QueryInfo {
  readonly kind: 'query' | 'live'
}

export interface QueryActivity {
  list(): Iterable<ListedQuery>
  /** Cancels a query, or ends a live statement, of the owner (see `callOwner`), or of any owner; false if there is none. */
  cancel(requestId: string, owner: string | undefined): boolean
}

export function createQueryActivity(running: RunningQueries, live: LiveQueries): QueryActivity {
  return {
    *list() {
      for (const query of running.list()) yield { ...query, kind: 'query' }
      for (const { requestId, subject, clientId, statement, startedAt } of live.list())
        yield { requestId, subject, clientId, statement, startedAt, kind: 'live' }
    },
    cancel(requestId, owner) {
      const isCancelled = running.cancel(requestId, owner)
      return live.end(requestId, owner) || isCancelled
    },
  }
}
