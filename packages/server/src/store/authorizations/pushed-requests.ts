/** Pushed authorization requests (RFC 9126), stored by the digest of their request_uri until they expire or were answered. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, sql } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newSecret } from '../keys/opaque.ts'

export interface PushedRequest {
  readonly digest: string
  /** The request as JSON. */
  readonly details: string
}

export type PushedRequests = ReturnType<typeof createPushedRequests>

/** Not answered and not expired, of one client. */
const MOST_OPEN = 1000

export function createPushedRequests(db: Kysely<Schema>, clock: Clock) {
  return {
    /** Returns the secret part of the request_uri, which is not stored; undefined if the client has too many open ones. */
    async push(clientId: string, details: string, lifetimeMs: number): Promise<string | undefined> {
      const secret = newSecret()
      const now = clock()
      // One statement: requests at the same time are all counted. On PostgreSQL those in progress are not, which a few may be.
      const { numAffectedRows = 0n } = await sql`
        insert into pushed_requests (digest, client_id, details, created_at, expires_at)
        select cast(${digestSecret(secret)} as text), cast(${clientId} as text), cast(${details} as text),
          cast(${now} as bigint), cast(${now + lifetimeMs} as bigint)
        where (select count(*) from pushed_requests
          where client_id = ${clientId} and expires_at > ${now} and answered_at is null) < ${MOST_OPEN}`.execute(db)
      return numAffectedRows === 0n ? undefined : secret
    },

    /** The request of this client, unless it has expired or was answered. */
    async find(secret: string, clientId: string): Promise<PushedRequest | undefined> {
      return db
        .selectFrom('pushed_requests')
        .select(['digest', 'details'])
        .where('digest', '=', digestSecret(secret))
        .where('client_id', '=', clientId)
        .where('expires_at', '>', clock())
        .where('answered_at', 'is', null)
        .executeTakeFirst()
    },

    /** True for exactly one of several attempts, on all nodes: that one may answer. It may have expired since it was opened. */
    async answer(digest: string): Promise<boolean> {
      const row = await db
        .updateTable('pushed_requests')
        .set({ answered_at: clock() })
        .where('digest', '=', digest)
        .where('answered_at', 'is', null)
        .returning('digest')
        .executeTakeFirst()
      return row !== undefined
    },

    /** It was not answered after all. */
    async reopen(digest: string): Promise<void> {
      await db.updateTable('pushed_requests').set({ answered_at: null }).where('digest', '=', digest).execute()
    },
  }
}
