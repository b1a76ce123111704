/** The routes of market-data licences: loaded by the first request that asks about them. */

import type { Bus } from '../events/bus.ts'
import type { CorsPolicy } from '../http/cors.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import type { LazyRouteGroups, RouteGroup } from '../http/route.ts'
import type { Identity } from '../identity/identity.ts'
import { lazily } from '../lib/once.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Coverage } from './licensing.ts'
import type { Resources } from './resources.ts'

export interface LicenceParts {
  readonly resources: Resources
  readonly bus: Bus
  readonly identity: Identity
  readonly rateLimits: RateLimits
  readonly metrics: Metrics
  readonly coverage: Pick<Coverage, 'clock'>
  /** Whether decisions are answered (AuthZEN). */
  readonly authzen: boolean
  /** The attribute with the firm, for the usage report; empty: none. */
  readonly licenceFirm: string
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
  /** Logs what failed in the background. */
  readonly onError: (error: unknown, text: string) => void
}

export type LicenceServices = ReturnType<typeof licenceServices>

/** What the routes, and the account pages, use. */
export function licenceServices({ resources, bus, coverage }: LicenceParts) {
  const { database, stores, audit } = resources
  const open = lazily(async () => {
    const { openLicences } = await import('../licences/licences.ts')
    return openLicences({ stores, bus, clock: await coverage.clock() })
  })
  const openOwn = lazily(async () => {
    const { openOwnLicences } = await import('../licences/licences.ts')
    const clock = await coverage.clock()
    return openOwnLicences({ licences: await open(), database, clock, audit, receive: bus.receive })
  })
  return { open, openOwn }
}

export function licenceRoutes(
  parts: LicenceParts,
  { open, openOwn }: LicenceServices,
  cors: CorsPolicy,
): readonly LazyRouteGroups[] {
  const { resources, identity, bus, rateLimits, coverage } = parts
  const { database, stores, audit, clock } = resources
  const issuer = identity.issuer.name
  const openHandlerPlaces = lazily(async () => {
    const { openPlaces } = await import('../licences/licences.ts')
    const { metrics, licenceFirm: firm } = parts
    const onError = exceptOutages((error) => parts.onError(error, 'the places of products could not be checked'))
    const licences = await open()
    const licenceClock = await coverage.clock()
    const places = openPlaces({ licences, database, bus, audit, clock: licenceClock, metrics, firm, onError })
    parts.stopping.addEventListener('abort', () => void places.close(), { once: true })
    return places
  })
  return [
    {
      at: ['/licences'],
      limit: 'pages',
      async load() {
        const { licenceGroup } = await import('../licences/licences.ts')
        return [{ ...licenceGroup({ own: await openOwn(), issuer }), cors }]
      },
    },
    {
      at: ['/licences/places'],
      limit: 'query',
      async load() {
        const { placesGroup } = await import('../licences/licences.ts')
        const requireCaller = await loadCaller()
        return [placesGroup({ licences: await open(), openPlaces: openHandlerPlaces, requireCaller })]
      },
    },
    ...(parts.authzen ? [{ at: AUTHZEN_PATHS, limit: 'query', load: loadDecisions } as const] : []),
  ]

  async function loadCaller() {
    const { clientCaller } = await import('../identity/clients/client-caller.ts')
    const { authenticate, checkProof, clients, secretThrottle, assertionFault } = identity
    return clientCaller({
      authenticate,
      checkProof,
      clients,
      secretThrottle,
      assertionFault,
      rateLimits,
      audit,
      clock,
    })
  }

  async function loadDecisions(): Promise<readonly RouteGroup[]> {
    const { authzenGroup } = await import('../licences/licences.ts')
    return [authzenGroup({ licences: await open(), stores, issuer, requireCaller: await loadCaller() })]
  }
}

const AUTHZEN_PATHS = ['/access/v1', '/.well-known/authzen-configuration']
