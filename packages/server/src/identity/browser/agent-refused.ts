/** The page for people whose agent is not allowed here: who it is, and whom to ask. */
import type { FormParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { Agents } from '../agents/agents.ts'
import { refuse } from '../authorize/authorization-error.ts'
import { errorPage } from '../pages/error.ts'
import { type BrowserContext, pageRoute } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import { frameFor, sendPage } from './page-reply.ts'
import { redirectedFirst } from './proceed.ts'

export function agentRefusedRoutes(env: BrowserEnv, agents: Agents): readonly Route[] {
  return [pageRoute('/agent', (context, query) => show(context, query, env, agents), env)]
}

async function show(context: BrowserContext, query: FormParameters, env: BrowserEnv, agents: Agents): Promise<void> {
  const clientId = query.get('client_id') ?? ''
  const named = agents.describe(clientId)
  if (named === undefined) throw refuse('invalid_request', 'client_id is no address of a document')
  if (await redirectedFirst(context, { name: 'agent', clientId }, {}, env)) return
  const frame = frameFor(env.pages, context)
  const { messages } = frame.language
  const { http, user } = context
  if (named.isAllowed) {
    const page = errorPage(frame, {
      title: messages.agentAllowed(named.host),
      lead: messages.agentAllowedLead,
      requestId: http.id,
      isMistake: true,
    })
    return sendPage(http, page)
  }
  env.audit.record({
    event: 'agent.refused',
    actor: user?.id,
    target: named.host,
    address: http.address,
    requestId: http.id,
    details: { client_id: clientId },
  })
  const page = errorPage(frame, {
    title: messages.agentNotAllowed(named.host),
    lead: messages.agentNotAllowedLead,
    code: 'agent.not_allowed',
    detail: clientId,
    requestId: http.id,
  })
  return sendPage(http, page, { status: 403 })
}
