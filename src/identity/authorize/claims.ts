/** OpenID Connect Core §5.5: single claims asked for by name. */
import type { Client } from '../../store/client-metadata.ts'
import type { ClaimsRequest, ClaimWish } from '../../store/grants.ts'
import { scopeOfClaim } from '../claims.ts'
import { refuse } from './refuse.ts'
import type { Ask } from './request.ts'

/** A claim by name is no way around the scope that opens it: one whose scope the client may not ask for is left out. */
export function readClaims({ parameters, client }: Ask): ClaimsRequest | undefined {
  const text = parameters.get('claims')
  if (text === undefined) return undefined
  const value = parse(text)
  if (!isObject(value)) throw refuse('invalid_request', 'claims must be a JSON object')
  const userinfo = readMember(value, 'userinfo', client)
  const idToken = readMember(value, 'id_token', client)
  return {
    ...(userinfo === undefined ? {} : { userinfo }),
    ...(idToken === undefined ? {} : { id_token: idToken }),
  }
}

/** The people of whom `claims` and the hint will have one; undefined when anybody will do. */
export function readSubjects(
  claims: ClaimsRequest | undefined,
  hinted: string | undefined,
): readonly string[] | undefined {
  const demands = [claims?.id_token?.sub, claims?.userinfo?.sub].flatMap(demandsOf)
  if (hinted !== undefined) demands.push([hinted])
  const [first, ...others] = demands
  if (first === undefined) return undefined
  const left = first.filter((subject) => others.every((demand) => demand.includes(subject)))
  if (left.length === 0) throw refuse('invalid_request', 'claims and id_token_hint leave nobody who could sign in')
  return left
}

function demandsOf(wish: ClaimWish | undefined): string[][] {
  const { value, values = value === undefined ? undefined : [value] } = wish ?? {}
  return values === undefined ? [] : [values.filter((subject) => typeof subject === 'string')]
}

/** The scopes under which a person is asked for the claims: who agreed to none of them has not agreed to these. */
export function scopesOfClaims(claims: ClaimsRequest | undefined): string[] {
  const names = Object.keys({ ...claims?.userinfo, ...claims?.id_token })
  return [...new Set(names.flatMap((name) => scopeOfClaim(name) ?? []))]
}

/** The `acr` values of which one must be reached (§5.5.1.1); undefined when any will do. */
export function essentialAcr(claims: ClaimsRequest | undefined): readonly unknown[] | undefined {
  const wish = claims?.id_token?.acr
  if (wish?.essential !== true) return undefined
  if (wish.values !== undefined) return wish.values
  return wish.value === undefined ? undefined : [wish.value]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refuse('invalid_request', 'claims is not JSON')
  }
}

function readMember(
  claims: Readonly<Record<string, unknown>>,
  name: string,
  client: Client,
): Record<string, ClaimWish> | undefined {
  const member = claims[name]
  if (member === undefined || member === null) return undefined
  if (!isObject(member)) throw refuse('invalid_request', `claims.${name} must be an object`)
  const wishes = Object.entries(member).map(([claim, wish]) => [claim, readWish(wish)] as const)
  return Object.fromEntries(wishes.filter(([claim]) => client.scopes.has(scopeOfClaim(claim) ?? 'openid')))
}

function readWish(wish: unknown): ClaimWish {
  if (wish === null) return null
  if (!isObject(wish)) throw refuse('invalid_request', 'Each claim is null or an object')
  const { essential, value, values } = wish
  if (essential !== undefined && typeof essential !== 'boolean')
    throw refuse('invalid_request', `essential of a claim must be true or false`)
  if (values !== undefined && !Array.isArray(values))
    throw refuse('invalid_request', 'values of a claim must be a list')
  return {
    ...(essential === undefined ? {} : { essential }),
    ...(value === undefined ? {} : { value }),
    ...(values === undefined ? {} : { values }),
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
