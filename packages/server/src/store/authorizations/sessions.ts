/** Browser sessions, identified by a cookie whose value is stored only as a digest. */

import type { Clock } from 'gatehouse-protocol'
import { type Kysely, type Selectable, sql } from 'kysely'
import { splitWords } from '../../lib/words.ts'
import { type BoundedCount, countNewest } from '../database/counts.ts'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newId, newSecret } from '../keys/opaque.ts'

export interface Session {
  /** The `sid` claim of tokens; independent of the cookie. */
  readonly id: string
  readonly userId: string
  /** When the user last authenticated. */
  readonly authTime: number
  /** Authentication methods (RFC 8176). */
  readonly amr: readonly string[]
  /** Compared by the session iframe (OpenID Connect Session Management). Not a credential. */
  readonly browserState: string
  readonly userAgent: string
  readonly address: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
  /** Its refresh tokens expire by then too; undefined where only their own lifetime counts. */
  readonly boundedUntil: number | undefined
}

export interface SessionLifetimes {
  /** Milliseconds without a request after which a session expires. */
  readonly idle: number
  /** Milliseconds after which it expires even if it is in use. */
  readonly absolute: number
}

const HOUR = 3600_000
export const DEFAULT_LIFETIMES: SessionLifetimes = { idle: 12 * HOUR, absolute: 7 * 24 * HOUR }

export interface SignIn {
  readonly amr: readonly string[]
  readonly userAgent: string
  readonly address: string
  /** When the user authenticated, if another provider says so; now where absent. */
  readonly authTime?: number | undefined
  /** When the session and its tokens expire at the latest. */
  readonly boundedUntil?: number | undefined
}

export interface OpenedSession {
  readonly session: Session
  /** The value of the browser's cookie; only its digest is stored. */
  readonly cookie: string
}

export interface SessionPage {
  readonly limit: number
  readonly userId?: string | undefined
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined
}

export interface SessionOfUser {
  readonly session: Session
  /** Undefined for a user who was deleted. */
  readonly username: string | undefined
}

export type Sessions = ReturnType<typeof createSessions>

/** `seen_at` is written at most this often, so that most requests only read. */
const SEEN_EVERY_MS = 60_000

export function createSessions(db: Kysely<Schema>, clock: Clock, lifetimes: SessionLifetimes) {
  return {
    ...openSessions(db, clock, lifetimes),
    ...listSessions(db, clock, lifetimes),
    ...endSessions(db, clock, lifetimes),
    ...clientsOfSessions(db, clock),
  }
}

function openSessions(db: Kysely<Schema>, clock: Clock, lifetimes: SessionLifetimes) {
  return {
    async open(userId: string, signIn: SignIn): Promise<OpenedSession> {
      const now = clock()
      const cookie = newSecret()
      const session: Session = {
        id: newId(),
        userId,
        authTime: Math.min(signIn.authTime ?? now, now),
        amr: signIn.amr,
        browserState: newId(),
        userAgent: signIn.userAgent,
        address: signIn.address,
        createdAt: now,
        seenAt: now,
        expiresAt: Math.min(now + lifetimes.absolute, signIn.boundedUntil ?? Number.POSITIVE_INFINITY),
        boundedUntil: signIn.boundedUntil,
      }
      await db
        .insertInto('sessions')
        .values({ ...toRow(session), digest: digestSecret(cookie), ended_at: null })
        .execute()
      return { session, cookie }
    },

    /** For a user who authenticated again or with another factor: continues the session under a new cookie. Undefined if it has ended. */
    async renew(session: Session, signIn: SignIn): Promise<OpenedSession | undefined> {
      const now = clock()
      const cookie = newSecret()
      const { amr, userAgent, address } = signIn
      const boundedUntil = signIn.boundedUntil ?? session.boundedUntil
      const renewed: Session = {
        ...{ ...session, amr, userAgent, address, boundedUntil, seenAt: now },
        authTime: Math.min(signIn.authTime ?? now, now),
        expiresAt: Math.min(session.expiresAt, boundedUntil ?? Number.POSITIVE_INFINITY),
      }
      const row = await db
        .updateTable('sessions')
        .set({ ...toRow(renewed), digest: digestSecret(cookie) })
        .where('id', '=', session.id)
        .where('ended_at', 'is', null)
        .returning('id')
        .executeTakeFirst()
      return row === undefined ? undefined : { session: renewed, cookie }
    },

    /** Undefined if the session does not exist, has ended or has expired. */
    async find(cookie: string): Promise<Session | undefined> {
      const now = clock()
      const row = await selectCurrent(db, now, lifetimes)
        .where('digest', '=', digestSecret(cookie))
        .selectAll()
        .executeTakeFirst()
      if (row === undefined) return undefined
      if (now - row.seen_at >= SEEN_EVERY_MS) {
        await db.updateTable('sessions').set({ seen_at: now }).where('id', '=', row.id).execute()
      }
      return toSession({ ...row, seen_at: now })
    },

    async findById(id: string): Promise<Session | undefined> {
      const row = await selectCurrent(db, clock(), lifetimes).where('id', '=', id).selectAll().executeTakeFirst()
      return row === undefined ? undefined : toSession(row)
    },
  }
}

