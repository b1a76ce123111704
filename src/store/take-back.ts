/** Takes back what was granted: the rows first, then the event that every node feels. Running it twice does no harm. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../protocol/clock.ts'
import type { GateEvent } from '../protocol/gate-event.ts'
import type { Grants } from './grants.ts'
import type { User } from './users.ts'

/** No access token lives longer, whatever a client's metadata says. */
export const LONGEST_TOKEN_MS = 24 * 3600 * 1000
/** So long a revocation is remembered: tokens of a revoked grant may be on their way to the client for a moment. */
const REMEMBERED_MS = LONGEST_TOKEN_MS + 60_000

/**
 * So far ahead a narrowing reaches: a node that has not heard of it yet (a client is remembered for a minute at most),
 * and what was read before the change was committed, still issue the old scopes. To a token that has the new ones it does nothing.
 */
const AHEAD_MS = 60_000

export interface TakeBackOptions {
  readonly grants: Pick<Grants, 'revoke'>
  /** The bus of a running server; the durable log alone elsewhere. */
  readonly publish: (event: GateEvent) => Promise<unknown>
  readonly clock: Clock
}

export type TakeBack = ReturnType<typeof createTakeBack>

export function createTakeBack({ grants, publish, clock }: TakeBackOptions) {
  const forgotten = () => clock() + REMEMBERED_MS
  return {
    async token(tokenId: string, expiresAt: number): Promise<void> {
      await publish({ kind: 'token-revoked', tokenId, expiresAt })
    },

    async grant(grantId: string): Promise<void> {
      await grants.revoke({ id: grantId })
      await publish({ kind: 'grant-revoked', grantId, expiresAt: forgotten() })
    },

    /** Everything that a client has from a user, for example when consent is withdrawn. */
    async consent(userId: string, clientId: string): Promise<void> {
      const revoked = await grants.revoke({ userId, clientId })
      for (const grantId of revoked) await publish({ kind: 'grant-revoked', grantId, expiresAt: forgotten() })
    },

    /** The browser session has ended: its tokens are dead, but what was granted for offline use can be refreshed. */
    async session(sessionId: string): Promise<void> {
      await grants.revoke({ sessionId, keepOffline: true })
      await publish({ kind: 'session-ended', sessionId, expiresAt: forgotten() })
    },

    /** Disabled, deleted, password changed. What the user is granted after this resolves is good. */
    async user(userId: string): Promise<void> {
      await grants.revoke({ userId })
      const at = clock()
      await publish({ kind: 'subject-cut', subject: userId, at, expiresAt: at + LONGEST_TOKEN_MS })
      await nextMillisecond(at)
    },

    /** Roles changed: the user's tokens keep only what is still in the rights. */
    async rights({ id: subject, rights, roles }: Pick<User, 'id' | 'rights' | 'roles'>): Promise<void> {
      await publish({ kind: 'rights-changed', subject, scopes: [...rights], roles, ...ahead() })
    },

    /** Disabled or deleted. */
    async client(clientId: string): Promise<void> {
      await grants.revoke({ clientId })
      const at = clock()
      await publish({ kind: 'client-cut', clientId, at, expiresAt: at + LONGEST_TOKEN_MS })
      await clientScopes(clientId, [])
      await nextMillisecond(at)
    },

    clientScopes,
  }

  /** Registered, enabled again, or allowed other scopes: its tokens keep only what it may ask for now. */
  async function clientScopes(clientId: string, scopes: Iterable<string>): Promise<void> {
    await publish({ kind: 'client-scopes-changed', clientId, scopes: [...scopes], ...ahead() })
  }

  function ahead(): { at: number; expiresAt: number } {
    const at = clock() + AHEAD_MS
    return { at, expiresAt: at + LONGEST_TOKEN_MS }
  }

  /** A token says to the millisecond when it was issued; one issued after a cut must not share the cut's. */
  async function nextMillisecond(at: number): Promise<void> {
    if (clock() <= at) await sleep(1)
  }
}
