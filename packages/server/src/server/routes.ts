/** Every route group of the server, on one screen. Pages, console and administration are loaded on first use. */

import { VERSION } from 'gatehouse-protocol'
import type { Accounts } from '../accounts/accounts.ts'
import type {
  AlertStates,
  ChannelSender,
  ClusterActivity,
  ColumnSegments,
  KeptViews,
  ReplicationAdministration,
  RetentionRounds,
} from '../admin/ports.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { ConsoleOptions } from '../console/routes.ts'
import type { TableChecks } from '../declarative/tables-port.ts'
import type { Feeds } from '../feeds/feeds.ts'
import type { CorsPolicy } from '../http/cors.ts'
import { createReadiness, healthRoutes, type Readiness, type ReadinessCheck } from '../http/health.ts'
import type { SlidingWindow } from '../http/limits/sliding-window.ts'
import { metricsRoute } from '../http/metrics-endpoint.ts'
import { requireScope } from '../http/request/authentication.ts'
import type { LazyRouteGroups, Route, RouteGroup } from '../http/route.ts'
import { type IdentityRoutesOptions, identityGroups } from '../identity/routes.ts'
import { CONSOLE_FOLDER } from '../lib/program-files.ts'
import type { Mail } from '../mail/mail.ts'
import type { StartParts } from '../site/start.ts'
import { parseAttributeValues } from '../store/attributes/attribute-values.ts'
import type { BuiltInClients } from '../store/clients/built-in-clients.ts'
import { type LicenceParts, type LicenceServices, licenceRoutes, licenceServices } from './licence-routes.ts'
import type { Coverage } from './licensing.ts'
import { agentActivity, type McpParts, mcpRoutes } from './mcp.ts'
import { accountLicences } from './own-licences.ts'
import type { LazyPages } from './pages.ts'

export interface RouteParts extends LicenceParts {
  /** What the rate limits count, over all nodes. */
  readonly window: SlidingWindow
  /** The metrics of all workers, if there are several. */
  readonly renderMetrics: () => string | Promise<string>
  readonly activity: ClusterActivity
  readonly tables: TableChecks | undefined
  /** Resolves when this node uses the attributes as they are declared now. */
  readonly attributesChanged: () => Promise<void>
  /** The names of the streaming controllers that this node has loaded. */
  readonly loadedControllers: readonly string[]
  /** Undefined where streaming does not run here. */
  readonly feeds: Feeds | undefined
  readonly coverage: Pick<Coverage, 'reload' | 'clock' | 'hasProducts'>
  /** Undefined where no query service with column segments runs. */
  readonly columns: ColumnSegments | undefined
  /** Undefined where no query service runs. */
  readonly retention: (() => Promise<RetentionRounds>) | undefined
  readonly channels: () => Promise<ChannelSender>
  /** Undefined where no query service runs. */
  readonly alertStates: AlertStates | undefined
  /** Undefined where no query service runs. */
  readonly views: KeptViews | undefined
  /** Undefined where nothing is replicated. */
  readonly replication: ReplicationAdministration | undefined
  /** Undefined where no mail is set up. */
  readonly mail: Mail | undefined
  readonly readiness: Readonly<Record<string, ReadinessCheck>>
  /** Prices for the start page; undefined without the market of the demonstration. */
  readonly prices: LazyRouteGroups | undefined
  /** The effective settings. */
  readonly settings: () => LoadedConfig
  readonly builtInClients: BuiltInClients
  readonly pages: LazyPages
  readonly runsIdentity: boolean
  /** Whether SCIM is served. */
  readonly scim: boolean
  /** What the OpenID document says. */
  readonly discovery: IdentityRoutesOptions['discovery']
  /** Undefined where the console is switched off. */
  readonly console: Pick<ConsoleOptions, 'issuer' | 'services' | 'demo' | 'mail' | 'wire'> | undefined
  readonly query: readonly RouteGroup[] | undefined
  /** Undefined where no query service runs. */
  readonly alerts: LazyRouteGroups | undefined
  /** Undefined where no agents are served. */
  readonly mcp: McpParts | undefined
  readonly streaming: RouteGroup | undefined
}

