/** Grants: an authorization given to a client. Every code, access token and refresh token belongs to one and is revoked with it. */

import type { Clock } from 'gatehouse-protocol'
import { type Kysely, type Selectable, sql } from 'kysely'
import { splitWords } from '../../lib/words.ts'
import { type BoundedCount, countNewest } from '../database/counts.ts'
import { prepare } from '../database/prepared-query.ts'
import type { Schema } from '../database/schema.ts'
import { newId } from '../keys/opaque.ts'

export type GrantKind = 'authorization_code' | 'implicit' | 'password' | 'device_code' | 'jwt_bearer'

export interface Grant {
  readonly id: string
  readonly kind: GrantKind
  readonly clientId: string
  readonly userId: string
  /** The browser session, the `sid` claim of tokens. */
  readonly sessionId: string | undefined
  readonly scopes: readonly string[]
  /** When the user authenticated, in milliseconds. */
  readonly authTime: number
  readonly details: GrantDetails
  readonly createdAt: number
  /** No token of the grant lives longer. */
  readonly expiresAt: number
  readonly revokedAt: number | undefined
}

export interface GrantDetails {
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  readonly acr?: string | undefined
  /** The `claims` parameter (OpenID Connect Core §5.5). */
  readonly claims?: ClaimsRequest | undefined
  /** `openid` was granted without having been requested: no ID token is issued unless a refresh requests it. */
  readonly isOpenIdUnasked?: true
  /** The thumbprint of the key that its refresh tokens are bound to (RFC 9449 §5). */
  readonly boundKey?: string
  /** What its tokens can be for, if the request named it with `resource` (RFC 8707): audiences. Absent: all that its scopes are for. */
  readonly audiences?: readonly string[] | undefined
  /** It is for agents alone. */
  readonly agent?: boolean
}

export interface ClaimsRequest {
  readonly userinfo?: Readonly<Record<string, RequestedClaim>>
  readonly id_token?: Readonly<Record<string, RequestedClaim>>
}

export type RequestedClaim = {
  readonly essential?: boolean
  readonly value?: unknown
  readonly values?: readonly unknown[]
} | null

export interface GrantedClient {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
}

export interface GrantPage {
  readonly limit: number
  readonly userId?: string | undefined
  /** Only those for agents. */
  readonly agent?: boolean | undefined
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined
}

export interface GrantOfUser {
  readonly grant: Grant
  /** Undefined for a user who was deleted. */
  readonly username: string | undefined
}

export type NewGrant = Omit<Grant, 'id' | 'createdAt' | 'revokedAt'>
export type Grants = ReturnType<typeof createGrants>

export function createGrants(db: Kysely<Schema>, clock: Clock) {
  const byId = prepare(db, ({ id }: { id: string }) => db.selectFrom('grants').selectAll().where('id', '=', id))

  return {
    ...listGrants(db, clock),

    async create(grant: NewGrant): Promise<Grant> {
      const id = newId()
      const createdAt = clock()
      await db
        .insertInto('grants')
        .values({
          id,
          kind: grant.kind,
          client_id: grant.clientId,
          user_id: grant.userId,
          session_id: grant.sessionId ?? null,
          scopes: grant.scopes.join(' '),
          details: JSON.stringify(grant.details),
          auth_time: grant.authTime,
          created_at: createdAt,
          expires_at: grant.expiresAt,
          revoked_at: null,
          agent: Number(grant.details.agent === true),
        })
        .execute()
      return { ...grant, id, createdAt, revokedAt: undefined }
    },

    async find(id: string): Promise<Grant | undefined> {
      const [row] = await byId({ id })
      return row === undefined ? undefined : toGrant(row)
    },

    /** Its refresh tokens are bound to a key from now on. */
    async bind({ id, details }: Grant, boundKey: string): Promise<void> {
      await db
        .updateTable('grants')
        .set({ details: JSON.stringify({ ...details, boundKey }) })
        .where('id', '=', id)
        .execute()
    },

    /** Revokes the matching grants and returns the ids of those that were valid until now. */
    async revoke(which: GrantSelection): Promise<string[]> {
      let query = db
        .updateTable('grants')
        .set({ revoked_at: clock() })
        .where('revoked_at', 'is', null)
        .where('expires_at', '>', clock())
      if (which.id !== undefined) query = query.where('id', '=', which.id)
      if (which.userId !== undefined) query = query.where('user_id', '=', which.userId)
      if (which.clientId !== undefined) query = query.where('client_id', '=', which.clientId)
      if (which.sessionId !== undefined) query = query.where('session_id', '=', which.sessionId)
      // B-47: grants with offline access outlive the browser session.
      if (which.keepOffline === true) {
        query = query.where((eb) => eb.not(eb(eb.ref('scopes'), 'like', '%offline_access%')))
      }
      const rows = await query.returning('id').execute()
      return rows.map(({ id }) => id)
    },
  }
}

