/** OpenID Connect Core §6.1, RFC 9101: parameters signed by the client; what is inside wins over what is outside. */
import type { JWTPayload } from 'jose'
import type { Clock } from '../../protocol/clock.ts'
import type { Client } from '../../store/client-metadata.ts'
import { refuse } from './refuse.ts'
import type { RequestParameters } from './request.ts'

export interface RequestObjectEnv {
  readonly issuer: string
  readonly clock: Clock
}

const LONGEST = 16 * 1024
const TYPES: readonly unknown[] = [undefined, 'JWT', 'jwt', 'oauth-authz-req+jwt']
const NOT_PARAMETERS = new Set(['iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'sub'])
/** OpenID Connect Core §6.1: inside a request object these are JSON, not text that holds JSON. */
const OBJECTS = new Set(['claims', 'registration'])
/** What is read from a request as text or a number. Members of other names may be anything. */
const TEXTS = new Set([
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
    if (object !== undefined) throw refuse('invalid_request', 'request and request_uri exclude one another')
    throw refuse('request_uri_not_supported', 'A request object is taken by value only')
  }
  if (object === undefined) return outer
  if (outer.repeated.has('request')) throw refuse('invalid_request', 'request came more than once')
  const inner = readInner(await verify(object, client, env))
  for (const name of ['client_id', 'response_type']) {
    const inside = inner.get(name)
    const outside = outer.get(name)
    if (inside !== undefined && outside !== undefined && inside !== outside)
      throw refuse('invalid_request_object', `${name} inside the request object differs from the one outside`)
  }
  return {
    get: (name) => (name === 'request' ? undefined : (inner.get(name) ?? outer.get(name))),
    repeated: new Set([...outer.repeated].filter((name) => !inner.has(name))),
  }
}

/** Only RS256 by a registered key will do: the header may choose among the keys, never the algorithm (C-101). */
async function verify(object: string, client: Client, { issuer, clock }: RequestObjectEnv): Promise<JWTPayload> {
  if (object.length > LONGEST) throw refuse('invalid_request_object', 'The request object is too large')
  const { createLocalJWKSet, jwtVerify } = await import('jose')
  try {
    const keys = createLocalJWKSet({ keys: client.jwks.filter(isRsaKey) })
    const { payload, protectedHeader } = await jwtVerify(object, keys, {
      algorithms: ['RS256'],
      currentDate: new Date(clock()),
      clockTolerance: SKEW_SECONDS,
    })
    if (!TYPES.includes(protectedHeader.typ)) throw new Error(`typ is ${String(protectedHeader.typ)}`)
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

function readInner(payload: JWTPayload): ReadonlyMap<string, string> {
  const inner = new Map<string, string>()
  for (const [name, value] of Object.entries(payload)) {
    if (name === 'request' || name === 'request_uri')
      throw refuse('invalid_request_object', `A request object holds no ${name}`)
    // B-15: an empty value is none, inside as outside.
    if (NOT_PARAMETERS.has(name) || value === '') continue
    if (typeof value === 'string') inner.set(name, value)
    else if (typeof value === 'number' || typeof value === 'boolean') inner.set(name, String(value))
    else if (OBJECTS.has(name)) inner.set(name, JSON.stringify(value))
    // RFC 6749 §3.1: what is not recognized is ignored.
    else if (TEXTS.has(name)) throw refuse('invalid_request_object', `${name} has a type that no parameter has`)
  }
  return inner
}