export function routeGroups(parts: RouteParts): readonly (RouteGroup | LazyRouteGroups)[] {
  const { query, streaming, identity, pages } = parts
  const readiness = createReadiness(parts.readiness)
  // Pages call from the origins that their applications are registered with.
  const cors = (origin: string) => identity.clients.isClientOrigin(origin)
  const licences = licenceServices(parts)
  return [
    { at: ['/healthz', '/readyz'], isProbe: true, routes: healthRoutes(readiness) },
    {
      at: ['/metrics'],
      isProbe: true,
      routes: [metricsRoute(parts.renderMetrics, { access: requireScope('Platform/Admin') })],
    },
    ...(parts.runsIdentity ? identityRoutes(parts, licences, cors) : []),
    ...(parts.runsIdentity && parts.scim ? [scimRoutes(parts)] : []),
    ...(parts.runsIdentity ? licenceRoutes(parts, licences, cors) : []),
    ...(query ?? []).map((group) => ({ ...group, cors })),
    ...(parts.alerts === undefined ? [] : [withCors(parts.alerts, cors)]),
    ...(streaming === undefined ? [] : [{ ...streaming, cors }]),
    ...(parts.feeds === undefined ? [] : [{ ...parts.feeds.routes, cors }]),
    ...(parts.mcp === undefined ? [] : [mcpRoutes(parts.mcp, parts, cors)]),
    { at: ['/admin'], limit: 'admin', load: () => loadAdmin(parts, cors) },
    ...(parts.console === undefined ? [] : [consoleRoutes(parts, parts.console)]),
    { at: ['/openapi.json'], limit: 'pages', load: () => loadOpenApi(parts) },
    { at: ['/client'], limit: 'pages', load: () => loadClientLibrary(cors) },
    { at: ['/assets'], limit: 'pages', load: async () => [(await pages.load()).group] },
    { at: ['/docs'], limit: 'pages', load: () => loadDocumentation(parts) },
    ...(parts.prices === undefined ? [] : [parts.prices]),
    { at: ['/'], limit: 'pages', routes: [startRoute(parts, readiness)] },
  ]
}

function withCors(lazy: LazyRouteGroups, cors: CorsPolicy): LazyRouteGroups {
  return { ...lazy, load: async () => (await lazy.load()).map((group) => ({ ...group, cors })) }
}

/** A route and not a lazy group: every path that matches nothing belongs to the same group. */
function startRoute(parts: RouteParts, readiness: () => Promise<Readiness>): Route {
  const hasPrices = parts.prices !== undefined
  const findUser = parts.runsIdentity && parts.console !== undefined ? signedInUser(parts) : undefined
  return {
    method: 'GET',
    path: '/',
    async handle(context) {
      const [{ settings }, { showStart }] = await Promise.all([parts.pages.load(), import('../site/start.ts')])
      return showStart(context, settings, readiness, { hasPrices, findUser })
    },
  }
}

/** The start page is also shown while the database cannot be read. */
function signedInUser({ identity, resources, rateLimits }: RouteParts): NonNullable<StartParts['findUser']> {
  const { sessions, users } = resources.stores
  return async (context) => {
    const { findSignedInUser } = await import('../identity/browser/signed-in-user.ts')
    const user = await findSignedInUser(context, identity.issuer.name, { sessions, users, rateLimits })
    const locale = user?.profile.locale
    return user && { id: user.id, locale: typeof locale === 'string' ? locale : undefined }
  }
}

function identityRoutes(
  parts: RouteParts,
  { openOwn }: LicenceServices,
  cors: CorsPolicy,
): readonly (RouteGroup | LazyRouteGroups)[] {
  const { identity, resources, bus, metrics, rateLimits, discovery, mail, pages } = parts
  const { database, stores, audit, clock, masterKey } = resources
  const options: IdentityRoutesOptions = {
    identity,
    database,
    stores,
    bus,
    audit,
    clock,
    metrics,
    rateLimits,
    discovery,
    factorKey: masterKey.derive('second factors'),
    providerKey: masterKey.derive('providers'),
    loadPages: async () => (await pages.load()).settings,
    mail: mail?.port,
    loadAccounts: () => loadAccounts(parts),
    listTables: parts.activity.listTables,
    licences: accountLicences(() => parts.coverage.hasProducts, openOwn),
  }
  return identityGroups(options, cors)
}

/** The account service, for the pages and SCIM. */
async function loadAccounts({ resources, identity, bus, mail }: RouteParts): Promise<Accounts> {
  const { openAccounts } = await import('../accounts/accounts.ts')
  const { database, clock, audit } = resources
  const localSignIn = () => identity.providers.localSignIn
  return openAccounts({ database, clock, audit, receive: bus.receive, mail: mail?.port, localSignIn })
}

function scimRoutes(parts: RouteParts): LazyRouteGroups {
  const { resources, identity, metrics } = parts
  const { stores, clock } = resources
  return {
    at: ['/scim/v2'],
    limit: 'scim',
    async load() {
      const { scimGroup, SCIM_PATH } = await import('../scim/routes.ts')
      const env = {
        accounts: await loadAccounts(parts),
        tokens: stores.scim.tokens,
        clock,
        metrics,
        base: identity.issuer.name + SCIM_PATH,
        attributes: {
          definitions: async () => [...identity.attributes.definitions.values()],
          parse: parseAttributeValues,
        },
      }
      const { authenticate, clients } = identity
      return [scimGroup(env, { authenticate, clients, tokens: env.tokens })]
    },
  }
}

