/** The `claims` parameter (OpenID Connect Core §5.5): claims requested by name. */
import { isReservedClaim } from 'gatehouse-protocol'
import { parseJson } from '../../lib/exact-json.ts'
import { isDeeperThan } from '../../lib/json-depth.ts'
import type { ClaimsRequest, RequestedClaim } from '../../store/authorizations/grants.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import type { AttributeClaims } from '../attributes/attribute-claims.ts'
import { scopeOfClaim } from '../tokens/claims.ts'
import { refuse } from './authorization-error.ts'
import type { UncheckedRequest } from './request.ts'

/** A claim whose scope the client may not request is dropped: `claims` must not bypass the scopes. */
export function readClaims(
  { parameters, client }: UncheckedRequest,
  attributes: AttributeClaims,
): ClaimsRequest | undefined {
  const text = parameters.get('claims')
  if (text === undefined) return undefined
  const value = parse(text)
  if (!isObject(value)) throw refuse('invalid_request', 'claims must be a JSON object')
  const userinfo = readMember(value, 'userinfo', client, attributes)
  const idToken = readMember(value, 'id_token', client, attributes)
  return {
    ...(userinfo === undefined ? {} : { userinfo }),
    ...(idToken === undefined ? {} : { id_token: idToken }),
  }
}

/** The users that `claims` and the hint allow; undefined when they allow every user. */
export function readSubjects(
  claims: ClaimsRequest | undefined,
  hinted: string | undefined,
): readonly string[] | undefined {
  const allowed = [claims?.id_token?.sub, claims?.userinfo?.sub].flatMap(allowedSubjects)
  if (hinted !== undefined) allowed.push([hinted])
  const [first, ...others] = allowed
  if (first === undefined) return undefined
  const left = others.reduce((common, subjects) => {
    const allowedToo = new Set(subjects)
    return common.filter((subject) => allowedToo.has(subject))
  }, first)
  if (left.length === 0) throw refuse('invalid_request', 'claims and id_token_hint exclude every user')
  return left
}

function allowedSubjects(claim: RequestedClaim | undefined): string[][] {
  const { value, values = value === undefined ? undefined : [value] } = claim ?? {}
  return values === undefined ? [] : [values.filter((subject) => typeof subject === 'string')]
}

/** The scopes that grant the requested claims: the user must have consented to them. */
export function scopesOfClaims(claims: ClaimsRequest | undefined, attributes: AttributeClaims): string[] {
  const names = Object.keys({ ...claims?.userinfo, ...claims?.id_token })
  return [...new Set(names.flatMap((name) => scopeOfClaim(name, attributes) ?? []))]
}

/** The `acr` values that satisfy an essential request (§5.5.1.1); undefined when every value does. */
export function essentialAcr(claims: ClaimsRequest | undefined): readonly unknown[] | undefined {
  const claim = claims?.id_token?.acr
  if (claim?.essential !== true) return undefined
  if (claim.values !== undefined) return claim.values
  return claim.value === undefined ? undefined : [claim.value]
}

const MAX_DEPTH = 32

function parse(text: string): unknown {
  // It is stored with the grant, and a value nested too deep could not be serialized again.
  if (isDeeperThan(text, MAX_DEPTH)) throw refuse('invalid_request', `claims nests more than ${MAX_DEPTH} levels deep`)
  try {
    return parseJson(text)
  } catch {
    throw refuse('invalid_request', 'claims is not JSON')
  }
}

function readMember(
  claims: Readonly<Record<string, unknown>>,
  name: 'userinfo' | 'id_token',
  client: Client,
  attributes: AttributeClaims,
): Record<string, RequestedClaim> | undefined {
  const member = claims[name]
  if (member === undefined || member === null) return undefined
  if (!isObject(member)) throw refuse('invalid_request', `claims.${name} must be an object`)
  const requested = Object.entries(member).map(([claim, value]) => [claim, readRequestedClaim(value)] as const)
  // An unknown claim is not kept: an attribute that is declared later could have its name.
  const isKnown = (claim: string) => isReservedClaim(claim) || attributes.has(claim)
  return Object.fromEntries(
    requested.filter(([claim]) => isKnown(claim) && client.scopes.has(scopeOfClaim(claim, attributes) ?? 'openid')),
  )
}

function readRequestedClaim(claim: unknown): RequestedClaim {
  if (claim === null) return null
  if (!isObject(claim)) throw refuse('invalid_request', 'Each requested claim must be null or an object')
  const { essential, value, values } = claim
  if (essential !== undefined && typeof essential !== 'boolean')
    throw refuse('invalid_request', 'essential must be true or false')
  if (values !== undefined && !Array.isArray(values)) throw refuse('invalid_request', 'values must be an array')
  return {
    ...(essential === undefined ? {} : { essential }),
    ...(value === undefined ? {} : { value }),
    ...(values === undefined ? {} : { values }),
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
