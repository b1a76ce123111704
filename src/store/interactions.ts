/** The state of an interaction in the browser (sign-in, consent, sign-out), stored here and referenced by a handle. */
import type { Kysely } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import { digestOf, newSecret } from './opaque.ts'
import type { Schema } from './schema.ts'

export interface Interaction<Details> {
  readonly handle: string
  readonly details: Details
  readonly createdAt: number
}

export type Interactions<Details> = ReturnType<typeof createInteractions<Details>>

/** Long enough to fetch a phone; a page left open overnight starts over. */
export const INTERACTION_LIFETIME_MS = 60 * 60 * 1000

export function createInteractions<Details>(db: Kysely<Schema>, clock: Clock) {
  return {
    async begin(details: Details): Promise<Interaction<Details>> {
      const handle = newSecret()
      const now = clock()
      await db
        .insertInto('interactions')
        .values({
          digest: digestOf(handle),
          details: JSON.stringify(details),
          created_at: now,
          expires_at: now + INTERACTION_LIFETIME_MS,
        })
        .execute()
      return { handle, details, createdAt: now }
    },

    async find(handle: string): Promise<Interaction<Details> | undefined> {
      const row = await db
        .selectFrom('interactions')
        .select(['details', 'created_at'])
        .where('digest', '=', digestOf(handle))
        .where('expires_at', '>', clock())
        .executeTakeFirst()
      return row === undefined ? undefined : { handle, details: JSON.parse(row.details), createdAt: row.created_at }
    },

    /** Compare and set: false when another request has changed the state since `read`. */
    async replace(read: Pick<Interaction<Details>, 'handle' | 'details'>, details: Details): Promise<boolean> {
      const row = await db
        .updateTable('interactions')
        .set({ details: JSON.stringify(details) })
        .where('digest', '=', digestOf(read.handle))
        .where('details', '=', JSON.stringify(read.details))
        .returning('digest')
        .executeTakeFirst()
      return row !== undefined
    },

    /** Deletes it. True for exactly one of several concurrent requests, which may then act on it. */
    async finish(handle: string): Promise<boolean> {
      const row = await db
        .deleteFrom('interactions')
        .where('digest', '=', digestOf(handle))
        .returning('digest')
        .executeTakeFirst()
      return row !== undefined
    },
  }
}
