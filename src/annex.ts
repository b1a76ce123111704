/** The half of the server that people come to: the sign-in pages, the administration, and the description of it all. */
import type { FastifyInstance } from 'fastify'
import { describeAdmin, registerAdmin } from './admin/admin.ts'
import { createKeyring } from './admin/keyring.ts'
import type { Live } from './admin/ports.ts'
import { showSettings } from './admin/settings.ts'
import type { LoadedConfig } from './config.ts'
import { admitAt, type Doors } from './http/doors.ts'
import { registerOpenApi } from './http/openapi.ts'
import { type BrandSettings, registerBrowserDoors } from './identity/browser/doors.ts'
import type { Flow } from './identity/browser/flow.ts'
import type { Identity } from './identity/identity.ts'
import type { Clock } from './protocol/clock.ts'
import type { Metrics } from './protocol/metrics.ts'
import { describeQuery } from './query/openapi.ts'
import type { Ground } from './server/ground.ts'
import { createInteractions } from './store/interactions.ts'

export interface AnnexParts {
  readonly issuer: string
  readonly ground: Ground
  readonly identity: Identity
  readonly doors: Doors
  readonly metrics: Metrics
  readonly clock: Clock
  readonly live: Live
  /** Absent where this server has no pages. */
  readonly brand: BrandSettings | undefined
  readonly describesQuery: boolean
  readonly settings: Pick<LoadedConfig, 'texts' | 'sources'> | undefined
}

export async function openAnnex(app: FastifyInstance, parts: AnnexParts): Promise<FastifyInstance> {
  const { issuer, ground, identity, doors, metrics, clock, settings } = parts
  const { stores, database, audit, bus, masterKey } = ground
  if (parts.brand !== undefined) {
    registerBrowserDoors(
      app,
      {
        ...stores,
        ...identity,
        users: stores.users,
        publish: bus.publish,
        flows: createInteractions<Flow>(database.db, clock),
        audit,
        metrics,
        clock,
        doors,
        sealingKey: masterKey.derive('second factors'),
      },
      parts.brand,
    )
  }
  registerAdmin(app, {
    authenticate: identity.authenticate,
    admit: admitAt(doors, 'admin'),
    env: {
      database,
      stores,
      clock,
      audit,
      publish: bus.publish,
      keyring: createKeyring({
        keys: stores.signingKeys,
        sealingKey: masterKey.derive('signing keys'),
        clock,
        publish: bus.publish,
      }),
      hashPassword: identity.hashing.hash,
      settings: () => (settings === undefined ? [] : showSettings(settings)),
      live: parts.live,
    },
  })
  registerOpenApi(app, issuer, [...describeAdmin(), ...(parts.describesQuery ? describeQuery() : [])])
  await app.ready()
  return app
}
