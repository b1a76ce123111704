/** What every FAPI 2.0 module demands of the provider's answers. Warnings of the suite count as failures. */
import assert from 'node:assert/strict'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { checkClaimTypes, halfHash } from '../../support/id-token.ts'
import type { Reply } from './http.ts'
import type { Bench, End, Party, PartyParameters } from './party.ts'

/** The algorithms that FAPI 2.0 allows (Security Profile §5.4.1). */
export const ALGS = ['PS256', 'ES256', 'EdDSA']

/** RFC 6749 §5.2: what error_description may consist of. */
const DESCRIPTION = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/

/** RFC 9126 §2.2. */
export function checkPushed(reply: Reply): { requestUri: string; expiresIn: number } {
  const { status, json, text } = reply
  assert.equal(status, 201, text)
  checkJson(reply)
  const { request_uri: requestUri, expires_in: expiresIn } = json
  assert.ok(typeof requestUri === 'string', `request_uri ${requestUri}`)
  assertUnguessable(requestUri.replace(/^.*:/, ''), 'RFC 9126 §7.1: request_uri')
  assert.ok(Number.isInteger(expiresIn) && Number(expiresIn) >= 5, `expires_in ${expiresIn}`)
  return { requestUri, expiresIn: Number(expiresIn) }
}

/** By Shannon's measure, which a text of few different characters fails. */
function assertUnguessable(text: string, name: string): void {
  let bits = 0
  for (const character of new Set(text)) {
    const share = (text.split(character).length - 1) / text.length
    bits -= text.length * share * Math.log2(share)
  }
  assert.ok(bits >= 128, `${name} has ${Math.floor(bits)} bits`)
}

/** A refusal by the endpoint for pushed requests: 400 and one of these errors. */
export function checkPushRefused(reply: Reply, errors: readonly string[]): void {
  checkRefused(reply, errors, [400])
}

/** A refused client: 401, or 400. */
export function checkClientRefused(reply: Reply, errors = ['invalid_client', 'invalid_request']): void {
  checkRefused(reply, errors, reply.json.error === 'invalid_client' ? [400, 401] : [400])
}

export function checkRefused(reply: Reply, errors: readonly string[], statuses: readonly number[] = [400]): void {
  const { status, json, text } = reply
  assert.ok(errors.includes(String(json.error)), `expected ${errors.join(' or ')}: ${status} ${text}`)
  assert.ok(statuses.includes(status), `status ${status}: ${text}`)
  checkJson(reply)
  assert.match(String(json.error_description ?? 'none'), DESCRIPTION)
  if (json.error_uri !== undefined) new URL(String(json.error_uri))
}

function checkJson({ headers }: Reply): void {
  assert.match(headers['content-type'] ?? '', /^application\/json/)
  if (headers['cache-control'] !== undefined) assert.match(headers['cache-control'], /no-store/)
}

/** The members of the authorization response, from the query or from the JWT in it. */
export async function readResponse(bench: Bench, party: Party, end: End): Promise<ReadonlyMap<string, string>> {
  if (end.kind === 'page') assert.fail(`a page instead of a response: ${end.status} ${end.url.href} ${end.body}`)
  assert.equal(end.method, 'GET')
  const registered = new URL(party.client.redirectUri)
  assert.equal(end.url.origin + end.url.pathname, registered.origin + registered.pathname)
  assert.equal(end.url.hash, '', 'nothing is in the fragment')
  const query = new Map(end.url.searchParams)
  assert.equal(query.size, [...end.url.searchParams].length, 'a parameter is repeated')
  for (const [name, value] of registered.searchParams) {
    assert.equal(query.get(name), value, name)
    query.delete(name)
  }
  if (!bench.plan.jarm) return query
  assert.deepEqual([...query.keys()], ['response'], 'the response is in the JWT alone')
  return readJarm(bench, party, query.get('response') ?? '')
}

/** JARM §2.1, §2.4. */
async function readJarm(bench: Bench, party: Party, jwt: string): Promise<ReadonlyMap<string, string>> {
  const { payload, protectedHeader } = await verify(bench, jwt, party.client.id)
  assert.equal(typeof protectedHeader.kid, 'string')
  const now = bench.target.now() / 1000
  const { iss, aud, exp = 0, iat, nbf, jti, sub, ...members } = payload
  assert.ok(exp >= now + 10 && exp <= now + 900, `exp ${exp} at ${now}`)
  for (const value of Object.values(members)) assert.equal(typeof value, 'string')
  return new Map(Object.entries({ ...members, iss }).map(([name, value]) => [name, String(value)]))
}

