/** The durable event log behind the bus. Revocations are loaded from it at start, until every token they concern has expired. */

import type { Clock, GateEvent } from 'gatehouse-protocol'
import { type Kysely, sql } from 'kysely'
import type { Engine } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'

export interface RecordedEvent {
  readonly seq: number
  readonly event: GateEvent
}

export type Events = ReturnType<typeof createEvents>

/** The NOTIFY channel for new events: sequence number, space, body (empty when it exceeds the limit of NOTIFY, 8000 bytes). */
export const CHANNEL = 'gatehouse_events'
const LONGEST_NOTIFIED = 7500
const ROWS_AT_ONCE = 200
/** By how many numbers an event may come late on PostgreSQL. */
export const LATE = 500
/** For events without an expiry. A node that was disconnected for longer restarts and reads everything. */
const KEPT_MS = 24 * 3600 * 1000

export function createEvents(db: Kysely<Schema>, engine: Engine, clock: Clock) {
  return {
    /** Durable when it resolves. On PostgreSQL the same statement notifies the listening nodes. */
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
      const notified = values.body.length > LONGEST_NOTIFIED ? '' : values.body
      const row = await db
        .with('inserted', () => insert)
        .selectFrom('inserted')
        .select('seq')
        .select(sql`pg_notify(${CHANNEL}, seq || ' ' || ${notified}::text)`.as('notified'))
        .executeTakeFirstOrThrow()
      return row.seq
    },

    /** As `append`, for many events with few statements. */
    async appendAll(events: readonly GateEvent[]): Promise<RecordedEvent[]> {
      const recorded: RecordedEvent[] = []
      const now = clock()
      for (let from = 0; from < events.length; from += ROWS_AT_ONCE) {
        const rows = events.slice(from, from + ROWS_AT_ONCE).map((event) => ({
          kind: event.kind,
          body: JSON.stringify(event),
          created_at: now,
          expires_at: 'expiresAt' in event ? event.expiresAt : now + KEPT_MS,
        }))
        const insert = db.insertInto('events').values(rows).returning(['seq', 'body'])
        const inserted =
          engine === 'sqlite'
            ? await insert.execute()
            : await db
                .with('inserted', () => insert)
                .selectFrom('inserted')
                .select(['seq', 'body'])
                .select(
                  sql`pg_notify(${CHANNEL}, seq || ' ' || case when length(body) > ${LONGEST_NOTIFIED} then '' else body end)`.as(
                    'notified',
                  ),
                )
                .orderBy('seq')
                .execute()
        recorded.push(...inserted.map(({ seq, body }) => ({ seq, event: JSON.parse(body) })))
      }
      return recorded
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

    /**
     * Another text when anything was recorded since: the last number is not enough, because PostgreSQL gives numbers before the commit, and
     * a lower one may appear after it.
     */
    async newest(): Promise<string> {
      const last = sql`(select max(seq) from events)`
      const { rows } = await sql<{ newest: string }>`
        select ${last} || ':' || (select count(*) from events where seq > ${last} - ${LATE})::text as newest`.execute(
        db,
      )
      return rows[0]?.newest ?? ''
    },

    /** Events of these kinds that have not expired. */
    async unexpired(kinds: readonly GateEvent['kind'][]): Promise<GateEvent[]> {
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
