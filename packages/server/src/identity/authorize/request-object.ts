/** Request objects (OpenID Connect Core §6.1, RFC 9101): signed parameters, which take precedence over those of the query. */
import type { Clock } from 'gatehouse-protocol'
import type { Client } from '../../store/clients/client-metadata.ts'
import { acceptedAlgs, type ClientKeys } from '../clients/client-keys.ts'
import { JwtFault, verifyForeignJwt } from '../remote-keys/foreign-jwt.ts'
import { DocumentUnavailable } from '../remote-keys/remote-documents.ts'
import type { Claims } from '../tokens/jwt.ts'
import { refuse } from './authorization-error.ts'
import type { RequestParameters } from './request.ts'

export interface RequestObjectEnv {
  readonly issuer: string
  readonly clock: Clock
  readonly clientKeys: ClientKeys
}

const MAX_LENGTH = 16 * 1024
const ACCEPTED_TYPES: readonly unknown[] = [undefined, 'jwt', 'oauth-authz-req+jwt']
const JWT_CLAIMS = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'sub'])
/** OpenID Connect Core §6.1: in a request object these are JSON values, not strings that contain JSON. */
const JSON_PARAMETERS = new Set(['claims', 'registration'])
/** Parameters that must be a string or a number. Unknown members may have any type. */
const TEXT_PARAMETERS = new Set([
  ...['client_id', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce', 'prompt', 'max_age'],
  ...['code_challenge', 'code_challenge_method', 'dpop_jkt', 'id_token_hint', 'login_hint', 'ui_locales'],
  ...['acr_values', 'claims_locales', 'display'],
])
const SKEW_SECONDS = 60
/** How far the clock of a client with the FAPI profile may be ahead of this server's. */
const FAPI_AHEAD_SECONDS = 15
const LONGEST_SECONDS = 3600

export async function openRequestObject(
  outer: RequestParameters,
  client: Client,
  env: RequestObjectEnv,
): Promise<RequestParameters> {
  const object = outer.get('request')
  if (outer.get('request_uri') !== undefined) {
    if (object !== undefined) throw refuse('invalid_request', 'request and request_uri must not be combined')
    throw refuse('request_uri_not_supported', 'Request objects are accepted by value only')
  }
  if (object === undefined) {
    if (client.requireSignedRequest) throw refuse('invalid_request', 'This client must send a signed request object')
    return outer
  }
  if (outer.repeated.has('request')) throw refuse('invalid_request', 'request is repeated')
  const claims = await verify(object, client, env)
  const inner = readInner(claims)
  const resources = readResourceClaim(claims)
  const isWhole = client.requireSignedRequest || client.profile === 'fapi2'
  if (isWhole && !inner.has('client_id'))
    throw refuse('invalid_request_object', 'client_id is missing in the request object')
  if (inner.has('client_id') && inner.get('client_id') !== client.id)
    throw refuse('invalid_request_object', 'client_id in the request object differs from the parameter')
  if (isWhole) return onlySigned(inner, resources)
  const [inside, outside] = [inner.get('response_type'), outer.get('response_type')]
  if (inside !== undefined && outside !== undefined && inside !== outside)
    throw refuse('invalid_request_object', 'response_type in the request object differs from the parameter')
  return {
    get: (name) => (name === 'request' ? undefined : (inner.get(name) ?? outer.get(name))),
    repeated: new Set([...outer.repeated].filter((name) => !inner.has(name))),
    all: (name) => (name === 'resource' ? (resources ?? outer.all(name)) : outer.all(name)),
  }
}

/** RFC 9101 §6.3: parameters outside the request object count for nothing. */
function onlySigned(inner: ReadonlyMap<string, string>, resources: readonly string[] = []): RequestParameters {
  return {
    get: (name) => inner.get(name),
    repeated: new Set(),
    all: (name) => (name === 'resource' ? resources : [inner.get(name) ?? []].flat()),
  }
}

/** The header may select the key; the registration of the client decides about the algorithm (C-101). */
async function verify(object: string, client: Client, env: RequestObjectEnv): Promise<Claims> {
  if (object.length > MAX_LENGTH) throw refuse('invalid_request_object', 'The request object is too large')
  try {
    const keys = await env.clientKeys(client)
    const { header, claims } = await verifyForeignJwt(object, keys, acceptedAlgs(client.requestObjectAlg, client))
    checkType(header.typ)
    const isFapi = client.profile === 'fapi2'
    checkTimes(claims, env.clock() / 1000)
    if (isFapi) checkFapiTimes(claims, env.clock() / 1000)
    if (claims.iss !== undefined && claims.iss !== client.id) throw new JwtFault('iss is not the client')
    const isForUs = claims.aud === undefined ? !isFapi : [claims.aud].flat().includes(env.issuer)
    if (!isForUs) throw new JwtFault(claims.aud === undefined ? 'aud is missing' : 'aud is not this server')
    return claims
  } catch (error) {
    if (error instanceof JwtFault)
      throw refuse('invalid_request_object', `The request object is not valid: ${error.message}`, error)
    if (error instanceof DocumentUnavailable)
      throw refuse('invalid_request_object', 'The keys of the client could not be fetched', error)
    throw error
  }
}

/** RFC 8725 §3.11: no other kind of JWT is a request object. */
function checkType(type: unknown): void {
  const name = typeof type === 'string' ? type.toLowerCase().replace(/^application\//, '') : type
  if (!ACCEPTED_TYPES.includes(name)) throw new JwtFault('typ is that of another kind of token')
}

function checkTimes({ exp, nbf, iat }: Claims, now: number): void {
  for (const time of [exp, nbf, iat])
    if (time !== undefined && typeof time !== 'number') throw new JwtFault('exp, nbf or iat is not a number')
  if (typeof exp === 'number' && exp + SKEW_SECONDS <= now) throw new JwtFault('it has expired')
  if (typeof nbf === 'number' && nbf - SKEW_SECONDS > now) throw new JwtFault('nbf is in the future')
}

/** FAPI 2.0 Message Signing §5.3.1. */
function checkFapiTimes({ exp, nbf }: Claims, now: number): void {
  if (typeof nbf !== 'number') throw new JwtFault('nbf is missing')
  if (typeof exp !== 'number') throw new JwtFault('exp is missing')
  if (nbf > now + FAPI_AHEAD_SECONDS) throw new JwtFault('nbf is in the future')
  if (nbf < now - LONGEST_SECONDS) throw new JwtFault('nbf is more than an hour ago')
  if (exp > nbf + LONGEST_SECONDS) throw new JwtFault('exp is more than an hour after nbf')
  if (exp <= now) throw new JwtFault('it has expired')
}

/** RFC 9101 §4, RFC 8707 §2: one resource, or several as an array. */
function readResourceClaim({ resource }: Claims): readonly string[] | undefined {
  if (resource === undefined || resource === '') return undefined
  const values: readonly unknown[] = Array.isArray(resource) ? resource : [resource]
  const texts = values.filter((value) => typeof value === 'string')
  if (texts.length < values.length)
    throw refuse('invalid_request_object', 'resource must be a string or an array of strings')
  return texts
}

function readInner(claims: Claims): ReadonlyMap<string, string> {
  const inner = new Map<string, string>()
  for (const [name, value] of Object.entries(claims)) {
    if (name === 'request' || name === 'request_uri')
      throw refuse('invalid_request_object', `A request object must not contain ${name}`)
    // B-15: an empty value counts as absent, as in the query.
    if (JWT_CLAIMS.has(name) || value === '') continue
    if (typeof value === 'string') inner.set(name, value)
    else if (typeof value === 'number' || typeof value === 'boolean') inner.set(name, String(value))
    else if (JSON_PARAMETERS.has(name)) inner.set(name, JSON.stringify(value))
    // RFC 6749 §3.1: unrecognized parameters are ignored.
    else if (TEXT_PARAMETERS.has(name)) throw refuse('invalid_request_object', `${name} must be a string or a number`)
  }
  return inner
}
