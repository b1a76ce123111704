/** Lets the nodes on one PostgreSQL know each other's busy callers, once a second. */

import type { Clock } from '../protocol/clock.ts'
import type { Database } from './database.ts'
import { sql } from './kysely.ts'

export interface ExchangedCount {
  readonly key: string
  readonly window: number
  readonly expiresAt: number
  readonly count: number
}

export interface ExchangeOptions {
  readonly clock: Clock
  /** Unique among the nodes that run now. */
  readonly node: string
  share(): readonly ExchangedCount[]
  learn(counts: readonly { readonly key: string; readonly window: number; readonly count: number }[]): void
  readonly onError: (error: unknown) => void
}

const EVERY_MS = 1_000
/** Only callers near a limit are shared, so that this is far more than any honest hour brings. */
const MOST_READ = 10_000

/**
 * A limit over several nodes is approximate by design: between two exchanges each node lets through what it knows no better of.
 * Exact counting would cost every request a round trip to the database.
 */
export function exchangeRates(
  database: Pick<Database, 'db' | 'engine'>,
  options: ExchangeOptions,
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

async function exchange({ db }: Pick<Database, 'db'>, { clock, node, share, learn }: ExchangeOptions): Promise<void> {
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
