/** Every route group of the identity service, on one screen. Pages, and sign-ins through other providers, are loaded on first use. */
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Accounts } from '../accounts/accounts.ts'
import type { Bus } from '../events/bus.ts'
import type { CorsPolicy } from '../http/cors.ts'
import type { RateLimits } from '../http/limits/rate-limits.ts'
import type { LazyRouteGroups, RouteGroup } from '../http/route.ts'
import type { Database } from '../store/database/database.ts'
import type { MailPort } from '../store/mail/notify.ts'
import type { Stores } from '../store/stores.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ListTables } from './agents/opened-tables.ts'
import type { BrowserEnv } from './browser/env.ts'
import type { Flow } from './browser/flow.ts'
import type { PageSettings } from './browser/page-reply.ts'
import { type DiscoveryOptions, discoveryRoutes } from './endpoints/discovery.ts'
import { endpointGroups } from './endpoints/routes.ts'
import type { Identity } from './identity.ts'
import type { OwnLicences } from './own-licences.ts'

export interface IdentityRoutesOptions {
  readonly identity: Identity
  readonly database: Database
  readonly stores: Stores
  readonly bus: Pick<Bus, 'publish' | 'receive'>
  readonly audit: Audit
  readonly clock: Clock
  readonly metrics: Metrics
  readonly rateLimits: RateLimits
  /** What the OpenID document says. */
  readonly discovery: DiscoveryOptions['mode']
  /** Seals the secrets of authenticator apps at rest. */
  readonly factorKey: Buffer
  /** Seals the secrets of providers at rest, and derives what a sign-in must remember. */
  readonly providerKey: Buffer
  /** What all pages of this node share. */
  readonly loadPages: () => Promise<PageSettings>
  /** Undefined where no mail is set up. */
  readonly mail: MailPort | undefined
  readonly loadAccounts: () => Promise<Accounts>
  /** The tables of a user, from any node that runs the query service. */
  readonly listTables: ListTables
  /** What people have of products. */
  readonly licences: OwnLicences
}

export function identityGroups(
  options: IdentityRoutesOptions,
  cors: CorsPolicy,
): readonly (RouteGroup | LazyRouteGroups)[] {
  const paths = options.mail === undefined ? BROWSER_PATHS : [...BROWSER_PATHS, ...MAIL_PATHS]
  return [
    { at: ['/.well-known'], limit: 'pages', cors: '*', routes: documents(options) },
    ...endpoints(options, cors),
    { at: paths, limit: 'pages', load: () => loadBrowserGroups(options) },
    { at: ['/external'], limit: 'pages', load: () => loadProviderGroups(options) },
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
  '/agent',
  '/choose-account',
  '/sign-out',
  '/device',
  '/account',
]

/** Only where mail is set up. */
const MAIL_PATHS = ['/forgot-password', '/verify-email']

function documents({ identity, discovery: mode }: IdentityRoutesOptions) {
  const { issuer, signer, apis, attributes, pushed } = identity
  return discoveryRoutes({ issuer: issuer.name, signer, apis, attributes, mode, pushed })
}

function endpoints(options: IdentityRoutesOptions, cors: CorsPolicy): readonly RouteGroup[] {
  const { identity, stores, audit, clock, metrics, rateLimits } = options
  const env = {
    stores,
    audit,
    clock,
    metrics,
    rateLimits,
    issuer: identity.issuer,
    signer: identity.signer,
    apis: identity.apis,
    attributes: identity.attributes,
    // Also with tokens for declared APIs.
    authenticate: identity.authenticateAny,
    checkProof: identity.checkProof,
    dpop: identity.dpop,
    users: identity.users,
    clients: identity.clients,
    agents: identity.agents,
    clientKeys: identity.clientKeys,
    secretThrottle: identity.secretThrottle,
    assertionFault: identity.assertionFault,
    checkPassword: identity.checkPassword,
    providers: identity.providers,
    remoteKeys: identity.remoteKeys,
    revocations: identity.revocations,
    revocationList: identity.revocationList,
    lifetimes: identity.lifetimes,
    undelivered: identity.undelivered,
    pushed: identity.pushed,
  }
  return endpointGroups(env, cors)
}

async function loadBrowserGroups(options: IdentityRoutesOptions): Promise<readonly RouteGroup[]> {
  const { browserGroups } = await import('./browser/routes.ts')
  return browserGroups(await browserEnv(options))
}

async function loadProviderGroups(options: IdentityRoutesOptions): Promise<readonly RouteGroup[]> {
  const { providerGroups } = await import('./providers/routes.ts')
  const { identity, stores, metrics, providerKey } = options
  return providerGroups({
    ...(await browserEnv(options)),
    metrics,
    remoteKeys: identity.remoteKeys,
    providerKey,
    scim: stores.scim,
    attributes: identity.attributes,
  })
}

async function browserEnv(options: IdentityRoutesOptions): Promise<Omit<BrowserEnv, 'cookies'>> {
  const { createInteractions } = await import('../store/authorizations/interactions.ts')
  const { identity, database, stores, bus, audit, clock, metrics, rateLimits, mail, factorKey, providerKey } = options
  const flows = createInteractions<Flow>(database, clock)
  return {
    accounts: await options.loadAccounts(),
    users: stores.users,
    roles: stores.roles,
    grants: stores.grants,
    codes: stores.codes,
    sessions: stores.sessions,
    consents: stores.consents,
    factors: stores.factors,
    deviceCodes: stores.deviceCodes,
    setUpLinks: stores.setUpLinks,
    addressLinks: stores.addressLinks,
    throttles: stores.throttles,
    identities: stores.identities,
    providerSignIns: stores.providerSignIns,
    pushedRequests: stores.pushedRequests,
    clients: identity.clients,
    agents: identity.agents,
    clientKeys: identity.clientKeys,
    issuer: identity.issuer,
    signer: identity.signer,
    apis: identity.apis,
    attributes: identity.attributes,
    revocations: identity.revocations,
    checkPassword: identity.checkPassword,
    hashing: identity.hashing,
    attempts: identity.attempts,
    providers: identity.providers,
    lifetimes: identity.lifetimes,
    pushed: identity.pushed,
    flows,
    publish: bus.publish,
    audit,
    clock,
    metrics,
    rateLimits,
    mail,
    listTables: options.listTables,
    licences: options.licences,
    sealingKey: factorKey,
    pages: { ...(await options.loadPages()), scopes: identity.apis },
    async signOutThere(context, session, request) {
      const { signOutThere } = await import('./providers/sign-out.ts')
      const { providerSignIns } = stores
      const { providers, issuer, remoteKeys } = identity
      return signOutThere(context, session, request, {
        ...{ providerSignIns, providers, flows },
        ...{ issuer, clock, providerKey, remoteKeys },
      })
    },
  }
}
