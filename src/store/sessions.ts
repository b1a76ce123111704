/** Browser sessions: kept here, named to the browser by a secret that is stored only as its digest. */
import type { Kysely, Selectable } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import { digestOf, newId, newSecret } from './opaque.ts'
import type { Schema, SessionRow } from './schema.ts'

export interface Session {
  /** What tokens name as `sid`; tells nothing of the cookie. */
  readonly id: string
  readonly userId: string
  /** When the person last proved who they are. */
  readonly authTime: number
  /** RFC 8176: how they proved it. */
  readonly amr: readonly string[]
  /** What the session iframe compares. No credential. */
  readonly browserState: string
  readonly userAgent: string
  readonly address: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
}

export interface SessionLifetimes {
  /** Milliseconds without a request after which a session is over. */
  readonly idle: number
  /** Milliseconds after which it is over in any case. */
  readonly absolute: number
}

const HOUR = 3600_000
export const USUAL_LIFETIMES: SessionLifetimes = { idle: 12 * HOUR, absolute: 7 * 24 * HOUR }

export interface Proof {
  readonly amr: readonly string[]
  readonly userAgent: string
  readonly address: string
}

export interface OpenedSession {
  readonly session: Session
  /** The secret for the browser's cookie; it cannot be read again. */
  readonly cookie: string
}

export type Sessions = ReturnType<typeof createSessions>

/** Being seen is written at most this often: a session is read far more than it changes. */
const SEEN_STEP_MS = 60_000

export function createSessions(db: Kysely<Schema>, clock: Clock, lifetimes: SessionLifetimes) {
  return {
    async open(userId: string, proof: Proof): Promise<OpenedSession> {
      const now = clock()
      const cookie = newSecret()
      const session: Session = {
        id: newId(),
        userId,
        authTime: now,
        amr: proof.amr,
        browserState: newId(),
        userAgent: proof.userAgent,
        address: proof.address,
        createdAt: now,
        seenAt: now,
        expiresAt: now + lifetimes.absolute,
      }
      await db
        .insertInto('sessions')
        .values({ ...toRow(session), digest: digestOf(cookie), ended_at: null })
        .execute()
      return { session, cookie }
    },

    /** The same person proved it again, or by more: the session goes on under a new cookie. Undefined when it has ended meanwhile. */
    async renew(session: Session, proof: Proof): Promise<OpenedSession | undefined> {
      const now = clock()
      const cookie = newSecret()
      const renewed: Session = { ...session, ...proof, authTime: now, seenAt: now }
      const row = await db
        .updateTable('sessions')
        .set({ ...toRow(renewed), digest: digestOf(cookie) })
        .where('id', '=', session.id)
        .where('ended_at', 'is', null)
        .returning('id')
        .executeTakeFirst()
      return row === undefined ? undefined : { session: renewed, cookie }
    },

    /** Undefined for a cookie that names no living session. */
    async find(cookie: string): Promise<Session | undefined> {
      const now = clock()
      const row = await alive(now).where('digest', '=', digestOf(cookie)).selectAll().executeTakeFirst()
      if (row === undefined) return undefined
      if (now - row.seen_at >= SEEN_STEP_MS) {
        await db.updateTable('sessions').set({ seen_at: now }).where('id', '=', row.id).execute()
      }
      return toSession({ ...row, seen_at: now })
    },

    async findById(id: string): Promise<Session | undefined> {
      const row = await alive(clock()).where('id', '=', id).selectAll().executeTakeFirst()
      return row === undefined ? undefined : toSession(row)
    },

    /** The one used last comes first. */
    async listOfUser(userId: string): Promise<Session[]> {
      const rows = await alive(clock())
        .where('user_id', '=', userId)
        .selectAll()
        .orderBy('seen_at', 'desc')
        .orderBy('id')
        .execute()
      return rows.map(toSession)
    },

    /** The session, if it was not ended before: of several who end it, one is told. */
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

    /** Sessions whose time is up and which nobody has ended yet. */
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

    /** The person used the session for this client, which will want to know of its end. */
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

    /** The clients of an ended session and its user, to the one caller who comes first: each client is told once. */
    async takeClients(sessionId: string): Promise<{ userId: string; clientIds: string[] } | undefined> {
      const rows = await db
        .deleteFrom('session_clients')
        .where('session_id', '=', sessionId)
        .returning('client_id')
        .execute()
      if (rows.length === 0) return undefined
      const row = await db.selectFrom('sessions').select('user_id').where('id', '=', sessionId).executeTakeFirst()
      return row && { userId: row.user_id, clientIds: rows.map(({ client_id }) => client_id) }
    },
  }

  function alive(now: number) {
    return db
      .selectFrom('sessions')
      .where('ended_at', 'is', null)
      .where('expires_at', '>', now)
      .where('seen_at', '>', now - lifetimes.idle)
  }
}

function toRow(session: Session): Omit<SessionRow, 'digest' | 'ended_at'> {
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
  }
}

function toSession(row: Selectable<SessionRow>): Session {
  return {
    id: row.id,
    userId: row.user_id,
    authTime: row.auth_time,
    amr: row.amr.split(' ').filter((method) => method !== ''),
    browserState: row.browser_state,
    userAgent: row.user_agent,
    address: row.address,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
  }
}