function listSessions(db: Kysely<Schema>, clock: Clock, lifetimes: SessionLifetimes) {
  return {
    /** Most recently used first. */
    async listOfUser(userId: string): Promise<Session[]> {
      const rows = await selectCurrent(db, clock(), lifetimes)
        .where('user_id', '=', userId)
        .selectAll()
        .orderBy('seen_at', 'desc')
        .orderBy('id')
        .execute()
      return rows.map(toSession)
    },

    /** The sessions of several users. */
    async listOfUsers(userIds: readonly string[]): Promise<Session[]> {
      const rows = await selectCurrent(db, clock(), lifetimes).where('user_id', 'in', userIds).selectAll().execute()
      return rows.map(toSession)
    },

    /** When sessions of these users were last used, also those that have ended, as long as they are kept. */
    async lastSeen(userIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
      if (userIds.length === 0) return new Map()
      const rows = await db
        .selectFrom('sessions')
        .where('user_id', 'in', userIds)
        .groupBy('user_id')
        .select(({ fn }) => ['user_id', fn.max('seen_at').as('seen_at')])
        .execute()
      return new Map(rows.map((row) => [row.user_id, Number(row.seen_at)]))
    },

    /** One page, newest first, of all users or one: those after the session that began at `createdAt` and has the id. */
    async page({ limit, userId, after }: SessionPage): Promise<SessionOfUser[]> {
      let query = selectCurrent(db, clock(), lifetimes).leftJoin('users', 'users.id', 'sessions.user_id')
      if (userId !== undefined) query = query.where('user_id', '=', userId)
      if (after !== undefined)
        query = query.where((eb) =>
          eb(eb.refTuple('sessions.created_at', 'sessions.id'), '<', eb.tuple(after.createdAt, after.id)),
        )
      const rows = await query
        .selectAll('sessions')
        .select('users.username as username')
        .orderBy('sessions.created_at', 'desc')
        .orderBy('sessions.id', 'desc')
        .limit(limit)
        .execute()
      return rows.map((row) => ({ session: toSession(row), username: row.username ?? undefined }))
    },

    /** Open sessions. Expired ones that have not been ended yet do not count. */
    count(): Promise<BoundedCount> {
      const now = clock()
      const isOpen = sql<boolean>`expires_at > ${now} and seen_at > ${now - lifetimes.idle}`
      return countNewest(db, ['sessions', 'ended_at'], isOpen)
    },
  }
}

function endSessions(db: Kysely<Schema>, clock: Clock, lifetimes: SessionLifetimes) {
  return {
    /** Returns the session to exactly one of several concurrent callers; undefined if it has ended already. */
    async end(id: string): Promise<Session | undefined> {
      const row = await db
        .updateTable('sessions')
        .set({ ended_at: clock() })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .returningAll()
        .executeTakeFirst()
      return row === undefined ? undefined : toSession(row)
    },

    /** Ends all sessions of a user, including those that begin at the same time, and returns them. */
    async endAllForUser(userId: string): Promise<Session[]> {
      const rows = await db
        .updateTable('sessions')
        .set({ ended_at: clock() })
        .where('user_id', '=', userId)
        .where('ended_at', 'is', null)
        .returningAll()
        .execute()
      return rows.map(toSession)
    },

    /** Expired sessions that have not been ended yet. */
    async listExpired(limit = 500): Promise<Session[]> {
      const now = clock()
      const rows = await db
        .selectFrom('sessions')
        .selectAll()
        .where('ended_at', 'is', null)
        .where((eb) => eb.or([eb('expires_at', '<=', now), eb('seen_at', '<=', now - lifetimes.idle)]))
        .limit(limit)
        .execute()
      return rows.map(toSession)
    },
  }
}

/** The applications that a session was used for. */
function clientsOfSessions(db: Kysely<Schema>, clock: Clock) {
  return {
    /** Records that the session was used for this client, which is notified when the session ends. */
    async addClient(sessionId: string, clientId: string): Promise<void> {
      await db
        .insertInto('session_clients')
        .values({ session_id: sessionId, client_id: clientId, created_at: clock() })
        .onConflict((conflict) => conflict.columns(['session_id', 'client_id']).doNothing())
        .execute()
    },

    async listClients(sessionId: string): Promise<string[]> {
      const rows = await db
        .selectFrom('session_clients')
        .select('client_id')
        .where('session_id', '=', sessionId)
        .orderBy('created_at')
        .execute()
      return rows.map(({ client_id }) => client_id)
    },

    /** Removes and returns the clients of an ended session and its user. Only the first caller gets them, so each client is notified once. */
    async takeClients(sessionId: string): Promise<{ userId: string; clientIds: string[] } | undefined> {
      const row = await db.selectFrom('sessions').select('user_id').where('id', '=', sessionId).executeTakeFirst()
      if (row === undefined) return undefined
      const rows = await db
        .deleteFrom('session_clients')
        .where('session_id', '=', sessionId)
        .returning('client_id')
        .execute()
      return rows.length === 0 ? undefined : { userId: row.user_id, clientIds: rows.map(({ client_id }) => client_id) }
    },
  }
}

/** Sessions that have neither ended nor expired. */
function selectCurrent(db: Kysely<Schema>, now: number, { idle }: SessionLifetimes) {
  return db
    .selectFrom('sessions')
    .where('ended_at', 'is', null)
    .where('sessions.expires_at', '>', now)
    .where('sessions.seen_at', '>', now - idle)
}

function toRow(session: Session): Omit<Schema['sessions'], 'digest' | 'ended_at'> {
  return {
    id: session.id,
    user_id: session.userId,
    auth_time: session.authTime,
    amr: session.amr.join(' '),
    browser_state: session.browserState,
    user_agent: session.userAgent.slice(0, 400),
    address: session.address,
    created_at: session.createdAt,
    seen_at: session.seenAt,
    expires_at: session.expiresAt,
    bounded_until: session.boundedUntil ?? null,
  }
}

function toSession(row: Selectable<Schema['sessions']>): Session {
  return {
    id: row.id,
    userId: row.user_id,
    authTime: row.auth_time,
    amr: splitWords(row.amr),
    browserState: row.browser_state,
    userAgent: row.user_agent,
    address: row.address,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
    boundedUntil: row.bounded_until ?? undefined,
  }
}
