/** The state of an interaction in the browser (sign-in, consent, sign-out), stored here and referenced by a handle. */

import type { Clock } from 'gatehouse-protocol'
import { addressNetwork } from '../../lib/network.ts'
import type { Database } from '../database/database.ts'
import { digestSecret, newSecret } from '../keys/opaque.ts'
import { boundOpenRows, OPEN_ROWS } from './open-rows.ts'

export interface Interaction<Details> {
  readonly handle: string
  readonly details: Details
  /** The browser it belongs to; undefined until the first request with cookies (a cross-site POST has none). */
  readonly browser: string | undefined
  readonly createdAt: number
}

export interface InteractionOrigin {
  readonly address: string
  readonly browser?: string
}

export type Interactions<Details> = ReturnType<typeof createInteractions<Details>>

/** Long enough to fetch a phone; a page left open overnight starts over. */
export const INTERACTION_LIFETIME_MS = 60 * 60 * 1000

export function createInteractions<Details>(
  { db, engine }: Pick<Database, 'db' | 'engine'>,
  clock: Clock,
  limits = OPEN_ROWS,
) {
  const open = boundOpenRows({ db, engine }, { table: 'interactions', limits })
  return {
    async begin(details: Details, { address, browser }: InteractionOrigin): Promise<Interaction<Details>> {
      const handle = newSecret()
      const digest = digestSecret(handle)
      const now = clock()
      const network = addressNetwork(address)
      await db
        .insertInto('interactions')
        .values({
          digest,
          details: JSON.stringify(details),
          browser: browser ?? null,
          network,
          created_at: now,
          expires_at: now + INTERACTION_LIFETIME_MS,
        })
        .execute()
      await open.added({ digest, network, browser })
      return { handle, details, browser, createdAt: now }
    },

    async find(handle: string): Promise<Interaction<Details> | undefined> {
      const row = await db
        .selectFrom('interactions')
        .select(['details', 'browser', 'created_at'])
        .where('digest', '=', digestSecret(handle))
        .where('expires_at', '>', clock())
        .executeTakeFirst()
      if (row === undefined) return undefined
      return {
        handle,
        details: JSON.parse(row.details),
        browser: row.browser ?? undefined,
        createdAt: row.created_at,
      }
    },

    /** From now on it belongs to this browser, unless it belongs to one already. */
    async claim(handle: string, browser: string): Promise<void> {
      await db
        .updateTable('interactions')
        .set({ browser })
        .where('digest', '=', digestSecret(handle))
        .where('browser', 'is', null)
        .execute()
    },

    /** Compare and set: false when another request has changed the state since `read`. */
    async replace(read: Pick<Interaction<Details>, 'handle' | 'details'>, details: Details): Promise<boolean> {
      const row = await db
        .updateTable('interactions')
        .set({ details: JSON.stringify(details) })
        .where('digest', '=', digestSecret(read.handle))
        .where('details', '=', JSON.stringify(read.details))
        .returning('digest')
        .executeTakeFirst()
      return row !== undefined
    },

    /** Deletes it. True for exactly one of several concurrent requests, which may then act on it. */
    async finish(handle: string): Promise<boolean> {
      const row = await db
        .deleteFrom('interactions')
        .where('digest', '=', digestSecret(handle))
        .returning('digest')
        .executeTakeFirst()
      return row !== undefined
    },
  }
}
