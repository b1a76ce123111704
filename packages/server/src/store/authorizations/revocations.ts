/** Revocation: updates the stored grants and records the event that every node applies, in one transaction. All calls are idempotent. */
import type { Clock, GateEvent } from 'gatehouse-protocol'
import type { Roles } from '../accounts/roles.ts'
import type { User } from '../accounts/user.ts'
import { type EventTransactionEnv, transactWithEvents } from '../cluster/event-transaction.ts'
import { createEvents, type Events } from '../cluster/events.ts'
import { lockChanges } from '../database/transaction.ts'
import { LONGEST_TOKEN_MS } from '../keys/key-rotation.ts'
import type { Stores } from '../stores.ts'
import type { Grants } from './grants.ts'

/** How long a revocation is kept. A token of a revoked grant may have been issued just before, and may not have arrived yet. */
const KEPT_MS = LONGEST_TOKEN_MS + 60_000

/**
 * Limits on rights also apply to tokens issued up to this long after the change: a node that has not received the event
 * yet (clients are cached for up to a minute), or a request that read before the change committed, still issues the old
 * scopes. For a token with the new scopes the limit has no effect.
 */
const MARGIN_MS = 60_000

const SUBJECTS_PER_EVENT = 1000
const FEW_SUBJECTS = 10

export type Revocations = ReturnType<typeof openRevocations>

/** Revocations outside of a transaction: each call is one. */
export function openRevocations(env: EventTransactionEnv) {
  const { database, clock, receive } = env
  const { append } = createEvents(database.db, database.engine, clock)
  return {
    async revokeToken(tokenId: string, expiresAt: number): Promise<void> {
      const event = { kind: 'token-revoked', tokenId, expiresAt } as const
      receive({ seq: await append(event), event })
    },
    revokeGrant: (grantId: string) => inTransaction((revocations) => revocations.revokeGrant(grantId)),
    inTransaction,
    inChange,
  }

  /** Changes stores and revokes what depends on the change. */
  function inTransaction<T>(work: (revocations: RevocationsInside, stores: Stores) => Promise<T>): Promise<T> {
    return transactWithEvents(env, (stores, publish) =>
      work(createRevocations({ grants: stores.grants, publish, publishAll: publish, clock }), stores),
    )
  }

  /** Holds the lock on changes of users: for changes that depend on what is stored. */
  function inChange<T>(work: (stores: Stores) => Promise<T>): Promise<T> {
    return transactWithEvents(env, async (stores, _publish, tx) => {
      await lockChanges(database.engine, tx)
      return work(stores)
    })
  }
}

/** The transaction that revocations are part of. */
export interface RevocationOptions {
  readonly grants: Pick<Grants, 'revoke'>
  /** Records an event in the transaction. */
  readonly publish: (event: GateEvent) => Promise<unknown>
  /** Records many events with few statements. Where it is absent, they are published one by one. */
  readonly publishAll?: (events: readonly GateEvent[]) => Promise<unknown>
  readonly clock: Clock
}

export interface RoleStores {
  readonly roles: Pick<Roles, 'list'>
  readonly events: Pick<Events, 'unexpired'>
}

type RightsHolder = Pick<User, 'id' | 'rights' | 'roles'>

export type RevocationsInside = ReturnType<typeof createRevocations>

