/** The durable log of what every node must feel; revocations are read back from it at start until no token can need them. */
import type { Kysely } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import type { GateEvent } from '../protocol/gate-event.ts'
import type { Engine } from './database.ts'
import { sql } from './kysely.ts'
import type { Schema } from './schema.ts'

export interface RecordedEvent {
  readonly seq: number
  readonly event: GateEvent
}

export type Events = ReturnType<typeof createEvents>

/** Where PostgreSQL tells of a new event: its number, a space, its body (or nothing, when it is too long to be told). */
export const CHANNEL = 'gatehouse_events'
const MOST_TOLD = 7500
/** Events without an end of their own: a node that was away longer starts anew and reads everything. */
const KEPT_MS = 24 * 3600 * 1000

export function createEvents(db: Kysely<Schema>, engine: Engine, clock: Clock) {
  return {
    /** Durable when it resolves; PostgreSQL tells the listening nodes in the same statement. */
    async append(event: GateEvent): Promise<number> {
      const now = clock()
      const values = {
        kind: event.kind,
        body: JSON.stringify(event),
        created_at: now,
        expires_at: 'expiresAt' in event ? event.expiresAt : now + KEPT_MS,
      }
      const insert = db.insertInto('events').values(values).returning('seq')
      if (engine === 'sqlite') return (await insert.executeTakeFirstOrThrow()).seq
      const told = values.body.length > MOST_TOLD ? '' : values.body
      const row = await db
        .with('told', () => insert)
        .selectFrom('told')
        .select('seq')
        .select(sql`pg_notify(${CHANNEL}, seq || ' ' || ${told}::text)`.as('notified'))
        .executeTakeFirstOrThrow()
      return row.seq
    },

    async since(seq: number): Promise<RecordedEvent[]> {
      const rows = await db.selectFrom('events').select(['seq', 'body']).where('seq', '>', seq).orderBy('seq').execute()
      return rows.map(({ seq, body }) => ({ seq, event: JSON.parse(body) }))
    },

    async lastSeq(): Promise<number> {
      const row = await db
        .selectFrom('events')
        .select((eb) => eb.fn.max('seq').as('seq'))
        .executeTakeFirst()
      return row?.seq ?? 0
    },

    /** Those that still matter, of the given kinds. */
    async live(kinds: readonly GateEvent['kind'][]): Promise<GateEvent[]> {
      const rows = await db
        .selectFrom('events')
        .select('body')
        .where('kind', 'in', kinds)
        .where('expires_at', '>', clock())
        .orderBy('seq')
        .execute()
      return rows.map(({ body }) => JSON.parse(body))
    },
  }
}
