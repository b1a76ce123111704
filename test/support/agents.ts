/** An assistant that connects for a person: the request of its client, the pages, the code and the tokens. */
import assert from 'node:assert/strict'
import { type Changes, newVerifier, readAnswer } from './sign-in-place.ts'
import { type Departure, type Page, requirePage, type UserAgent } from './user-agent.ts'
import { type Credentials, signIn } from './visitor.ts'

export interface Connecting {
  readonly issuer: string
  readonly client?: string
  readonly redirectUri?: string
  /** Further parameters of the authorization request. */
  readonly changes?: Changes
}

export interface AskedToConnect {
  readonly page: Page | Departure
  readonly verifier: string
}

const LOOPBACK = 'http://127.0.0.1:33418/callback'

/** Opens the authorization request, and signs in if a page asks for it. */
export async function ask(
  agent: UserAgent,
  { issuer, client = 'gatehouse-agent', redirectUri = LOOPBACK, changes = {} }: Connecting,
  person: Credentials,
): Promise<AskedToConnect> {
  const { verifier, challenge } = newVerifier()
  const url = new URL(`${issuer}/connect/authorize`)
  const parameters: Changes = {
    client_id: client,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource: `${issuer}/mcp`,
    state: 'st',
    ...changes,
  }
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  const first = await agent.get(url)
  const page = first.kind === 'page' && first.url.pathname === '/sign-in' ? await signIn(agent, first, person) : first
  return { page, verifier }
}

/** Answers the consent page: everything is ticked, but these. */
export function decide(
  agent: UserAgent,
  asked: Page | Departure,
  { decision = 'allow', without = [] }: { decision?: 'allow' | 'deny'; without?: readonly string[] } = {},
): Promise<Page | Departure> {
  const page = requirePage(asked)
  const form = page.forms.find(({ action }) => action.pathname === '/consent')
  const button = form?.buttons.find(({ value }) => value === decision)
  assert.ok(form !== undefined && button !== undefined, `${page.status} ${page.url} ${page.body}`)
  const fields = form.fields.filter(({ name, value }) => name !== 'allow' || !without.includes(value))
  return agent.submit({ ...form, fields }, {}, button)
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly scope: string
  readonly expires_in: number
}

/** The tokens of an agent that the person allowed. */
export async function connect(
  agent: UserAgent,
  connecting: Connecting,
  person: Credentials,
  choice: { without?: readonly string[] } = {},
): Promise<Tokens> {
  const { page, verifier } = await ask(agent, connecting, person)
  const answer = readAnswer(await decide(agent, page, choice))
  return redeem(connecting, answer.get('code') ?? '', verifier)
}

export async function redeem(connecting: Connecting, code: string, verifier: string): Promise<Tokens> {
  const { issuer, client = 'gatehouse-agent', redirectUri = LOOPBACK } = connecting
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }
  const reply = await postToken(issuer, { ...form, client_id: client })
  assert.equal(reply.status, 200, JSON.stringify(reply.body))
  return reply.body as unknown as Tokens
}

export async function refresh(issuer: string, token: string, client = 'gatehouse-agent', form: object = {}) {
  return postToken(issuer, { grant_type: 'refresh_token', refresh_token: token, client_id: client, ...form })
}

export async function postToken(issuer: string, form: Record<string, string>) {
  const response = await fetch(`${issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
