/**
 * The request of a client to an OAuth endpoint: its form (RFC 6749 §3.2), its proof of a key (RFC 9449), and the authentication of the client
 * (RFC 6749 §2.3) by client_secret_basic, client_secret_post, an assertion (RFC 7523), or `none` for public clients.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { readProof } from '../../http/request/authentication.ts'
import { type FormParameters, isForm, readParameters } from '../../http/request/body.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { AuthMethod, Client } from '../../store/clients/client-metadata.ts'
import { secretDigest } from '../../store/clients/clients.ts'
import { digestSecret } from '../../store/keys/opaque.ts'
import type { Dpop, GoodProof } from '../dpop/dpop.ts'
import { refuse, repeatedText } from '../oauth-error.ts'
import { parseJwt } from '../tokens/jwt.ts'
import type { ClientDirectory } from './client-directory.ts'

export interface ClientAuthEnv {
  readonly clients: ClientDirectory
  readonly secretThrottle: SecretThrottle
  readonly rateLimits: Pick<RateLimits, 'countCaller'>
  /** What is wrong with the assertion of a client; undefined if nothing is. */
  readonly assertionFault: (assertion: string, client: Client, namesClient: boolean) => Promise<string | undefined>
  readonly audit: Audit
  readonly clock: Clock
}

/** What an OAuth endpoint uses of a request, besides its form. */
export type ClientRequest = Pick<Context, 'address' | 'id' | 'headers' | 'identify' | 'method' | 'path' | 'setHeader'>

interface Credentials {
  readonly method: AuthMethod
  readonly clientId: string
  /** The possible decodings of the secret; empty for a public client. */
  readonly secrets: readonly string[]
  readonly assertion?: { readonly text: string; readonly namesClient: boolean }
}

/** C-41, C-43: the body is a form, and each parameter occurs once, except `resource` where the endpoint has it (RFC 8707 §2). */
export function readForm(context: Context, repeatable?: 'resource'): FormParameters {
  if (!isForm(context)) throw refuse('invalid_request', 'The body must be application/x-www-form-urlencoded')
  const form = readParameters(String(context.body))
  const repeated = new Set([...form.repeated].filter((name) => name !== repeatable))
  if (repeated.size > 0) throw refuse('invalid_request', repeatedText(repeated))
  return form
}

export function required(form: FormParameters, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw refuse('invalid_request', `The parameter ${name} is missing`)
  return value
}

export interface ProofEnv extends Pick<ClientAuthEnv, 'clients'> {
  readonly dpop: () => Promise<Dpop>
}

/**
 * The DPoP proof of the request (RFC 9449 §5, §10.1), which comes before the client is authenticated; undefined without one. It is not used
 * up yet: a request that is answered with a nonce is repeated with the same assertion.
 */
export async function checkProof(
  request: ClientRequest,
  form: FormParameters,
  env: ProofEnv,
): Promise<GoodProof | undefined> {
  const proof = readProof(request)
  if (proof === undefined) return undefined
  const { method, path, address, id: requestId } = request
  const { clientId, method: authMethod } = readCredentials(request.headers.authorization, form)
  const known = await env.clients.find(clientId)
  const dpop = await env.dpop()
  const given = { proof, method, path, clientId: known?.id, address, requestId, isPublic: authMethod === 'none' }
  const good = await dpop.checkAtEndpoint(given)
  if (good.nonce !== undefined) request.setHeader('dpop-nonce', good.nonce)
  return good
}

export async function authenticateClient(
  request: ClientRequest,
  form: FormParameters,
  env: ClientAuthEnv,
): Promise<Client> {
  const credentials = readCredentials(request.headers.authorization, form)
  const { clientId, method } = credentials
  // A signature cannot be guessed.
  const isGuessable = method !== 'none' && method !== 'private_key_jwt'
  const retryAfter = !isGuessable ? 0 : env.secretThrottle.retryAfter(clientId, request.address)
  if (retryAfter > 0) {
    throw refuse('temporarily_unavailable', 'Too many failed attempts', {
      status: 429,
      headers: { 'retry-after': String(retryAfter) },
    })
  }
  const client = await env.clients.find(clientId)
  if (client !== undefined) request.identify({ client: client.id })
  const fault = await findFault(credentials, client, env)
  if (client !== undefined && fault === undefined) {
    env.rateLimits.countCaller('token', request.address, { client: client.id })
    return client
  }
  if (isGuessable) env.secretThrottle.recordFailure(clientId, request.address)
  // An unknown client was looked up in the store; a known one came from the cache.
  if (client !== undefined) await env.clients.spendLookupTime(clientId)
  env.audit.record({
    event: 'client.refused',
    ...(client === undefined ? {} : { client: client.id }),
    address: request.address,
    requestId: request.id,
    details: { method, reason: fault },
  })
  // An unknown id is not repeated: it may be a secret in the wrong place.
  throw notAuthenticated(`client authentication by ${method}: ${fault}`)
}

/** Why the client is not authenticated; undefined if it is. */
async function findFault(
  { method, clientId, secrets, assertion }: Credentials,
  client: Client | undefined,
  env: ClientAuthEnv,
): Promise<string | undefined> {
  const now = env.clock()
  // Compare every secret even for an unknown client: the response time must not reveal whether it exists.
  const secretIsRight = secrets.map((secret) => secretMatches(client, clientId, secret, now)).includes(true)
  if (client === undefined) return 'unknown client'
  if (client.disabled) return 'disabled'
  if (assertion !== undefined) return env.assertionFault(assertion.text, client, assertion.namesClient)
  if (!client.authMethods.has(method)) return 'method not registered'
  return (method === 'none' ? client.public : secretIsRight) ? undefined : 'wrong or expired secret'
}

