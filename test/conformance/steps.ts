/** Steps shared by the rows of parts B and C. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { ClientFixture } from '../support/providers/provider.ts'
import { person } from '../support/providers/provider.ts'
import type { Page } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'
import {
  type Answer,
  assertErrorPage,
  assertRedirected,
  type ResponsePart,
  randomText,
  readTokens,
  requestToken,
  type TokenAnswer,
  type Trial,
  type TrialParameters,
} from './trial.ts'

/** A row of parts B and C. It also runs on a certified provider unless `ours` is set. */
export interface RowTest {
  readonly id: string
  readonly name: string
  /** The certified provider legitimately behaves differently, or does not support it. */
  readonly ours?: true
  readonly run: (trial: Trial) => Promise<unknown>
}

export async function answer(
  trial: Trial,
  changes: TrialParameters = {},
  how: 'GET' | 'POST' = 'GET',
): Promise<Answer> {
  const got = await trial.authorize(changes, how)
  assertRedirected(got)
  return got
}

export function responsePart({ left }: Answer): ResponsePart {
  return left.method === 'POST' ? 'post' : left.url.hash === '' ? 'query' : 'fragment'
}

/** Checks the error that is returned to the client, and its response mode. */
export async function readError(trial: Trial, changes: TrialParameters): Promise<string> {
  const { parameters, sent } = await answer(trial, changes)
  if (sent.state !== undefined && sent.state !== '') assert.equal(parameters.get('state'), sent.state)
  for (const name of ['code', 'access_token', 'id_token'])
    assert.ok(!parameters.has(name), `${name} together with an error`)
  return parameters.get('error') ?? 'no error'
}

export async function errorPage(trial: Trial, changes: TrialParameters): Promise<Page> {
  const got = await trial.authorize(changes)
  assertErrorPage(got)
  return got
}

/** A request whose parameters may be repeated. */
export async function sendPairs(trial: Trial, pairs: Iterable<readonly [string, string]>): Promise<Answer | Page> {
  const url = new URL(trial.provider.metadata.authorization_endpoint)
  for (const [name, value] of pairs) url.searchParams.append(name, value)
  const { end, seen } = await visit(trial.agent, await trial.agent.get(url), person)
  if (end.kind === 'page') return end
  const encoded = end.url.hash === '' ? end.url.search : end.url.hash.slice(1)
  const parameters = new Map(end.method === 'POST' ? end.form : new URLSearchParams(encoded))
  return { sent: Object.fromEntries(pairs), left: end, parameters, seen }
}

export function listPairs(parameters: TrialParameters): [string, string][] {
  return Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
}

/** A code that has not been redeemed yet. */
export async function getCode(trial: Trial, changes: TrialParameters = {}): Promise<string> {
  const { parameters } = await answer(trial, changes)
  const code = parameters.get('code')
  assert.ok(code, `no code: ${JSON.stringify([...parameters])}`)
  return code
}

export async function getTokens(trial: Trial, changes: TrialParameters = {}): Promise<TokenAnswer> {
  return readTokens(await trial.redeem(await getCode(trial, changes)))
}

export function offline(changes: TrialParameters = {}): TrialParameters {
  return { scope: 'openid offline_access', prompt: 'consent', ...changes }
}

export function refresh(trial: Trial, token: string | undefined, changes: TrialParameters = {}): Promise<Response> {
  assert.ok(token, 'there is no refresh token')
  return requestToken(trial.provider, trial.client, { grant_type: 'refresh_token', refresh_token: token, ...changes })
}

export async function introspect(trial: Trial, token: string, client: ClientFixture = trial.client) {
  const response = await post(trial.provider.metadata.introspection_endpoint, { token }, client)
  assert.equal(response.status, 200)
  return (await response.json()) as Record<string, unknown>
}

export function revoke(trial: Trial, token: string, client: ClientFixture = trial.client): Promise<Response> {
  return post(trial.provider.metadata.revocation_endpoint, { token }, client)
}

/** Posts a form with the client authentication that the client is registered for. */
export function post(endpoint: string, form: Record<string, string>, client?: ClientFixture): Promise<Response> {
  const body = new URLSearchParams(form)
  if (client === undefined) return fetch(endpoint, { method: 'POST', body })
  const { client_id: id, client_secret: secret = '', token_endpoint_auth_method: method } = client
  if (method === 'client_secret_basic') {
    const authorization = `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`
    return fetch(endpoint, { method: 'POST', body, headers: { authorization } })
  }
  body.set('client_id', id)
  if (method === 'client_secret_post') body.set('client_secret', secret)
  return fetch(endpoint, { method: 'POST', body })
}

export interface Challenge {
  readonly verifier: string
  readonly code_challenge: string
  readonly code_challenge_method: 'S256'
}

export function createChallenge(verifier = randomText(64)): Challenge {
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, code_challenge: challenge, code_challenge_method: 'S256' }
}

export function decodeClaims(jwt: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt?.split('.')[1] ?? '', 'base64url').toString())
}
