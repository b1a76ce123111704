/** Shares the rate-limit counts of busy callers between the nodes on one PostgreSQL database, once a second. */
import type { Clock } from 'gatehouse-protocol'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

export interface RateCount {
  readonly key: string
  readonly window: number
  readonly expiresAt: number
  readonly count: number
}

export interface RateCountOptions {
  readonly clock: Clock
  /** Unique among the running nodes. */
  readonly node: string
  share(): readonly RateCount[]
  learn(counts: readonly { readonly key: string; readonly window: number; readonly count: number }[]): void
  readonly onError: (error: unknown) => void
}

const EVERY_MS = 1_000
/** Only callers near a limit are shared, so this is far more than normal traffic produces. */
const MOST_READ = 10_000

/**
 * A limit over several nodes is approximate by design: between two exchanges each node counts only its own requests.
 * Exact counting would cost every request a round trip to the database.
 */
export function syncRateCounts(
  database: Pick<Database, 'db' | 'engine'>,
  options: RateCountOptions,
): { stop(): Promise<void> } {
  if (database.engine === 'sqlite') return { async stop() {} }
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= exchange(database, options)
      .catch(options.onError)
      .finally(() => {
        running = undefined
      })
  }, EVERY_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

async function exchange({ db }: Pick<Database, 'db'>, { clock, node, share, learn }: RateCountOptions): Promise<void> {
  const mine = share()
  if (mine.length > 0) {
    await sql`insert into rate_counts (key, window_start, node, count, expires_at)
      select key, "window", ${node}, count, "expiresAt"
      from json_to_recordset(${JSON.stringify(mine)}::json) as r(key text, "window" bigint, "expiresAt" bigint, count bigint)
      on conflict (key, window_start, node) do update set count = excluded.count`.execute(db)
  }
  const others = await db
    .selectFrom('rate_counts')
    .select(({ fn }) => ['key', 'window_start as window', fn.sum<number>('count').as('count')])
    .where('node', '!=', node)
    .where('expires_at', '>', clock())
    .groupBy(['key', 'window_start'])
    .limit(MOST_READ)
    .execute()
  learn(others.map(({ key, window, count }) => ({ key, window, count: Number(count) })))
}
