/** The Model Context Protocol in a server: loaded by its first request, where the settings serve it. */
import { AGENT_PATH } from 'gatehouse-protocol'
import type { Feeds } from '../feeds/feeds.ts'
import type { CorsPolicy } from '../http/cors.ts'
import type { LazyRouteGroups } from '../http/route.ts'
import type { Identity } from '../identity/identity.ts'
import type { McpOptions } from '../mcp/mcp.ts'
import type { QueryService } from '../query/index.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Base } from './base.ts'
import { agentAccess } from './options.ts'
import type { Resources } from './resources.ts'

export interface McpParts {
  readonly query: QueryService
  readonly auditedStatement: McpOptions['auditedStatement']
  /** Whose pages may call, besides those of the issuer and those that clients are registered with. */
  readonly origins: readonly string[]
}

interface McpEnv {
  readonly resources: Pick<Resources, 'audit'>
  readonly identity: Identity
  readonly metrics: Metrics
  readonly feeds: Feeds | undefined
}

/** Undefined where no agents are served, or no queries. */
export function mcpParts({ config, issuer }: Base, query: QueryService | undefined): McpParts | undefined {
  if (query === undefined || agentAccess(config, issuer) === undefined) return undefined
  return { query, auditedStatement: config.agentAudit, origins: config.publicOrigins }
}

export function mcpRoutes(
  { query, auditedStatement, origins }: McpParts,
  { resources, identity, metrics, feeds }: McpEnv,
  ofClients: (origin: string) => Promise<boolean>,
): LazyRouteGroups {
  const { name: issuer } = identity.issuer
  const known = new Set([new URL(issuer).origin, ...origins])
  const cors: CorsPolicy = async (origin) => known.has(origin) || ofClients(origin)
  return {
    at: [AGENT_PATH],
    limit: 'mcp',
    async load() {
      const { openMcp } = await import('../mcp/mcp.ts')
      const group = openMcp({
        issuer,
        query,
        feeds: feeds?.service,
        authenticate: identity.authenticateAgent,
        scopes: () => identity.apis.known().agents?.scopes ?? [],
        cors,
        audit: resources.audit,
        metrics,
        auditedStatement,
      })
      return [group]
    },
  }
}
