/** Every route group of the server, on one screen. Pages and administration are loaded on first use. */
import type { Live } from '../admin/ports.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Bus } from '../events/bus.ts'
import { requireScope } from '../http/authentication.ts'
import type { CorsPolicy } from '../http/cors.ts'
import { healthRoutes, type ReadinessCheck } from '../http/health.ts'
import { metricsRoute } from '../http/metrics-endpoint.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import type { LazyRouteGroups, RouteGroup } from '../http/route.ts'
import type { Flow } from '../identity/browser/flow.ts'
import type { BrandSettings } from '../identity/browser/routes.ts'
import { discoveryRoutes } from '../identity/endpoints/discovery.ts'
import { endpointGroups } from '../identity/endpoints/routes.ts'
import type { Identity } from '../identity/identity.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Resources } from './resources.ts'

export interface RouteParts {
  readonly resources: Resources
  readonly bus: Bus
  readonly identity: Identity
  readonly rateLimits: RateLimits
  readonly metrics: Metrics
  readonly live: Live
  readonly readiness: Readonly<Record<string, ReadinessCheck>>
  readonly settings: Pick<LoadedConfig, 'texts' | 'sources'> | undefined
  /** Absent where the identity service does not run here. */
  readonly brand: BrandSettings | undefined
  readonly query: RouteGroup | undefined
  readonly streaming: RouteGroup | undefined
}

export function routeGroups(parts: RouteParts): readonly (RouteGroup | LazyRouteGroups)[] {
  const { metrics, readiness, query, streaming, identity } = parts
  // Pages call from the origins that their applications are registered with.
  const cors: CorsPolicy = (origin) => identity.clients.isClientOrigin(origin)
  return [
    { at: ['/healthz', '/readyz'], routes: healthRoutes(readiness) },
    { at: ['/metrics'], routes: [metricsRoute(metrics, requireScope('Platform/Admin'))] },
    ...(parts.brand === undefined ? [] : identityGroups(parts, parts.brand, cors)),
    ...(query === undefined ? [] : [{ ...query, cors }]),
    ...(streaming === undefined ? [] : [{ ...streaming, cors }]),
    { at: ['/admin'], limit: 'admin', load: () => loadAdmin(parts, cors) },
    { at: ['/openapi.json'], limit: 'pages', load: () => loadOpenApi(parts) },
    { at: ['/'], limit: 'pages', routes: [] },
  ]
}

function identityGroups(
  parts: RouteParts,
  brand: BrandSettings,
  cors: CorsPolicy,
): readonly (RouteGroup | LazyRouteGroups)[] {
  const { identity, resources, rateLimits, metrics } = parts
  return [
    { at: ['/.well-known'], limit: 'pages', cors: '*', routes: discoveryRoutes(identity.issuer.name, identity.signer) },
    ...endpointGroups({ ...identity, ...resources, rateLimits, metrics }, cors),
    { at: BROWSER_PATHS, limit: 'pages', load: () => loadPages(parts, brand) },
  ]
}

const BROWSER_PATHS = [
  '/connect/authorize',
  '/connect/endsession',
  '/connect/checksession',
  '/sign-in',
  '/continue',
  '/second-factor',
  '/set-up-factor',
  '/set-up',
  '/change-password',
  '/consent',
  '/choose-account',
  '/sign-out',
  '/device',
  '/account',
  '/assets',
]

async function loadPages(parts: RouteParts, brand: BrandSettings): Promise<readonly RouteGroup[]> {
  const { browserGroups } = await import('../identity/browser/routes.ts')
  const { createInteractions } = await import('../store/interactions.ts')
  const { resources, identity, bus, metrics, rateLimits } = parts
  const { stores, database, audit, clock, masterKey } = resources
  const env = {
    ...stores,
    ...identity,
    users: stores.users,
    publish: bus.publish,
    flows: createInteractions<Flow>(database.db, clock),
    audit,
    metrics,
    clock,
    rateLimits,
    sealingKey: masterKey.derive('second factors'),
  }
  return browserGroups(env, brand)
}

async function loadAdmin(parts: RouteParts, cors: CorsPolicy): Promise<readonly RouteGroup[]> {
  const { resources, identity, bus, live, settings } = parts
  const { adminGroup } = await import('../admin/admin.ts')
  const { createKeyring } = await import('../admin/keyring.ts')
  const { showSettings } = await import('../admin/settings.ts')
  const { stores, clock, masterKey } = resources
  const { publish, receive } = bus
  const keyring = createKeyring({
    keys: stores.signingKeys,
    sealingKey: masterKey.derive('signing keys'),
    clock,
    publish,
  })
  const env = {
    ...resources,
    issuer: identity.issuer.name,
    publish,
    receive,
    keyring,
    hashPassword: identity.hashing.hash,
    settings: () => (settings === undefined ? [] : showSettings(settings)),
    live,
  }
  return [{ ...adminGroup(env), cors }]
}

async function loadOpenApi({ identity, query }: RouteParts): Promise<readonly RouteGroup[]> {
  const { openApiRoute } = await import('../http/openapi.ts')
  const { describeAdmin } = await import('../admin/admin.ts')
  const described = describeAdmin()
  if (query !== undefined) described.push(...(await import('../query/http/openapi.ts')).describeQuery())
  return [{ at: ['/openapi.json'], limit: 'pages', cors: '*', routes: [openApiRoute(identity.issuer.name, described)] }]
}
