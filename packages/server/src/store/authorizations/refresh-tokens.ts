/** Refresh tokens: stored as digests and rotated on use; a late second use reveals a stolen token (RFC 9700 §4.14). */
import { hash } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import { prepare } from '../database/prepared-query.ts'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newSecret } from '../keys/opaque.ts'
import { type Grant, toGrant } from './grants.ts'

export interface RefreshToken {
  readonly digest: string
  readonly grant: Grant
  readonly issuedAt: number
  readonly expiresAt: number
}

export type Rotation =
  | { readonly outcome: 'rotated'; readonly successor: string; readonly digest: string }
  /** Used again within the grace period, or not delivered: the same successor again (a lost response, two tabs). */
  | { readonly outcome: 'repeated'; readonly successor: string; readonly digest: string }
  /** Used again after the grace period, or after its successor was used: the token was stolen. */
  | { readonly outcome: 'reused' }

/** Successors that did not reach their client, by their digests. */
export interface Undelivered {
  note(digest: string): void
  /** Whether it was noted, on any node: then it may be given again. */
  claim(digest: string): Promise<boolean>
}

const ALL_DELIVERED: Undelivered = { note() {}, claim: async () => false }

export interface RefreshLifetimes {
  /** Lifetime of an unused token. */
  readonly idleMs: number
  readonly graceMs: number
}

export type RefreshTokens = ReturnType<typeof createRefreshTokens>

export function createRefreshTokens(db: Kysely<Schema>, clock: Clock) {
  const insert = prepare(db, (row: Schema['refresh_tokens']) =>
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
      const now = clock()
      const token = withTime(newSecret(), now)
      await insert({
        digest: timedDigest(token),
        grant_id: grant.id,
        parent_digest: null,
        issued_at: now,
        expires_at: Math.min(now + idleMs, grant.expiresAt),
        sealed: null,
      })
      return token
    },

    /** The token with its grant, in any state. */
    async find(token: string): Promise<RefreshToken | undefined> {
      const [row] = await byDigest({ digest: timedDigest(token) })
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
    async rotate(
      token: string,
      found: RefreshToken,
      { idleMs, graceMs }: RefreshLifetimes,
      undelivered: Undelivered = ALL_DELIVERED,
    ): Promise<Rotation> {
      const now = clock()
      const successor = withTime(newSecret(), now)
      const digest = timedDigest(successor)
      const [inserted] = await insert({
        digest,
        grant_id: found.grant.id,
        parent_digest: found.digest,
        issued_at: now,
        expires_at: Math.min(now + idleMs, found.grant.expiresAt),
        sealed: maskSuccessor(successor.slice(0, SECRET_LENGTH), token),
      }).catch((error: unknown) => {
        // It may be committed all the same.
        undelivered.note(digest)
        throw error
      })
      if (inserted !== undefined) return { outcome: 'rotated', successor, digest }

      const child = await db
        .selectFrom('refresh_tokens as child')
        .leftJoin('refresh_tokens as grandchild', 'grandchild.parent_digest', 'child.digest')
        .select(['child.digest', 'child.sealed', 'child.issued_at', 'grandchild.digest as used'])
        .where('child.parent_digest', '=', found.digest)
        .executeTakeFirst()
      if (child === undefined || child.used !== null || child.sealed === null) return { outcome: 'reused' }
      const isLate = now - child.issued_at > graceMs
      if (isLate && child.digest !== digest && !(await undelivered.claim(child.digest))) return { outcome: 'reused' }
      const secret = maskSuccessor(child.sealed, token)
      const isTimed = child.digest.length > SECRET_LENGTH
      const again = isTimed ? withTime(secret, child.issued_at) : secret
      return { outcome: 'repeated', successor: again, digest: child.digest }
    },

    /** Extends the lifetime of a token for a client that does not rotate; false if it was rotated before: then it was stolen. */
    async renew({ digest, grant }: RefreshToken, { idleMs }: Pick<RefreshLifetimes, 'idleMs'>): Promise<boolean> {
      const renewed = await db
        .updateTable('refresh_tokens')
        .set({ expires_at: Math.min(clock() + idleMs, grant.expiresAt) })
        .where('digest', '=', digest)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('refresh_tokens as child').select('child.digest').where('child.parent_digest', '=', digest),
            ),
          ),
        )
        .returning('digest')
        .executeTakeFirst()
      return renewed !== undefined
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

/** 256 bits in base64url: a secret, or the digest of a token without a time. */
const SECRET_LENGTH = 43
const TIME_BYTES = 6
/** A secret and its time of issue, masked. Tokens of earlier versions have no time. */
const TIMED_TOKEN = /^[\w-]{51}$/

/**
 * A token contains its time of issue, and its digest begins with that time. So digests of the same time are neighbours in the indexes and
 * share pages. With random digests, each refresh would write two separate pages (`npm run bench -- refresh`).
 */
function withTime(secret: string, now: number): string {
  const time = Buffer.alloc(TIME_BYTES)
  time.writeUIntBE(now, 0, TIME_BYTES)
  return secret + maskTime(time, secret).toString('base64url')
}

function timedDigest(token: string): string {
  if (!TIMED_TOKEN.test(token)) return digestSecret(token)
  const time = Buffer.from(token.slice(SECRET_LENGTH), 'base64url')
  return maskTime(time, token.slice(0, SECRET_LENGTH)).toString('hex') + digestSecret(token)
}

/** Every part of a token looks like random bytes (C-33). */
function maskTime(time: Buffer, secret: string): Buffer {
  return masked(time, `gatehouse refresh time ${secret}`)
}

function maskSuccessor(successor: string, parent: string): string {
  return masked(Buffer.from(successor, 'base64url'), `gatehouse refresh successor ${parent}`).toString('base64url')
}

/**
 * A one-time pad, applied and removed by the same XOR. That of a successor, 256 bits for its 256 bits, is derived from the parent token
 * alone. The prefix of `key` makes the pad differ from the digest of the token.
 */
function masked(bytes: Buffer, key: string): Buffer {
  const pad = hash('sha256', key, 'buffer')
  for (let index = 0; index < bytes.length; index++) bytes.writeUInt8(bytes.readUInt8(index) ^ (pad[index] ?? 0), index)
  return bytes
}
