/** The time of the database, which all nodes share: on PostgreSQL the clocks of nodes may differ. */
import { type Clock, systemClock } from 'gatehouse-protocol'
import { sql } from 'kysely'
import type { Database } from './database.ts'

export interface DatabaseClock {
  readonly now: Clock
  close(): void
}

const MEASURE_EVERY_MS = 10_000

/** Resolves when the time is known. On SQLite it is that of this machine. Tests give a clock, which counts then. */
export async function openDatabaseClock(
  { engine, db }: Pick<Database, 'engine' | 'db'>,
  given: Clock | undefined,
  onError: (error: unknown) => void,
): Promise<DatabaseClock> {
  if (engine === 'sqlite' || given !== undefined) return { now: given ?? systemClock, close() {} }
  // The first one may make a connection, which takes longer.
  const first = await measure(db)
  let ahead = narrow((first.least + first.most) / 2, await measure(db))
  const timer = setInterval(() => {
    measure(db).then((measured) => {
      ahead = narrow(ahead, measured)
    }, onError)
  }, MEASURE_EVERY_MS).unref()
  return {
    // Nobody sets the monotonic clock.
    now: () => Math.round(performance.now() + ahead),
    close: () => clearInterval(timer),
  }
}

interface Measured {
  readonly least: number
  readonly most: number
}

/** A reply that comes late says little: what is known stays, unless it contradicts. */
function narrow(known: number, { least, most }: Measured): number {
  return Math.min(Math.max(known, least), most)
}

/** How far the time of the database is ahead of the monotonic clock of this process, in milliseconds: it was read before the reply. */
async function measure(db: Database['db']): Promise<Measured> {
  const sentAt = performance.now()
  const { rows } = await sql<{ at: number }>`select extract(epoch from clock_timestamp()) * 1000 as at`.execute(db)
  const at = Number(rows[0]?.at)
  return { least: at - performance.now(), most: at - sentAt }
}