/** Lists of the grants that are neither revoked nor expired. */
function listGrants(db: Kysely<Schema>, clock: Clock) {
  return {
    /** Newest first. */
    async listOfUser(userId: string): Promise<Grant[]> {
      const rows = await selectValid(db, clock())
        .selectAll()
        .where('user_id', '=', userId)
        .orderBy('created_at', 'desc')
        .execute()
      return rows.map(toGrant)
    },

    /** One page, newest first, of all users or one. */
    async page({ limit, userId, agent, after }: GrantPage): Promise<GrantOfUser[]> {
      let query = selectValid(db, clock()).leftJoin('users', 'users.id', 'grants.user_id')
      if (userId !== undefined) query = query.where('user_id', '=', userId)
      if (agent === true) query = query.where('agent', '=', 1)
      if (after !== undefined)
        query = query.where((eb) =>
          eb(eb.refTuple('grants.created_at', 'grants.id'), '<', eb.tuple(after.createdAt, after.id)),
        )
      const rows = await query
        .selectAll('grants')
        .select('users.username as username')
        .orderBy('grants.created_at', 'desc')
        .orderBy('grants.id', 'desc')
        .limit(limit)
        .execute()
      return rows.map((row) => ({ grant: toGrant(row), username: row.username ?? undefined }))
    },

    count: (): Promise<BoundedCount> =>
      countNewest(db, ['grants', 'revoked_at'], sql<boolean>`expires_at > ${clock()}`),

    /** The clients and scopes of current grants: each combination once, with the times of its first and last grant. */
    async listClientsOfUser(userId: string): Promise<GrantedClient[]> {
      const rows = await selectValid(db, clock())
        .select((eb) => [
          'client_id',
          'scopes',
          eb.fn.min('created_at').as('first'),
          eb.fn.max('created_at').as('last'),
        ])
        .where('user_id', '=', userId)
        .groupBy(['client_id', 'scopes'])
        .orderBy('client_id')
        .execute()
      return rows.map(({ client_id, scopes, first, last }) => ({
        clientId: client_id,
        scopes: splitWords(scopes),
        createdAt: Number(first),
        updatedAt: Number(last),
      }))
    },
  }
}

function selectValid(db: Kysely<Schema>, now: number) {
  return db.selectFrom('grants').where('revoked_at', 'is', null).where('expires_at', '>', now)
}

/** At least one condition is required, so that no call can revoke everything. */
export type GrantSelection = (
  | { readonly id: string }
  | { readonly userId: string }
  | { readonly clientId: string }
  | { readonly sessionId: string }
) & {
  readonly id?: string
  readonly userId?: string
  readonly clientId?: string
  readonly sessionId?: string
  readonly keepOffline?: boolean
}

export function toGrant(row: Selectable<Schema['grants']>): Grant {
  const details: GrantDetails = JSON.parse(row.details)
  return {
    id: row.id,
    kind: toKind(row.kind),
    clientId: row.client_id,
    userId: row.user_id,
    sessionId: row.session_id ?? undefined,
    scopes: splitWords(row.scopes),
    authTime: row.auth_time,
    details,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at ?? undefined,
  }
}

const KINDS: readonly GrantKind[] = ['authorization_code', 'implicit', 'password', 'device_code', 'jwt_bearer']

function toKind(text: string): GrantKind {
  const kind = KINDS.find((known) => known === text)
  if (kind === undefined) throw new Error(`A grant has the unknown kind ${text}`)
  return kind
}
