/** Request objects (OpenID Connect Core §6.1, RFC 9101): signed parameters, which take precedence over those of the query. */

import type { Clock } from 'gatehouse-protocol'
import type { JWTPayload } from 'jose'
import type { Client } from '../../store/clients/client-metadata.ts'
import { refuse } from './authorization-error.ts'
import type { RequestParameters } from './request.ts'

export interface RequestObjectEnv {
  readonly issuer: string
  readonly clock: Clock
}

const MAX_LENGTH = 16 * 1024
const ACCEPTED_TYPES: readonly unknown[] = [undefined, 'JWT', 'jwt', 'oauth-authz-req+jwt']
const JWT_CLAIMS = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'sub'])
/** OpenID Connect Core §6.1: in a request object these are JSON values, not strings that contain JSON. */
const JSON_PARAMETERS = new Set(['claims', 'registration'])
/** Parameters that must be a string or a number. Unknown members may have any type. */
const TEXT_PARAMETERS = new Set([
  ...['client_id', 'response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'nonce', 'prompt', 'max_age'],
  ...['code_challenge', 'code_challenge_method', 'id_token_hint', 'login_hint', 'ui_locales'],
])
const SKEW_SECONDS = 60

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
  if (object === undefined) return outer
  if (outer.repeated.has('request')) throw refuse('invalid_request', 'request is repeated')
  const payload = await verify(object, client, env)
  const inner = readInner(payload)
  const resources = readResourceClaim(payload)
  for (const name of ['client_id', 'response_type']) {
    const inside = inner.get(name)
    const outside = outer.get(name)
    if (inside !== undefined && outside !== undefined && inside !== outside)
      throw refuse('invalid_request_object', `${name} in the request object differs from the parameter`)
  }
  return {
    get: (name) => (name === 'request' ? undefined : (inner.get(name) ?? outer.get(name))),
    repeated: new Set([...outer.repeated].filter((name) => !inner.has(name))),
    all: (name) => (name === 'resource' ? (resources ?? outer.all(name)) : outer.all(name)),
  }
}

/** Only RS256 with a registered key: the header may select the key, never the algorithm (C-101). */
async function verify(object: string, client: Client, { issuer, clock }: RequestObjectEnv): Promise<JWTPayload> {
  if (object.length > MAX_LENGTH) throw refuse('invalid_request_object', 'The request object is too large')
  const { createLocalJWKSet, jwtVerify } = await import('jose')
  try {
    const keys = createLocalJWKSet({ keys: client.jwks.filter(isRsaKey) })
    const { payload, protectedHeader } = await jwtVerify(object, keys, {
      algorithms: ['RS256'],
      currentDate: new Date(clock()),
      clockTolerance: SKEW_SECONDS,
    })
    if (!ACCEPTED_TYPES.includes(protectedHeader.typ)) throw new Error(`typ is ${String(protectedHeader.typ)}`)
    if (payload.iss !== undefined && payload.iss !== client.id) throw new Error('iss is not the client')
    if (payload.aud !== undefined && ![payload.aud].flat().includes(issuer)) throw new Error('aud is not this server')
    return payload
  } catch (error) {
    throw refuse('invalid_request_object', 'The request object is not valid', error)
  }
}

function isRsaKey(key: Readonly<Record<string, unknown>>): key is Readonly<Record<string, unknown>> & { kty: string } {
  return key.kty === 'RSA'
}

/** RFC 9101 §4, RFC 8707 §2: one resource, or several as an array. */
function readResourceClaim({ resource }: JWTPayload): readonly string[] | undefined {
  if (resource === undefined || resource === '') return undefined
  const values: readonly unknown[] = Array.isArray(resource) ? resource : [resource]
  const texts = values.filter((value) => typeof value === 'string')
  if (texts.length < values.length)
    throw refuse('invalid_request_object', 'resource must be a string or an array of strings')
  return texts
}

function readInner(payload: JWTPayload): ReadonlyMap<string, string> {
  const inner = new Map<string, string>()
  for (const [name, value] of Object.entries(payload)) {
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