function consoleRoutes(
  { pages: { brand, base }, identity }: RouteParts,
  options: NonNullable<RouteParts['console']>,
): LazyRouteGroups {
  return {
    at: ['/console'],
    limit: 'pages',
    async load() {
      const { consoleGroup } = await import('../console/routes.ts')
      const { fontFaces, interfaceFont } = await import('../identity/pages/fonts.ts')
      const { designTokens } = await import('../identity/pages/tokens.ts')
      const { logoType } = await import('../identity/pages/brand.ts')
      const { currentNonce } = await identity.dpop()
      const { name, colour, logo } = brand
      const group = consoleGroup({
        issuer: options.issuer,
        services: options.services,
        demo: options.demo,
        mail: options.mail,
        agents: identity.agents !== undefined,
        wire: options.wire,
        nonce: currentNonce,
        folder: CONSOLE_FOLDER,
        base,
        version: VERSION,
        name,
        logo: logo && { content: logo.content, ending: logo.ending, type: logoType(logo.ending) },
        font: interfaceFont(base),
        tokens: fontFaces(base) + designTokens(colour),
      })
      return [group]
    },
  }
}

async function loadAdmin(parts: RouteParts, cors: CorsPolicy): Promise<readonly RouteGroup[]> {
  const { resources, identity, bus, activity, settings, stopping } = parts
  const { adminGroup } = await import('../admin/admin.ts')
  const { createKeyring } = await import('../admin/keyring.ts')
  const { showSettings } = await import('../admin/settings.ts')
  const { database, stores, audit, clock, masterKey } = resources
  const { publish, receive } = bus
  const keyring = createKeyring({
    keys: stores.signingKeys,
    sealingKey: masterKey.derive('signing keys'),
    clock,
    publish,
  })
  const reloads = new Map<string, () => Promise<void> | undefined>([
    ['apis', identity.apis.reload],
    ['attributes', parts.attributesChanged],
    ['providers', identity.providers.load],
    ['agents', async () => identity.agents?.reload()],
    ['feeds', async () => parts.feeds?.service.reload()],
    ['products', parts.coverage.reload],
  ])
  const env = {
    database,
    stores,
    audit,
    clock,
    licenceClock: parts.coverage.clock,
    issuer: identity.issuer.name,
    publish,
    receive,
    keyring,
    hashPassword: identity.hashing.hash,
    builtInClients: parts.builtInClients,
    settings: () => showSettings(settings()),
    activity,
    loadedControllers: parts.loadedControllers,
    feeds: parts.feeds?.service,
    columns: parts.columns,
    retention: parts.retention,
    channels: parts.channels,
    alertStates: parts.alertStates,
    views: parts.views,
    agentActivity: parts.mcp && agentActivity(parts.mcp),
    mail: parts.mail,
    replication: parts.replication,
    definitions: async () => parts.tables && (await import('../declarative/export.ts')).readDefinitions(parts.tables),
    reload: async (section: string) => reloads.get(section)?.(),
    providerKey: masterKey.derive('providers'),
    provisioning: parts.scim,
    stopping,
  }
  return [{ ...adminGroup(env, identity.authenticate), cors }]
}

async function loadDocumentation({ pages, identity }: RouteParts): Promise<readonly RouteGroup[]> {
  const { documentationGroup } = await import('../site/documentation/routes.ts')
  return [documentationGroup((await pages.load()).settings, identity.issuer.name)]
}

async function loadClientLibrary(cors: CorsPolicy): Promise<readonly RouteGroup[]> {
  const { clientLibraryGroup } = await import('../site/client-library.ts')
  return [clientLibraryGroup(cors)]
}

async function loadOpenApi(parts: RouteParts): Promise<readonly RouteGroup[]> {
  const { identity, query, streaming, feeds, scim } = parts
  const { openApiRoute } = await import('../http/openapi.ts')
  const { describeAdmin } = await import('../admin/admin.ts')
  const described = describeAdmin()
  if (query !== undefined) described.push(...(await (await import('../query/index.ts')).describeRoutes()))
  if (streaming !== undefined) described.push(...(await (await import('../streaming/streaming.ts')).describeRoutes()))
  if (parts.alerts !== undefined) described.push(...(await (await import('../alerts/alerts.ts')).describeRoutes()))
  if (feeds !== undefined) described.push(...(await (await import('../feeds/feeds.ts')).describeRoutes()))
  if (parts.runsIdentity)
    described.push(...(await (await import('../licences/licences.ts')).describeRoutes({ authzen: parts.authzen })))
  if (scim) described.push(...(await (await import('../scim/routes.ts')).describeRoutes()))
  return [{ at: ['/openapi.json'], limit: 'pages', cors: '*', routes: [openApiRoute(identity.issuer.name, described)] }]
}
