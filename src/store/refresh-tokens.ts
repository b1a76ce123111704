/** Refresh tokens: stored as digests and rotated on use; a late second use reveals a stolen token (RFC 9700 §4.14). */
import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import { type Grant, toGrant } from './grants.ts'
import { digestOf, newSecret } from './opaque.ts'
import { prepare } from './prepared-query.ts'
import type { RefreshTokenRow, Schema } from './schema.ts'

export interface RefreshToken {
  readonly digest: string
  readonly grant: Grant
  readonly issuedAt: number
  readonly expiresAt: number
}

export type Rotation =
  | { readonly outcome: 'rotated'; readonly successor: string }
  /** Used again within the grace period: the same successor again (a lost response, two tabs). */
  | { readonly outcome: 'repeated'; readonly successor: string }
  /** Used again after the grace period, or after its successor was used: the token was stolen. */
  | { readonly outcome: 'reused' }

export interface RefreshLifetimes {
  /** Lifetime of an unused token. */
  readonly idleMs: number
  readonly graceMs: number
}

export type RefreshTokens = ReturnType<typeof createRefreshTokens>

export function createRefreshTokens(db: Kysely<Schema>, clock: Clock) {
  const insert = prepare(db, (row: RefreshTokenRow) =>
    db
      .insertInto('refresh_tokens')
      .values({
        digest: row.digest,
        grant_id: row.grant_id,
        parent_digest: row.parent_digest,
        issued_at: row.issued_at,
        expires_at: row.expires_at,
        sealed: row.sealed,
      })
      .onConflict((conflict) => conflict.column('parent_digest').doNothing())
      .returning('digest'),
  )
  const byDigest = prepare(db, ({ digest }: { digest: string }) =>
    db
      .selectFrom('refresh_tokens as token')
      .innerJoin('grants', 'grants.id', 'token.grant_id')
      .selectAll('grants')
      .select(['token.digest', 'token.issued_at as token_issued_at', 'token.expires_at as token_expires_at'])
      .where('token.digest', '=', digest),
  )

  return {
    /** Issues the first token of a grant. The token itself is not stored. */
    async issue(grant: Pick<Grant, 'id' | 'expiresAt'>, { idleMs }: Pick<RefreshLifetimes, 'idleMs'>): Promise<string> {
      const token = newSecret()
      const now = clock()
      await insert({
        digest: digestOf(token),
        grant_id: grant.id,
        parent_digest: null,
        issued_at: now,
        expires_at: Math.min(now + idleMs, grant.expiresAt),
        sealed: null,
      })
      return token
    },

    /** The token with its grant, in whatever state they are. */
    async find(token: string): Promise<RefreshToken | undefined> {
      const [row] = await byDigest({ digest: digestOf(token) })
      if (row === undefined) return undefined
      return {
        digest: row.digest,
        grant: toGrant(row),
        issuedAt: row.token_issued_at,
        expiresAt: row.token_expires_at,
      }
    },

    /**
     * A token is spent by inserting its successor: of concurrent attempts the unique index on the parent admits one.
     * The successor is stored masked with a pad derived from the parent, so that a repeated use can return the same token.
     */
    async rotate(token: string, found: RefreshToken, { idleMs, graceMs }: RefreshLifetimes): Promise<Rotation> {
      const successor = newSecret()
      const now = clock()
      const [inserted] = await insert({
        digest: digestOf(successor),
        grant_id: found.grant.id,
        parent_digest: found.digest,
        issued_at: now,
        expires_at: Math.min(now + idleMs, found.grant.expiresAt),
        sealed: masked(successor, token),
      })
      if (inserted !== undefined) return { outcome: 'rotated', successor }

      const child = await db
        .selectFrom('refresh_tokens as child')
        .leftJoin('refresh_tokens as grandchild', 'grandchild.parent_digest', 'child.digest')
        .select(['child.sealed', 'child.issued_at', 'grandchild.digest as used'])
        .where('child.parent_digest', '=', found.digest)
        .executeTakeFirst()
      const within = child !== undefined && child.used === null && now - child.issued_at <= graceMs
      if (!within || child.sealed === null) return { outcome: 'reused' }
      return { outcome: 'repeated', successor: masked(child.sealed, token) }
    },

    async isSpent({ digest }: RefreshToken): Promise<boolean> {
      const child = await db
        .selectFrom('refresh_tokens')
        .select('digest')
        .where('parent_digest', '=', digest)
        .executeTakeFirst()
      return child !== undefined
    },
  }
}

/**
 * A one-time pad, applied and removed by the same XOR: 256 bits derived from the parent token alone, for the 256 bits of
 * its only successor. The prefix makes the pad differ from the token's digest.
 */
function masked(secret: string, parent: string): string {
  const pad = hash('sha256', `gatehouse refresh successor ${parent}`, 'buffer')
  const bytes = Buffer.from(secret, 'base64url')
  for (let index = 0; index < bytes.length; index++) bytes.writeUInt8(bytes.readUInt8(index) ^ (pad[index] ?? 0), index)
  return bytes.toString('base64url')
}
