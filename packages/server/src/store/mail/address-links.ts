/** One-time links with which a person confirms an e-mail address. Only the digest of a link's token is stored. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newId, newSecret } from '../keys/opaque.ts'

export interface AddressLink {
  readonly userId: string
  readonly address: string
  /** The address that the user had when it was made: if it is another one now, the link is void. */
  readonly replaces: string | undefined
  readonly expiresAt: number
}

export type AddressLinks = ReturnType<typeof createAddressLinks>

export function createAddressLinks(db: Kysely<Schema>, clock: Clock) {
  const isOpen = (now: number) =>
    db
      .updateTable('address_links')
      .where('used_at', 'is', null)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
  return {
    /** It voids the open ones of the same user. Returns the token, which is not stored. */
    async create(link: AddressLink): Promise<string> {
      const token = newSecret()
      const now = clock()
      await isOpen(now).set({ revoked_at: now }).where('user_id', '=', link.userId).execute()
      const row = { id: newId(), digest: digestSecret(token), user_id: link.userId, address: link.address }
      const times = { created_at: now, expires_at: link.expiresAt, used_at: null, revoked_at: null }
      await db
        .insertInto('address_links')
        .values({ ...row, ...times, replaces: link.replaces ?? null })
        .execute()
      return token
    },

    /** Undefined if it cannot be used. */
    async find(token: string): Promise<AddressLink | undefined> {
      const row = await db
        .selectFrom('address_links')
        .selectAll()
        .where('digest', '=', digestSecret(token))
        .where('used_at', 'is', null)
        .where('revoked_at', 'is', null)
        .where('expires_at', '>', clock())
        .executeTakeFirst()
      return row && toLink(row)
    },

    /** The newest open one of a user. */
    async findOfUser(userId: string): Promise<AddressLink | undefined> {
      const row = await db
        .selectFrom('address_links')
        .selectAll()
        .where('user_id', '=', userId)
        .where('used_at', 'is', null)
        .where('revoked_at', 'is', null)
        .where('expires_at', '>', clock())
        .orderBy('created_at', 'desc')
        .limit(1)
        .executeTakeFirst()
      return row && toLink(row)
    },

    /** Returns the link to exactly one of several callers, who may then act on it; undefined if it is not open. */
    async spend(token: string): Promise<AddressLink | undefined> {
      const now = clock()
      const row = await isOpen(now)
        .set({ used_at: now })
        .where('digest', '=', digestSecret(token))
        .returningAll()
        .executeTakeFirst()
      return row && toLink(row)
    },

    async revokeForUser(userId: string): Promise<void> {
      const now = clock()
      await isOpen(now).set({ revoked_at: now }).where('user_id', '=', userId).execute()
    },
  }
}

function toLink(row: Selectable<Schema['address_links']>): AddressLink {
  return {
    userId: row.user_id,
    address: row.address,
    replaces: row.replaces ?? undefined,
    expiresAt: row.expires_at,
  }
}
