/** Provisioning tokens: secrets of SCIM clients that cannot fetch access tokens. Two may be valid at once, for rotation. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newId, newSecret } from '../keys/opaque.ts'

export interface ProvisioningToken {
  readonly id: string
  readonly clientId: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly usedAt: number | undefined
}

export const MOST_TOKENS = 2
/** Lets people and scanners of secrets recognise one. */
const TOKEN_PREFIX = 'ghscim_'
/** How exact the times of use are. */
const SEEN_EVERY_MS = 60_000

export function createProvisioningTokens(db: Kysely<Schema>, clock: Clock) {
  return {
    /** Those that have not expired, the oldest first. */
    async list(clientId: string): Promise<ProvisioningToken[]> {
      const rows = await db
        .selectFrom('scim_tokens')
        .selectAll()
        .where('client_id', '=', clientId)
        .where('expires_at', '>', clock())
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map(toToken)
    },

    /** The token is returned here only; its digest is stored. */
    async add(clientId: string, expiresAt: number): Promise<{ readonly id: string; readonly token: string }> {
      const [id, token] = [newId(), TOKEN_PREFIX + newSecret()]
      const now = clock()
      await db.deleteFrom('scim_tokens').where('client_id', '=', clientId).where('expires_at', '<=', now).execute()
      await db
        .insertInto('scim_tokens')
        .values({ id, client_id: clientId, digest: digestSecret(token), created_at: now, expires_at: expiresAt })
        .execute()
      return { id, token }
    },

    /** False if the client has no such token. */
    async remove(clientId: string, id: string): Promise<boolean> {
      const removed = await db
        .deleteFrom('scim_tokens')
        .where('client_id', '=', clientId)
        .where('id', '=', id)
        .returning('id')
        .executeTakeFirst()
      return removed !== undefined
    },

    /** Undefined for one that is unknown or has expired. */
    async find(token: string): Promise<ProvisioningToken | undefined> {
      const row = await db
        .selectFrom('scim_tokens')
        .selectAll()
        .where('digest', '=', digestSecret(token))
        .where('expires_at', '>', clock())
        .executeTakeFirst()
      return row && toToken(row)
    },

    isOne: (text: string): boolean => text.startsWith(TOKEN_PREFIX),

    /** Notes that the client, and the token if it used one, was seen now; to the minute, as a client sends many requests a second. */
    async seen(clientId: string, token: ProvisioningToken | undefined): Promise<void> {
      const now = clock()
      if (token?.usedAt !== undefined && now - token.usedAt < SEEN_EVERY_MS) return
      await db
        .insertInto('scim_clients')
        .values({ client_id: clientId, seen_at: now })
        .onConflict((conflict) =>
          conflict.column('client_id').doUpdateSet({ seen_at: now }).where('scim_clients.seen_at', '<', now),
        )
        .execute()
      if (token !== undefined)
        await db.updateTable('scim_tokens').set({ used_at: now }).where('id', '=', token.id).execute()
    },

    /** When each client was last seen. */
    async lastSeen(): Promise<ReadonlyMap<string, number>> {
      const rows = await db.selectFrom('scim_clients').selectAll().execute()
      return new Map(rows.map(({ client_id, seen_at }) => [client_id, seen_at]))
    },
  }
}

function toToken(row: Schema['scim_tokens']): ProvisioningToken {
  return {
    id: row.id,
    clientId: row.client_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    usedAt: row.used_at ?? undefined,
  }
}