/** Which client the request is of, and how it authenticates; throws if it says neither. */
function readCredentials(authorization: string | undefined, form: FormParameters): Credentials {
  const clientId = form.get('client_id')
  const secret = form.get('client_secret')
  const assertion = form.get('client_assertion')
  if (assertion !== undefined && (authorization !== undefined || secret !== undefined))
    throw refuse('invalid_request', 'The client used more than one authentication method')
  if (assertion !== undefined) return readAssertion(assertion, form)
  if (authorization !== undefined) {
    const basic = readBasic(authorization)
    if (basic === undefined) throw notAuthenticated('the Authorization header is not Basic credentials')
    if (secret !== undefined) throw refuse('invalid_request', 'The client used more than one authentication method')
    if (clientId !== undefined && clientId !== basic.clientId)
      throw refuse('invalid_request', 'client_id differs from the client in the Authorization header')
    return basic
  }
  if (clientId === undefined) throw notAuthenticated('the request names no client')
  return secret === undefined
    ? { method: 'none', clientId, secrets: [] }
    : { method: 'client_secret_post', clientId, secrets: [secret] }
}

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** RFC 7521 §4.2: without a client_id the client is the subject. */
function readAssertion(text: string, form: FormParameters): Credentials {
  if (form.get('client_assertion_type') !== JWT_BEARER)
    throw refuse('invalid_request', `client_assertion_type must be ${JWT_BEARER}`)
  const named = form.get('client_id')
  const clientId = named ?? parseJwt(text)?.claims.sub
  if (typeof clientId !== 'string') throw notAuthenticated('the assertion names no client')
  return { method: 'private_key_jwt', clientId, secrets: [], assertion: { text, namesClient: named !== undefined } }
}

/** RFC 6749 §2.3.1: both parts are form-encoded. Many clients forget that, so the secret is also accepted as it is. */
function readBasic(authorization: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 1 || /\0|%00/.test(text)) return undefined
  const id = text.slice(0, colon)
  const secret = text.slice(colon + 1)
  const clientId = formDecoded(id) ?? id
  // RFC 6749 §2.3.1: an empty secret counts as omitted. Some public clients identify themselves this way.
  if (secret === '') return { method: 'none', clientId, secrets: [] }
  const decoded = formDecoded(secret)
  return {
    method: 'client_secret_basic',
    clientId,
    secrets: decoded === undefined || decoded === secret ? [secret] : [decoded, secret],
  }
}

function formDecoded(text: string): string | undefined {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** C-47: the same reply for an unknown client and a wrong secret. */
function notAuthenticated(why: string) {
  return refuse('invalid_client', 'The client could not be authenticated', {
    why,
    headers: { 'www-authenticate': 'Basic realm="gatehouse", charset="UTF-8"' },
  })
}

type StoredSecret = Client['secrets'][number]

/**
 * The secret that last authenticated each client: comparing it costs a tenth of its digest, which is a tenth of an introspection
 * (`npm run bench -- introspection`). Dropped with the client, which is a new object when anything about it changes.
 */
const lastVerified = new WeakMap<Client, { readonly secret: Uint8Array; readonly stored: StoredSecret }>()

/** Compares with every valid secret, each in constant time. An unknown client takes as long as a wrong secret. */
export function secretMatches(client: Client | undefined, clientId: string, secret: string, now: number): boolean {
  const last = client === undefined ? undefined : lastVerified.get(client)
  if (last !== undefined && isValid(last.stored, now) && isEqual(last.secret, Buffer.from(secret))) return true
  const digest = Buffer.from(secretDigest(clientId, secret))
  const valid = (client?.secrets ?? []).filter((stored) => isValid(stored, now))
  const [matching] = valid.filter((stored) => isEqual(Buffer.from(stored.digest), digest))
  // Not a Buffer: short ones are slices, each of which keeps its whole pool.
  if (client !== undefined && matching !== undefined)
    lastVerified.set(client, { secret: new TextEncoder().encode(secret), stored: matching })
  return matching !== undefined
}

function isValid({ expiresAt }: StoredSecret, now: number): boolean {
  return expiresAt === undefined || now < expiresAt
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

export type SecretThrottle = ReturnType<typeof createSecretThrottle>

const FREE_FAILURES = 10
const MAX_WAIT_MS = 60_000
const FORGET_MS = 15 * 60_000
const MAX_TRACKED = 20_000

/**
 * Slows down guessing of client secrets per client and address: the client itself, at another address, is not affected. In memory,
 * separately on each node: secrets are too long to be guessed, even with the attempts of all nodes together.
 */
export function createSecretThrottle(clock: Clock) {
  const failures = new LruMap<{ readonly count: number; readonly at: number }>(MAX_TRACKED)
  return {
    /** Seconds until the next attempt is allowed; 0 when it is allowed now. */
    retryAfter(clientId: string, address: string): number {
      if (failures.size === 0) return 0
      const known = failures.get(throttleKey(clientId, address))
      if (known === undefined || known.count < FREE_FAILURES) return 0
      const wait = Math.min(MAX_WAIT_MS, 1000 * 2 ** (known.count - FREE_FAILURES))
      const now = clock()
      // If the clock was set back, no one must wait longer.
      return Math.max(0, Math.ceil((Math.min(known.at, now) + wait - now) / 1000))
    },
    recordFailure(clientId: string, address: string): void {
      const key = throttleKey(clientId, address)
      const known = failures.get(key)
      const now = clock()
      const count = known === undefined || now - known.at > FORGET_MS ? 1 : known.count + 1
      failures.set(key, { count, at: now })
    },
  }
}

/** A digest bounds the memory: a client_id from a request can be very long. */
function throttleKey(clientId: string, address: string): string {
  return digestSecret(`${address} ${clientId}`)
}
