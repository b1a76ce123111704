/** `/connect/authorize`: checks the client, its redirect URI and the request, then continues with the pages. */
import type { Context } from '../../http/context.ts'
import { FORM, type FormParameters, formParameters, queryParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { Client, ClientMetadata } from '../../store/clients/client-metadata.ts'
import { type AuthorizationError, isAuthorizationError, refuse } from '../authorize/authorization-error.ts'
import { isPushed, mustPush, openPushed } from '../authorize/pushed-request.ts'
import { type Received, readRequest } from '../authorize/received-request.ts'
import type { AuthorizationRequest, Target } from '../authorize/request.ts'
import { readClient, registeredTarget } from '../authorize/target.ts'
import { type BrowserContext, openAnonymousContext, openBrowserContext } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import type { Flow } from './flow.ts'
import { answerHead } from './page-reply.ts'
import { answerFault, proceed, refuseToClient } from './proceed.ts'

export function authorizeRoutes(env: BrowserEnv): readonly Route[] {
  const path = '/connect/authorize'
  return [
    { method: 'GET', path, head: answerHead, handle: (http) => authorize(http, queryParameters(http), env) },
    { method: 'POST', path, body: FORM, handle: (http) => authorize(http, formParameters(http), env) },
  ]
}

async function authorize(http: Context, parameters: FormParameters, env: BrowserEnv): Promise<void> {
  const agent = await readAgent(parameters, http, env)
  if (agent?.kind === 'not allowed') return showNotAllowed(http, agent.clientId, env)
  const client = agent?.client ?? (await readClient(parameters, env.clients))
  http.identify({ client: client.id })
  env.rateLimits.countCaller('pages', http.address, { client: client.id })
  const checked = await check(parameters, client, agent?.metadata, env)
  try {
    const context = await openBrowserContext(http, env)
    if ('refusal' in checked) {
      const { error, text, ...asked } = checked.refusal
      return await refuseToClient(context, client, asked, error, text, env)
    }
    return await begin(context, { kind: 'authorize', request: checked.request, progress: {} }, env)
  } catch (error) {
    const asked = 'refusal' in checked ? checked.refusal : checked.request
    return answerFault(error, openAnonymousContext(http, env), client, asked, env)
  }
}

async function begin(context: BrowserContext, details: Flow, env: BrowserEnv): Promise<void> {
  const { http } = context
  if (http.method === 'GET') return proceed(context, { handle: undefined, details }, env)
  // A form posted from another site brings no Lax cookie; the redirect that follows does (B-08).
  const { handle } = await env.flows.begin(details, http)
  return http.redirect(`${env.pages.base}/continue?flow=${encodeURIComponent(handle)}`)
}

/** An agent that publishes its description, and is not registered here. */
async function readAgent(parameters: FormParameters, { address }: Context, { agents }: BrowserEnv) {
  const clientId = parameters.get('client_id')
  if (clientId === undefined || parameters.repeated.has('client_id')) return undefined
  const agent = await agents?.read(clientId, address)
  return agent && { ...agent, clientId }
}

/** Only people who may sign in read whom to ask. */
async function showNotAllowed(http: Context, clientId: string, env: BrowserEnv): Promise<void> {
  const context = await openBrowserContext(http, env)
  return begin(context, { kind: 'own', page: { name: 'agent', clientId }, progress: {} }, env)
}

type Checked = { readonly request: AuthorizationRequest } | { readonly refusal: ClientRefusal }

interface ClientRefusal {
  readonly error: AuthorizationError
  readonly text: string
  readonly target: Target
  readonly uiLocales: string | undefined
  readonly responseType: string | undefined
}

/** Throws errors that are shown on an error page; returns refusals that go to the client. */
async function check(
  outer: FormParameters,
  client: Client,
  document: ClientMetadata | undefined,
  env: BrowserEnv,
): Promise<Checked> {
  if (isPushed(outer)) return { request: await openPushed(outer, client, env) }
  const received = mustPush(client, env.pushed) ? notPushed(outer, client) : await readRequest(outer, client, env)
  if ('request' in received) return { request: { ...received.request, document } }
  const { refusal, target } = received
  if (target === undefined || !isAuthorizationError(refusal.code)) throw refusal
  const { code: error, message: text } = refusal
  return {
    refusal: {
      error,
      text,
      target,
      uiLocales: outer.get('ui_locales'),
      responseType: outer.get('response_type')?.slice(0, 100),
    },
  }
}

function notPushed(outer: FormParameters, client: Client): Received {
  const refusal = refuse('invalid_request', 'The request must be pushed to /connect/par first')
  return { refusal, target: registeredTarget(outer, client) }
}
