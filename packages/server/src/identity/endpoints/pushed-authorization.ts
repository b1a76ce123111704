/** POST /connect/par (RFC 9126 §2): a client sends its authorization request itself, and gets a request_uri for the browser. */
import { type Audit, Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { SlidingWindow } from '../../http/limits/sliding-window.ts'
import { FORM, type FormParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import { addressNetwork } from '../../lib/network.ts'
import type { PushedRequests } from '../../store/authorizations/pushed-requests.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Agents } from '../agents/agents.ts'
import { isAuthorizationError } from '../authorize/authorization-error.ts'
import { type PushedSettings, storePushed } from '../authorize/pushed-request.ts'
import { type ReceivedEnv, readRequest } from '../authorize/received-request.ts'
import type { AuthorizationRequest, RequestParameters } from '../authorize/request.ts'
import {
  authenticateClient,
  type ClientAuthEnv,
  type ClientRequest,
  checkProof,
  type ProofEnv,
  readForm,
} from '../clients/client-request.ts'
import type { GoodProof } from '../dpop/dpop.ts'
import { isOAuthError, printable, refuse, replyWithOAuthError } from '../oauth-error.ts'
import { parseJwt } from '../tokens/jwt.ts'
import type { Signer } from '../tokens/signer.ts'

export interface PushedAuthorizationEnv extends ClientAuthEnv, ReceivedEnv, ProofEnv {
  readonly clock: ClientAuthEnv['clock']
  readonly signer: ReceivedEnv['signer'] & Pick<Signer, 'requireKey' | 'fapiAlg'>
  readonly stores: { readonly pushedRequests: PushedRequests }
  /** Undefined where no agents are served. */
  readonly agents: Pick<Agents, 'read'> | undefined
  readonly pushed: PushedSettings
  readonly audit: Audit
  readonly metrics: Metrics
}

/** Of the open requests that a client may have. Anyone can push for a public client, and must not take all its places. */
const MOST_OF_NETWORK = 200

export function pushedAuthorizationRoute(given: PushedAuthorizationEnv): Route {
  const env: PushEnv = { ...given, networks: new SlidingWindow(given.clock) }
  return {
    method: 'POST',
    path: '/connect/par',
    body: FORM,
    handle: async (context) => context.json(await push(readForm(context, 'resource'), context, env), 201),
  }
}

interface PushEnv extends PushedAuthorizationEnv {
  /** Pushes for public clients, on this node. */
  readonly networks: SlidingWindow
}

async function push(form: FormParameters, caller: ClientRequest, given: PushEnv): Promise<object> {
  const { env, document } = await withAgent(form, caller, given)
  // First: a request that is answered with a nonce is repeated with the same assertion.
  const proof = await checkProof(caller, form, env)
  const client = await authenticateClient(caller, form, env)
  try {
    const request = { ...bind(await check(form, client, env), proof), document }
    // Not after the user has signed in and consented.
    await env.signer.requireKey(client.accessTokenAlg ?? env.signer.fapiAlg())
    // After the checks: a request that is refused for another reason can be repeated with the same proof.
    await proof?.spend()
    const uri = hasPlace(client, caller, env) ? await storePushed(request, env.pushed, env.stores) : undefined
    if (uri === undefined) throw tooMany(env)
    env.metrics.count('gatehouse_pushed_requests_total', { outcome: 'accepted' })
    return { request_uri: uri, expires_in: env.pushed.lifetimeMs / 1000 }
  } catch (error) {
    recordRefusal(error, form, client, caller, env)
    throw error
  }
}

/** An agent that publishes its description may push a request before it has a registration here. */
async function withAgent(form: FormParameters, { address, id: requestId }: ClientRequest, env: PushEnv) {
  const subject = parseJwt(form.get('client_assertion') ?? '')?.claims.sub
  const clientId = form.get('client_id') ?? (typeof subject === 'string' ? subject : undefined)
  const agent = clientId === undefined ? undefined : await env.agents?.read(clientId, address).catch(refuseAgent)
  if (clientId === undefined || agent === undefined) return { env }
  if (agent.kind === 'not allowed') {
    const { host: target } = agent
    env.audit.record({ event: 'agent.refused', target, address, requestId, details: { client_id: clientId } })
    throw refuse('invalid_client', `Agents of ${target} are not allowed on this server: ask its operator`)
  }
  const find = async (id: string) => (id === clientId ? agent.client : env.clients.find(id))
  return { env: { ...env, clients: { ...env.clients, find } }, document: agent.metadata }
}

function refuseAgent(error: unknown): never {
  if (error instanceof Refusal && error.code === 'agent.bad_document') throw refuse('invalid_client', error.message)
  throw error
}

/** RFC 9126 §2.1: as the authorization endpoint would check it. The client is the one that has authenticated. */
async function check(form: FormParameters, client: Client, env: PushedAuthorizationEnv): Promise<AuthorizationRequest> {
  if (form.get('request_uri') !== undefined)
    throw refuse('invalid_request', 'request_uri cannot be pushed: send the parameters themselves, or request')
  const outer: RequestParameters = {
    get: (name) => (name === 'client_id' ? client.id : form.get(name)),
    repeated: form.repeated,
    all: (name) => form.all(name),
  }
  const received = await readRequest(outer, client, env)
  if ('refusal' in received) throw received.refusal
  return received.request
}

/** RFC 9449 §10.1: the code is bound to the key of the proof, which must be that of `dpop_jkt`. */
function bind(request: AuthorizationRequest, proof: GoodProof | undefined): AuthorizationRequest {
  if (proof === undefined) return request
  if (request.boundKey !== undefined && request.boundKey !== proof.thumbprint)
    throw refuse('invalid_dpop_proof', 'The DPoP proof is by another key than that of dpop_jkt')
  return { ...request, boundKey: proof.thumbprint }
}

function hasPlace(client: Client, { address }: ClientRequest, { networks, pushed }: PushEnv): boolean {
  if (!client.public) return true
  const budget = { requests: MOST_OF_NETWORK, seconds: pushed.lifetimeMs / 1000 }
  return networks.take(JSON.stringify([client.id, addressNetwork(address)]), budget).allowed
}

/** RFC 9126 §2.3. */
function tooMany({ pushed }: PushedAuthorizationEnv): Refusal {
  return refuse('temporarily_unavailable', 'The client has too many pushed requests that were not answered', {
    status: 429,
    headers: { 'retry-after': String(Math.ceil(pushed.lifetimeMs / 1000)) },
  })
}

function recordRefusal(
  error: unknown,
  form: FormParameters,
  client: Client,
  caller: ClientRequest,
  { audit, metrics }: PushedAuthorizationEnv,
): void {
  if (!(error instanceof Refusal)) return
  metrics.count('gatehouse_pushed_requests_total', { outcome: error.code })
  audit.record({
    event: 'authorization.refused',
    client: client.id,
    address: caller.address,
    requestId: caller.id,
    details: {
      error: error.code,
      reason: error.message,
      response_type: form.get('response_type')?.slice(0, 100),
    },
  })
}

/** RFC 9126 §2.3: the errors of the authorization endpoint too, as the token endpoint would reply. */
export function replyWithPushError(context: Context, error: unknown): void {
  const isOther = !(error instanceof Refusal) || isOAuthError(error.code) || !isAuthorizationError(error.code)
  if (isOther) {
    replyWithOAuthError(context, error)
    return
  }
  if (error.cause !== undefined) context.log.info({ code: error.code, why: String(error.cause) }, 'refused')
  context.json({ error: error.code, error_description: printable(error.message) }, error.status)
}
