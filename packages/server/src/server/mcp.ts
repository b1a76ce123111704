/** The Model Context Protocol in a server: loaded by its first request, where the settings serve it. */
import { AGENT_PATH, type Clock } from 'gatehouse-protocol'
import type { AgentActivity } from '../admin/ports.ts'
import type { Feeds } from '../feeds/feeds.ts'
import type { CorsPolicy } from '../http/cors.ts'
import type { LazyRouteGroups } from '../http/route.ts'
import type { Identity } from '../identity/identity.ts'
import { CONSOLE_FOLDER } from '../lib/program-files.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { McpOptions } from '../mcp/mcp.ts'
import type { QueryService } from '../query/index.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Base } from './base.ts'
import { agentAccess } from './options.ts'
import type { Resources } from './resources.ts'

export interface McpParts {
  readonly query: QueryService
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  readonly trace: McpOptions['trace']
  readonly settings: Pick<McpOptions, 'auditedStatement' | 'scanRules' | 'rowsPerDay'>
  /** Whose pages may call, besides those of the issuer and those that clients are registered with. */
  readonly origins: readonly string[]
}

interface McpEnv {
  readonly resources: Pick<Resources, 'audit' | 'masterKey'>
  readonly identity: Identity
  readonly metrics: Metrics
  readonly feeds: Feeds | undefined
  readonly window: McpOptions['window']
  readonly bus: McpOptions['bus']
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
  readonly pages: { readonly brand: { readonly colour: string } }
}

/** Undefined where no agents are served, or no queries. */
export function mcpParts(
  { config, issuer, clock, logger, tracing }: Base,
  query: QueryService | undefined,
): McpParts | undefined {
  if (query === undefined || agentAccess(config, issuer) === undefined) return undefined
  const rules = { scans: config.agentScans, rows: config.agentScanRows, milliseconds: config.agentSeconds }
  return {
    query,
    clock,
    trace: tracing,
    origins: config.publicOrigins,
    onError: exceptOutages((error) => logger.error({ err: error }, 'agents error')),
    settings: {
      auditedStatement: config.agentAudit,
      scanRules: () => rules,
      rowsPerDay: () => config.agentRowsPerDay,
    },
  }
}

export function mcpRoutes(
  { query, clock, settings, origins, trace, onError }: McpParts,
  { resources, identity, metrics, feeds, window, bus, stopping, pages }: McpEnv,
  ofClients: (origin: string) => Promise<boolean>,
): LazyRouteGroups {
  const { name: issuer } = identity.issuer
  const { colour } = pages.brand
  const known = new Set([new URL(issuer).origin, ...origins])
  const cors: CorsPolicy = async (origin) => known.has(origin) || ofClients(origin)
  return {
    at: [AGENT_PATH],
    limit: 'mcp',
    async load() {
      const { openMcp } = await import('../mcp/mcp.ts')
      const mcp = openMcp({
        issuer,
        query,
        feeds: feeds?.service,
        authenticate: identity.authenticateAgent,
        scopes: () => identity.apis.known().agents?.scopes ?? [],
        cors,
        audit: resources.audit,
        metrics,
        trace,
        clock,
        bus,
        onError,
        window,
        deriveKey: resources.masterKey.derive,
        auditedStatement: settings.auditedStatement,
        scanRules: settings.scanRules,
        rowsPerDay: settings.rowsPerDay,
        chartPage: (language) => loadChartPage(colour, language),
      })
      if (stopping.aborted) mcp.stop()
      stopping.addEventListener('abort', () => mcp.stop(), { once: true })
      return [mcp.group]
    },
  }
}

async function loadChartPage(colour: string, language: string | undefined): Promise<string | undefined> {
  const { readChatPage } = await import('../console/chat-page.ts')
  const { designTokens } = await import('../identity/pages/tokens.ts')
  return readChatPage(CONSOLE_FOLDER, designTokens(colour), language)
}

/** For lists of grants. Counts are written every few seconds. */
export function agentActivity({ query, clock }: Pick<McpParts, 'query' | 'clock'>): AgentActivity {
  return async (grants) => {
    const now = clock()
    const today = new Date(now).toISOString().slice(0, 10)
    const [calls, watches] = await Promise.all([
      query.agentCalls.find(grants),
      query.watches.countByOwner(grants, now - WATCH_MS),
    ])
    const byGrant = new Map(calls.map((row) => [row.owner, row]))
    return new Map(
      grants.map((grant) => {
        const row = byGrant.get(grant)
        const isToday = row?.day === today
        const counts = { callsToday: isToday ? row.calls : 0, rowsToday: isToday ? row.rows : 0 }
        return [grant, { last: row?.last, ...counts, watches: watches.get(grant) ?? 0 }]
      }),
    )
  }
}

/** How long a watch is kept without use. */
const WATCH_MS = 3_600_000
