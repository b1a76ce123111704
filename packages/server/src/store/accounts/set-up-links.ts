/** One-time links with which a person chooses a password without knowing an earlier one. Only the digest of a link's token is stored. */

import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newId, newSecret } from '../keys/opaque.ts'

const KINDS = ['invitation', 'reset', 'administrator'] as const
/** For a new user, for one who forgot the password, or for the first administrator, who does not exist yet. */
export type LinkKind = (typeof KINDS)[number]

export type LinkState = 'open' | 'used' | 'revoked' | 'expired'

export interface SetUpLink {
  readonly id: string
  readonly kind: LinkKind
  /** Undefined for the first administrator. */
  readonly userId: string | undefined
  /** The subject who made it. */
  readonly createdBy: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly state: LinkState
  /** The address that it was mailed to: if the user has another one now, it is void. Undefined where an operator passes it on. */
  readonly mailedTo: string | undefined
}

export interface NewLink {
  readonly kind: LinkKind
  readonly userId: string | undefined
  readonly createdBy: string
  readonly lifetimeMs: number
  readonly mailedTo?: string | undefined
}

export interface LinkPage {
  readonly limit: number
  readonly userId?: string | undefined
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined
}

export interface LinkOfUser {
  readonly link: SetUpLink
  readonly username: string | undefined
}

export type SetUpLinks = ReturnType<typeof createSetUpLinks>

/** Where a link leads; the issuer may have a path. */
export function linkUrl(issuer: string, token: string): string {
  return `${issuer}/set-up?token=${token}`
}

export function createSetUpLinks(db: Kysely<Schema>, clock: Clock) {
  return {
    /** A new link replaces the open ones of the same user. Returns the token, which is not stored. */
    async create({
      kind,
      userId,
      createdBy,
      lifetimeMs,
      mailedTo,
    }: NewLink): Promise<{ link: SetUpLink; token: string }> {
      const token = newSecret()
      const now = clock()
      await open(now)
        .set({ revoked_at: now })
        .where('user_id', userId === undefined ? 'is' : '=', userId ?? null)
        .execute()
      const row = {
        id: newId(),
        digest: digestSecret(token),
        kind,
        user_id: userId ?? null,
        created_by: createdBy,
        created_at: now,
        expires_at: now + lifetimeMs,
        used_at: null,
        revoked_at: null,
        mailed_to: mailedTo ?? null,
      }
      await db.insertInto('set_up_links').values(row).execute()
      return { link: toLink(row, now), token }
    },

    /** In any state. */
    async find(token: string): Promise<SetUpLink | undefined> {
      const row = await db
        .selectFrom('set_up_links')
        .selectAll()
        .where('digest', '=', digestSecret(token))
        .executeTakeFirst()
      return row && toLink(row, clock())
    },

    async findById(id: string): Promise<LinkOfUser | undefined> {
      const [row] = await withNames().where('set_up_links.id', '=', id).execute()
      return row && ofUser(row)
    },

    /** Returns the link to exactly one of several callers, who may then act on it; undefined if it is not open. */
    async spend(token: string): Promise<SetUpLink | undefined> {
      const now = clock()
      const row = await open(now)
        .set({ used_at: now })
        .where('digest', '=', digestSecret(token))
        .returningAll()
        .executeTakeFirst()
      return row && toLink(row, now)
    },

    /** False if it was not open. */
    async revoke(id: string): Promise<boolean> {
      const now = clock()
      const row = await open(now).set({ revoked_at: now }).where('id', '=', id).returning('id').executeTakeFirst()
      return row !== undefined
    },

    /** One page, newest first, in any state. */
    async page({ limit, userId, after }: LinkPage): Promise<LinkOfUser[]> {
      let query = withNames()
      if (userId !== undefined) query = query.where('user_id', '=', userId)
      if (after !== undefined)
        query = query.where((eb) =>
          eb(eb.refTuple('set_up_links.created_at', 'set_up_links.id'), '<', eb.tuple(after.createdAt, after.id)),
        )
      const rows = await query
        .orderBy('set_up_links.created_at', 'desc')
        .orderBy('set_up_links.id', 'desc')
        .limit(limit)
        .execute()
      return rows.map(ofUser)
    },
  }

  function open(now: number) {
    return db
      .updateTable('set_up_links')
      .where('used_at', 'is', null)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
  }

  function withNames() {
    return db
      .selectFrom('set_up_links')
      .leftJoin('users', 'users.id', 'set_up_links.user_id')
      .selectAll('set_up_links')
      .select('users.username as username')
  }

  function ofUser(row: Selectable<Schema['set_up_links']> & { username: string | null }): LinkOfUser {
    return { link: toLink(row, clock()), username: row.username ?? undefined }
  }
}

function toLink(row: Selectable<Schema['set_up_links']>, now: number): SetUpLink {
  const kind = KINDS.find((known) => known === row.kind)
  if (kind === undefined) throw new Error(`A set-up link has the unknown kind ${row.kind}`)
  return {
    id: row.id,
    kind,
    userId: row.user_id ?? undefined,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    mailedTo: row.mailed_to ?? undefined,
    state: linkState(row, now),
  }
}

function linkState({ used_at, revoked_at, expires_at }: Selectable<Schema['set_up_links']>, now: number): LinkState {
  if (used_at !== null) return 'used'
  if (revoked_at !== null) return 'revoked'
  return expires_at <= now ? 'expired' : 'open'
}
