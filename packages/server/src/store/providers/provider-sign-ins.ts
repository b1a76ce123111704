/** Sign-ins through other providers: those that wait for an answer, the sessions that came of them, and logout tokens that were used. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { digestSecret } from '../keys/opaque.ts'

/** Whose sign-in a `state` belongs to. */
export interface StateOwner {
  readonly provider: string
  readonly browser: string
}

/** Where a session came from. */
export interface SessionOrigin {
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  /** The session there, if the provider names it. */
  readonly sid: string | undefined
  /** What a sign-out there needs, sealed; undefined if none follows. */
  readonly logout: string | undefined
}

export type ProviderSignIns = ReturnType<typeof createProviderSignIns>

/** Between the redirect to a provider and its answer. */
const STATE_KEEPS_MS = 10 * 60_000
/** Open ones of a browser; the oldest are forgotten. */
const MOST_STATES = 20

export function createProviderSignIns(db: Kysely<Schema>, clock: Clock) {
  return { ...keepStates(db, clock), ...keepOrigins(db, clock), ...keepLogouts(db, clock) }
}

function keepStates(db: Kysely<Schema>, clock: Clock) {
  return {
    /** `details` are sealed. */
    async begin(state: string, { provider, browser }: StateOwner, details: string): Promise<void> {
      const now = clock()
      await db
        .insertInto('provider_states')
        .values({
          digest: digestSecret(state),
          provider,
          browser,
          details,
          created_at: now,
          expires_at: now + STATE_KEEPS_MS,
        })
        .execute()
      const older = await db
        .selectFrom('provider_states')
        .select('digest')
        .where('browser', '=', browser)
        .orderBy('created_at', 'desc')
        .offset(MOST_STATES)
        .limit(MOST_STATES)
        .execute()
      if (older.length > 0)
        await db
          .deleteFrom('provider_states')
          .where(
            'digest',
            'in',
            older.map(({ digest }) => digest),
          )
          .execute()
    },

    /** Once, over all nodes, by the same browser and for the same provider. Returns the details. */
    async spend(state: string, { provider, browser }: StateOwner): Promise<string | undefined> {
      const row = await db
        .deleteFrom('provider_states')
        .where('digest', '=', digestSecret(state))
        .where('provider', '=', provider)
        .where('browser', '=', browser)
        .returning(['details', 'expires_at'])
        .executeTakeFirst()
      return row === undefined || row.expires_at <= clock() ? undefined : row.details
    },
  }
}

function keepOrigins(db: Kysely<Schema>, clock: Clock) {
  return {
    async setOrigin(sessionId: string, { provider, issuer, subject, sid, logout }: SessionOrigin): Promise<void> {
      const row = { provider, issuer, subject, sid: sid ?? null, logout: logout ?? null, created_at: clock() }
      await db
        .insertInto('session_origins')
        .values({ session_id: sessionId, ...row })
        .onConflict((conflict) => conflict.column('session_id').doUpdateSet(row))
        .execute()
    },

    async findOrigin(sessionId: string): Promise<SessionOrigin | undefined> {
      const row = await db
        .selectFrom('session_origins')
        .selectAll()
        .where('session_id', '=', sessionId)
        .executeTakeFirst()
      return (
        row && {
          provider: row.provider,
          issuer: row.issuer,
          subject: row.subject,
          sid: row.sid ?? undefined,
          logout: row.logout ?? undefined,
        }
      )
    },

    /** The ids of sessions that have not ended: of a session there, or of an identity. */
    async findSessions(
      provider: string,
      issuer: string,
      which: { readonly sid?: string | undefined; readonly subject?: string | undefined },
    ): Promise<string[]> {
      let query = db
        .selectFrom('session_origins')
        .innerJoin('sessions', 'sessions.id', 'session_origins.session_id')
        .select('sessions.id')
        .where('sessions.ended_at', 'is', null)
        .where('session_origins.provider', '=', provider)
        .where('session_origins.issuer', '=', issuer)
      if (which.sid !== undefined) query = query.where('session_origins.sid', '=', which.sid)
      if (which.subject !== undefined) query = query.where('session_origins.subject', '=', which.subject)
      return (await query.execute()).map(({ id }) => id)
    },

    /** The ids of all sessions of a provider that have not ended. */
    async sessionsOfProvider(provider: string): Promise<string[]> {
      const rows = await db
        .selectFrom('session_origins')
        .innerJoin('sessions', 'sessions.id', 'session_origins.session_id')
        .select('sessions.id')
        .where('sessions.ended_at', 'is', null)
        .where('session_origins.provider', '=', provider)
        .execute()
      return rows.map(({ id }) => id)
    },
  }
}

function keepLogouts(db: Kysely<Schema>, clock: Clock) {
  return {
    /** False if a logout token with this `jti` has been used already, on any node. */
    async spendLogout(provider: string, jti: string, keptMs: number): Promise<boolean> {
      const row = await db
        .insertInto('provider_logouts')
        .values({ digest: digestSecret(`${provider} ${jti}`), expires_at: clock() + keptMs })
        .onConflict((conflict) => conflict.column('digest').doNothing())
        .returning('digest')
        .executeTakeFirst()
      return row !== undefined
    },
  }
}