export function checkGranted(bench: Bench, request: PartyParameters, response: ReadonlyMap<string, string>): string {
  assert.equal(response.get('error'), undefined, response.get('error_description'))
  for (const name of response.keys()) assert.ok(['code', 'state', 'session_state', 'iss'].includes(name), name)
  assert.equal(response.get('state'), request.state, 'state')
  assert.equal(response.get('iss'), bench.metadata.issuer, 'iss')
  const code = response.get('code') ?? ''
  assertUnguessable(code, 'RFC 6749 §10.10: code')
  return code
}

export function checkDenied(
  bench: Bench,
  request: PartyParameters,
  response: ReadonlyMap<string, string>,
  errors: readonly string[],
): void {
  const error = response.get('error') ?? 'none'
  assert.ok(errors.includes(error), `error ${error}: ${response.get('error_description')}`)
  const known = ['error', 'error_description', 'error_uri', 'state', 'session_state', 'iss']
  for (const name of response.keys()) assert.ok(known.includes(name), name)
  assert.match(response.get('error_description') ?? 'none', DESCRIPTION)
  assert.equal(response.get('state'), request.state, 'state')
  assert.equal(response.get('iss'), bench.metadata.issuer, 'RFC 9207 §2: iss')
}

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly idToken: Readonly<Record<string, unknown>> | undefined
}

/** RFC 6749 §5.1, RFC 9449 §5, and the ID token where there must be one. */
export async function checkTokens(
  bench: Bench,
  party: Party,
  reply: Reply,
  request?: PartyParameters,
): Promise<Tokens> {
  const { status, json, text } = reply
  assert.equal(status, 200, text)
  checkJson(reply)
  const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken, expires_in: expiresIn } = json
  assert.match(String(accessToken), /^[\x21-\x7e]+$/)
  assert.equal(String(json.token_type).toLowerCase(), 'dpop')
  assert.ok(Number.isInteger(expiresIn) && Number(expiresIn) > 0, `expires_in ${expiresIn}`)
  assertUnguessable(String(accessToken), 'access_token')
  if (refreshToken !== undefined) {
    assert.match(String(refreshToken), /^[\x20-\x7e]+$/)
    assertUnguessable(String(refreshToken), 'RFC 6749 §10.10: refresh_token')
  }
  if (bench.plan.credentials) assert.equal(refreshToken, undefined, 'RFC 6749 §4.4.3')
  if (!bench.plan.openid) assert.equal(idToken, undefined, 'an ID token without openid')
  else if (request !== undefined) assert.equal(typeof idToken, 'string', 'id_token')
  return {
    accessToken: String(accessToken),
    refreshToken: refreshToken === undefined ? undefined : String(refreshToken),
    idToken: typeof idToken === 'string' ? await checkIdToken(bench, party, idToken, json, request) : undefined,
  }
}

async function checkIdToken(
  bench: Bench,
  party: Party,
  jwt: string,
  { access_token: accessToken }: Reply['json'],
  request: PartyParameters | undefined,
): Promise<Record<string, unknown>> {
  const { payload, protectedHeader } = await verify(bench, jwt, party.client.id)
  assert.equal(typeof protectedHeader.kid, 'string')
  assert.equal(typeof payload.sub, 'string')
  for (const name of ['exp', 'iat']) assert.ok(Number.isInteger(payload[name]), name)
  if (request !== undefined) assert.equal(payload.nonce, request.nonce, 'nonce')
  if (payload.at_hash !== undefined) assert.equal(payload.at_hash, halfHash(String(accessToken)), 'at_hash')
  checkClaimTypes(payload)
  return payload
}

/** Whether the JWT is signed for the client by a published key with an algorithm that FAPI 2.0 allows. */
async function verify({ metadata, target }: Bench, jwt: string, audience: string) {
  const keys = (await (await fetch(metadata.jwks_uri)).json()) as JSONWebKeySet
  const currentDate = new Date(target.now())
  return jwtVerify(jwt, createLocalJWKSet(keys), { issuer: metadata.issuer, audience, algorithms: ALGS, currentDate })
}

/** A resource request that is accepted. */
export function checkServed({ status, headers, text }: Reply): void {
  assert.ok(status === 200 || status === 201, `status ${status}: ${text}`)
  assert.ok(headers.date, 'RFC 9110 §6.6.1: Date')
}

/** An error page, or the error that the suite accepts in its place. */
export async function checkNotOpened(bench: Bench, party: Party, end: End, errors: readonly string[]): Promise<void> {
  if (end.kind === 'page') {
    assert.ok(end.status >= 400 && end.status < 500, `status ${end.status}: ${end.body}`)
    assert.match(end.headers.get('content-type') ?? '', /^text\/html/)
    return
  }
  const plain = end.url.searchParams.get('error')
  const error = plain ?? (await readResponse(bench, party, end)).get('error') ?? 'none'
  assert.ok(errors.includes(error), `error ${error}`)
}
