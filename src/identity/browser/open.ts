/** Puts the browser side together: the doors, the calls to applications whose session ended, the end of sessions whose time is up. */
import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import { createInteractions } from '../../store/interactions.ts'
import type { Schema } from '../../store/schema.ts'
import type { Stores } from '../../store/stores.ts'
import { createBackchannel } from './backchannel.ts'
import { type BrandSettings, registerBrowserDoors } from './doors.ts'
import type { BrowserEnv } from './env.ts'
import type { Flow } from './flow.ts'
import { endExpiredSessions } from './session-end.ts'

type Given = Pick<
  BrowserEnv,
  'clients' | 'issuer' | 'signer' | 'takeBack' | 'checkPassword' | 'audit' | 'clock' | 'sealingKey' | 'lifetimes'
>

export interface BrowserSideOptions extends Given {
  readonly stores: Stores
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
  const parts = { ...options, ...stores, clients, logouts, flows: createInteractions<Flow>(db, clock) }
  registerBrowserDoors(app, parts, brand)
  let sweep: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    sweep = endExpiredSessions(parts).catch(options.onError)
  }, SWEEP_MS)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await sweep
      await logouts.settled()
    },
  }
}
