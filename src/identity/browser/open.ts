/** Puts the browser side together: the doors, the calls to applications whose session ended, the end of sessions whose time is up. */
import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Bus } from '../../events/bus.ts'
import { createInteractions } from '../../store/interactions.ts'
import type { Schema } from '../../store/schema.ts'
import type { Stores } from '../../store/stores.ts'
import { createBackchannel } from './backchannel.ts'
import { type BrandSettings, registerBrowserDoors } from './doors.ts'
import type { BrowserEnv } from './env.ts'
import type { Flow } from './flow.ts'
import { endExpiredSessions, endSessionsOf } from './session-end.ts'

type Given = Pick<
  BrowserEnv,
  | 'clients'
  | 'issuer'
  | 'signer'
  | 'takeBack'
  | 'checkPassword'
  | 'hashing'
  | 'audit'
  | 'metrics'
  | 'doors'
  | 'clock'
  | 'sealingKey'
  | 'lifetimes'
>

export interface BrowserSideOptions extends Given {
  readonly stores: Stores
  readonly bus: Pick<Bus, 'subscribe' | 'publish'>
  readonly db: Kysely<Schema>
  readonly brand: BrandSettings
  /** Lets back-channel logout call private and loopback addresses. */
  readonly allowPrivateLogout: boolean
  readonly onLogoutFailure: (clientId: string, reason: string) => void
  readonly onError: (error: unknown) => void
}

export interface BrowserSide {
  close(): Promise<void>
}

const SWEEP_MS = 60_000

export function openBrowserSide(app: FastifyInstance, options: BrowserSideOptions): BrowserSide {
  const { stores, db, brand, clock, clients, issuer } = options
  const logouts = createBackchannel({
    clients,
    issuer,
    allowPrivate: options.allowPrivateLogout,
    onFailure: options.onLogoutFailure,
  })
  const parts = {
    ...options,
    ...stores,
    clients,
    publish: options.bus.publish,
    flows: createInteractions<Flow>(db, clock),
  }
  registerBrowserDoors(app, parts, brand)
  const underWay = new Set<Promise<void>>()
  const start = (work: Promise<void>) => {
    const done = work.catch(options.onError).finally(() => underWay.delete(done))
    underWay.add(done)
  }
  // Whoever ended the session, here, on another node or from the command line: one node tells its applications.
  const unsubscribe = options.bus.subscribe((event) => {
    if (event.kind === 'session-ended') start(tellClients(event.sessionId))
    if (event.kind === 'subject-cut') start(endSessionsBefore(event.subject, event.at))
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
      clearInterval(timer)
      unsubscribe()
      await Promise.all(underWay)
      await logouts.settled()
    },
  }

  async function tellClients(sessionId: string): Promise<void> {
    const taken = await stores.sessions.takeClients(sessionId)
    if (taken !== undefined) logouts.tell({ sessionId, ...taken })
  }

  /** Disabled, deleted, or given another password: who was signed in before is no longer. */
  async function endSessionsBefore(userId: string, at: number): Promise<void> {
    await endSessionsOf(userId, 'user cut off', parts, ({ authTime }) => authTime < at)
  }
}
