/** Background work on browser sessions: notifies clients when one ends, and ends expired ones. */
import type { Bus } from '../../../events/bus.ts'
import { retryUntilDone } from '../../../lib/retry.ts'
import type { Stores } from '../../../store/stores.ts'
import type { BrowserEnv } from '../env.ts'
import { createBackchannel } from './backchannel.ts'
import { endExpiredSessions, endSession } from './session-end.ts'

export interface SessionWatchOptions
  extends Pick<BrowserEnv, 'clients' | 'issuer' | 'revocations' | 'audit' | 'clock'> {
  readonly stores: Stores
  readonly bus: Pick<Bus, 'subscribe'>
  /** Allows back-channel logout to private and loopback addresses. */
  readonly allowPrivateLogout: boolean
  readonly onLogoutFailure: (clientId: string, reason: string) => void
  readonly onError: (error: unknown) => void
}

const SWEEP_MS = 60_000
const RETRY = { firstMs: 200, longestMs: 10_000 }
/** Whose sessions are looked for with one statement. */
const USERS_AT_ONCE = 500

export function watchSessions(options: SessionWatchOptions) {
  const { stores, clients, issuer, bus } = options
  const parts = { ...stores, revocations: options.revocations, audit: options.audit }
  const logouts = createBackchannel({
    issuer,
    allowPrivate: options.allowPrivateLogout,
    onFailure: options.onLogoutFailure,
  })
  const closed = new AbortController()
  const underWay = new Set<Promise<void>>()
  const start = (work: Promise<void>) => {
    const done = work.catch(options.onError).finally(() => underWay.delete(done))
    underWay.add(done)
  }
  // However the session ended, here, on another node or from the command line: one node notifies its clients.
  const unsubscribe = bus.subscribe((event) => {
    if (event.kind === 'session-ended') start(tellEventually(event.sessionId))
    if (event.kind === 'subject-cut') start(endSessionsBefore([event.subject], event.at))
    if (event.kind === 'subjects-cut') start(endSessionsBefore(event.subjects, event.at))
  })
  let closing = false
  let sweeping: Promise<void> | undefined
  const timer = setInterval(() => {
    if (sweeping !== undefined) return
    sweeping = endExpiredSessions(parts, () => closing).finally(() => {
      sweeping = undefined
    })
    start(sweeping)
  }, SWEEP_MS)
  timer.unref()
  return {
    async close() {
      closing = true
      closed.abort()
      clearInterval(timer)
      unsubscribe()
      await Promise.all(underWay)
      await logouts.settled()
    },
  }

  /** Nothing else remembers that the clients are to be notified: a database that cannot be read is asked again until it can. */
  function tellEventually(sessionId: string): Promise<void> {
    return retryUntilDone(() => tellClients(sessionId), RETRY, options.onError, closed.signal)
  }

  /** Whatever can fail comes before the clients are taken, which happens once on all nodes. */
  async function tellClients(sessionId: string): Promise<void> {
    const used = await Promise.all((await stores.sessions.listClients(sessionId)).map((id) => clients.find(id)))
    if (used.length === 0) return
    const taken = await stores.sessions.takeClients(sessionId)
    if (taken === undefined) return
    const notified = used.filter((client) => client !== undefined).filter(({ id }) => taken.clientIds.includes(id))
    logouts.tell({ sessionId, userId: taken.userId, clients: notified })
  }

  /** Disabled, deleted, or with a new password: earlier sign-ins are void. */
  async function endSessionsBefore(userIds: readonly string[], at: number): Promise<void> {
    for (let from = 0; from < userIds.length; from += USERS_AT_ONCE) {
      const sessions = await stores.sessions.listOfUsers(userIds.slice(from, from + USERS_AT_ONCE))
      // The time of a sign-in at another provider may be long before the session.
      for (const { id, authTime, createdAt } of sessions)
        if (Math.max(authTime, createdAt) < at) await endSession(id, 'user cut off', parts)
    }
  }
}
