/** The page on which a person decides what an agent may read for them. */
import { documentHost } from 'gatehouse-protocol'
import type { Client } from '../../store/clients/client-metadata.ts'
import { openedTables } from '../agents/opened-tables.ts'
import type { AuthorizationRequest } from '../authorize/request.ts'
import { hostOrScheme, isLoopback } from '../authorize/target.ts'
import { AGENT_IDLE_MS } from '../grants/lifetimes.ts'
import { agentConsentPage } from '../pages/agent-consent.ts'
import { chooseDisplayName } from '../tokens/claims.ts'
import type { BrowserContext } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import { formActionSources, frameFor, sendPage } from './page-reply.ts'

export interface AskedAgent {
  readonly flow: string
  readonly client: Client
  readonly request: AuthorizationRequest
  readonly scopes: readonly string[]
  /** The person pressed Allow with nothing ticked. */
  readonly isNothingChosen?: boolean
}

const DAY_MS = 24 * 60 * 60_000

export async function showAgentConsent(
  context: BrowserContext,
  { flow, client, request, scopes, isNothingChosen = false }: AskedAgent,
  env: BrowserEnv,
): Promise<void> {
  const { uiLocales, target } = request
  const { user } = context
  const known = env.apis.known()
  const host = client.document ? documentHost(client.id) : hostOrScheme(target.redirectUri)
  const readable = scopes.filter((scope) => known.isOfAgents(scope))
  const choices = await Promise.all(
    readable.map(async (scope) => ({
      scope,
      tables: user && (await openedTables(scope, user, env.listTables).catch(() => undefined)),
    })),
  )
  const page = agentConsentPage(frameFor(env.pages, context, { uiLocales, boundTo: 'session' }), {
    flow,
    name: client.name,
    host: isLoopback(target.redirectUri) ? undefined : host,
    documentHost: client.document ? host : undefined,
    returnsTo: hostOrScheme(target.redirectUri),
    username: user === undefined ? '' : chooseDisplayName(user),
    scopes,
    choices,
    isNothingChosen,
    days: {
      lasting: scopes.includes('offline_access') ? Math.ceil((known.agents?.grantMs ?? 0) / DAY_MS) : 0,
      idle: AGENT_IDLE_MS / DAY_MS,
    },
  })
  sendPage(context.http, page, {
    status: isNothingChosen ? 422 : 200,
    formAction: formActionSources(client, target.redirectUri),
  })
}