export function createRevocations({ grants, publish, publishAll, clock }: RevocationOptions) {
  const keptUntil = () => clock() + KEPT_MS
  return {
    async revokeGrant(grantId: string): Promise<void> {
      await grants.revoke({ id: grantId })
      await publish({ kind: 'grant-revoked', grantId, expiresAt: keptUntil() })
    },

    /** Revokes all grants of a user to a client, for example when consent is withdrawn. */
    async revokeConsent(userId: string, clientId: string): Promise<void> {
      const revoked = await grants.revoke({ userId, clientId })
      for (const grantId of revoked) await publish({ kind: 'grant-revoked', grantId, expiresAt: keptUntil() })
    },

    /** For a browser session that ended. Grants with offline access can still be refreshed. Returns how many were revoked. */
    async revokeSession(sessionId: string): Promise<number> {
      const revoked = await grants.revoke({ sessionId, keepOffline: true })
      await publish({ kind: 'session-ended', sessionId, expiresAt: keptUntil() })
      return revoked.length
    },

    /**
     * For a user who was disabled or deleted, or whose password changed. Grants made after the transaction are valid. Returns how
     * many were revoked.
     */
    async revokeUser(userId: string): Promise<number> {
      const revoked = await grants.revoke({ userId })
      const at = clock()
      await publish({ kind: 'subject-cut', subject: userId, at, expiresAt: at + LONGEST_TOKEN_MS })
      return revoked.length
    },

    /** As `revokeUser`, for many users with few events. */
    async revokeUsers(userIds: readonly string[]): Promise<void> {
      for (const userId of userIds) await grants.revoke({ userId })
      const at = clock()
      // Nodes of the previous version know only this event.
      if (userIds.length <= FEW_SUBJECTS) {
        for (const subject of userIds)
          await publish({ kind: 'subject-cut', subject, at, expiresAt: at + LONGEST_TOKEN_MS })
        return
      }
      for (let from = 0; from < userIds.length; from += SUBJECTS_PER_EVENT) {
        const subjects = userIds.slice(from, from + SUBJECTS_PER_EVENT)
        await publish({ kind: 'subjects-cut', subjects, at, expiresAt: at + LONGEST_TOKEN_MS })
      }
    },

    /** For a user whose roles changed: existing tokens lose the rights that the user no longer has. */
    async limitUserRights(user: RightsHolder): Promise<void> {
      await publish(rightsChanged(user))
    },

    /** As `limitUserRights`, for many users with few statements. */
    async limitUsersRights(users: readonly RightsHolder[]): Promise<void> {
      const events = users.map(rightsChanged)
      if (publishAll !== undefined) await publishAll(events)
      else for (const event of events) await publish(event)
    },

    /**
     * For roles that were created, changed or deleted, in the transaction that does it: one event, however many users
     * hold them. Without an earlier event that still counts, a new role limits nothing.
     */
    async limitRoles({ roles, events }: RoleStores, change: 'created' | 'changed'): Promise<void> {
      const earlier = await events.unexpired(['roles-changed'])
      if (change === 'created' && earlier.length === 0) return
      const { at } = cutoff()
      // Changes of roles are made one at a time, but the clocks of nodes differ: the last change has to be the latest.
      const last = Math.max(0, ...earlier.map((event) => ('at' in event ? event.at : 0)))
      const next = Math.max(at, last + 1)
      const all = (await roles.list()).map(({ name, scopes }) => ({ name, scopes }))
      await publish({ kind: 'roles-changed', roles: all, at: next, expiresAt: next + LONGEST_TOKEN_MS })
    },

    /** For a client that was disabled or deleted. */
    async revokeClient(clientId: string): Promise<void> {
      await grants.revoke({ clientId })
      const at = clock()
      await publish({ kind: 'client-cut', clientId, at, expiresAt: at + LONGEST_TOKEN_MS })
      await limitClientScopes(clientId, [])
    },

    limitClientScopes,
  }

  /** For a client that was registered or enabled, or whose scopes changed: existing tokens lose the other scopes. */
  async function limitClientScopes(clientId: string, scopes: Iterable<string>): Promise<void> {
    await publish({ kind: 'client-scopes-changed', clientId, scopes: [...scopes], ...cutoff() })
  }

  function rightsChanged({ id: subject, rights, roles }: RightsHolder): GateEvent {
    return { kind: 'rights-changed', subject, scopes: [...rights], roles, ...cutoff() }
  }

  function cutoff(): { at: number; expiresAt: number } {
    const at = clock() + MARGIN_MS
    return { at, expiresAt: at + LONGEST_TOKEN_MS }
  }
}
