/** One run of a conformance module: a new browser, one client, response type and response mode, and the checks of every flow. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { checkClaimTypes, checkIdToken, halfHash, type IdToken } from '../support/id-token.ts'
import {
  CALLBACK,
  type ClientFixture,
  clientFixtures,
  type Provider,
  person,
  RESPONSE_TYPES,
  type TypeCode,
} from '../support/providers/provider.ts'
import { createUserAgent, type Departure, type Page, type UserAgent } from '../support/user-agent.ts'
import { type PageName, visit } from '../support/visitor.ts'

export type TrialParameters = Readonly<Record<string, string | undefined>>

/** The response of the provider to an authorization request. */
export interface Answer {
  readonly sent: TrialParameters
  readonly left: Departure
  readonly parameters: ReadonlyMap<string, string>
  readonly seen: readonly PageName[]
}

export interface Outcome extends Answer {
  /** From the authorization response and from the token endpoint. */
  readonly idTokens: readonly IdToken[]
  readonly accessTokens: readonly string[]
  readonly tokens: TokenAnswer | undefined
  readonly userinfo: Readonly<Record<string, unknown>> | undefined
}

export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in?: unknown
  readonly id_token?: string
  readonly refresh_token?: string
  readonly scope?: string
}

export interface Trial {
  readonly provider: Provider
  readonly type: TypeCode
  readonly formPost: boolean
  readonly client: ClientFixture
  readonly agent: UserAgent
  /** The parameters of a usual request with these changes; undefined omits one. */
  request(changes?: TrialParameters): TrialParameters
  /** Sends the request and completes every page. */
  authorize(changes?: TrialParameters, how?: 'GET' | 'POST'): Promise<Answer | Page>
  /** A flow that must succeed, with all common checks. */
  succeed(changes?: TrialParameters, how?: 'GET' | 'POST'): Promise<Outcome>
  /** A request that must return an error to the redirect URI. */
  fail(errors: readonly string[], changes?: TrialParameters): Promise<Answer>
  redeem(code: string, changes?: TrialParameters): Promise<Response>
  withClient(client: ClientFixture): Trial
  /** Another browser without a session. */
  fresh(): Trial
}

export function createTrial(
  provider: Provider,
  type: TypeCode,
  formPost: boolean,
  client: ClientFixture = clientFixtures('https://127.0.0.1:1/').client,
  agent: UserAgent = createUserAgent({ home: provider.issuer, now: provider.now }),
): Trial {
  const responseType = RESPONSE_TYPES[type]

  function request(changes: TrialParameters = {}): TrialParameters {
    return {
      client_id: client.client_id,
      redirect_uri: client.redirect_uris[0] ?? CALLBACK,
      scope: 'openid',
      state: randomText(10),
      nonce: randomText(10),
      response_type: responseType,
      ...(formPost ? { response_mode: 'form_post' } : {}),
      ...changes,
    }
  }

  async function send(sent: TrialParameters, how: 'GET' | 'POST'): Promise<Answer | Page> {
    const values = Object.entries(sent).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const url = new URL(provider.metadata.authorization_endpoint)
    if (how === 'GET') url.search = new URLSearchParams(values).toString()
    const start = how === 'GET' ? await agent.get(url) : await agent.post(url, values)
    const { end, seen } = await visit(agent, start, person)
    return end.kind === 'page' ? end : { sent, left: end, parameters: readAnswer(end), seen }
  }

  const trial: Trial = {
    provider,
    type,
    formPost,
    client,
    agent,
    request,
    authorize: (changes, how = 'GET') => send(request(changes), how),
    async succeed(changes, how = 'GET') {
      const answer = await send(request(changes), how)
      assertRedirected(answer)
      checkResponsePart(answer, expectedPart(answer.sent))
      return completeFlow(trial, answer)
    },
    async fail(errors, changes) {
      const answer = await send(request(changes), 'GET')
      assertRedirected(answer)
      checkResponsePart(answer, expectedPart(answer.sent))
      checkError(answer, errors, provider.issuer)
      return answer
    },
    redeem: (code, changes = {}) =>
      requestToken(provider, client, {
        grant_type: 'authorization_code',
        code,
        redirect_uri: client.redirect_uris[0],
        ...changes,
      }),
    withClient: (other) => createTrial(provider, type, formPost, other, agent),
    fresh: () => createTrial(provider, type, formPost, client),
  }
  return trial
}

export function assertRedirected(answer: Answer | Page): asserts answer is Answer {
  if ('kind' in answer) assert.fail(`a page instead of a response: ${answer.status} ${answer.url} ${answer.body}`)
}

/** An error page of the provider, not a redirect: for requests whose redirect URI cannot be trusted. */
export function assertErrorPage(answer: Answer | Page): asserts answer is Page {
  if (!('kind' in answer)) assert.fail(`the browser was redirected to ${answer.left.url}`)
  assert.ok(answer.status >= 400 && answer.status < 500, `status ${answer.status}`)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
  assert.equal(answer.headers.get('location'), null)
}

export function randomText(length: number): string {
  return randomBytes(length).toString('hex').slice(0, length)
}

/** Reads the response from the query, the fragment or the posted form. */
function readAnswer({ method, url, form }: Departure): Map<string, string> {
  if (method === 'POST') return new Map(form)
  return new Map(new URLSearchParams(url.hash === '' ? url.search : url.hash.slice(1)))
}

export type ResponsePart = 'query' | 'fragment' | 'post'

/** Where the response to a request is expected. */
function expectedPart({ response_mode: mode, response_type: type = 'code' }: TrialParameters): ResponsePart {
  if (mode === 'form_post') return 'post'
  if (mode === 'fragment') return 'fragment'
  return type === 'code' ? 'query' : 'fragment'
}

/** Checks where the response is, and that none of it is elsewhere. */
export function checkResponsePart({ left, sent }: Answer, part: ResponsePart): void {
  const target = new URL(sent.redirect_uri ?? '')
  assert.equal(left.url.origin + left.url.pathname, target.origin + target.pathname)
  for (const [name, value] of target.searchParams) assert.equal(left.url.searchParams.get(name), value, name)
  assert.equal(left.method, part === 'post' ? 'POST' : 'GET')
  if (part !== 'query') {
    for (const name of ['code', 'error', 'id_token', 'access_token', 'state'])
      assert.ok(!left.url.searchParams.has(name), `${name} in the query`)
  }
  if (part === 'fragment') assert.notEqual(left.url.hash, '')
  else assert.equal(left.url.hash, '')
}

export function checkError({ parameters, sent }: Answer, errors: readonly string[], issuer: string): void {
  const error = parameters.get('error')
  assert.ok(error !== undefined && errors.includes(error), `error ${error} (${parameters.get('error_description')})`)
  for (const name of parameters.keys())
    assert.ok(['error', 'error_description', 'error_uri', 'state', 'session_state', 'iss'].includes(name), name)
  assert.match(parameters.get('error_description') ?? 'none', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  assert.equal(parameters.get('state'), sent.state, 'state')
  if (parameters.has('iss')) assert.equal(parameters.get('iss'), issuer)
}

async function completeFlow(trial: Trial, answer: Answer): Promise<Outcome> {
  const { provider, client } = trial
  const { parameters, sent } = answer
  assert.equal(parameters.get('error'), undefined, parameters.get('error_description'))
  assert.equal(parameters.get('state'), sent.state, 'state')
  if (parameters.has('iss')) assert.equal(parameters.get('iss'), provider.issuer, 'iss')
  const members = new Set((sent.response_type ?? '').split(' '))
  assert.equal(parameters.has('code'), members.has('code'), 'code')
  assert.equal(parameters.has('id_token'), members.has('id_token'), 'id_token')
  assert.equal(parameters.has('access_token'), members.has('token'), 'access_token')
  assert.ok(!parameters.has('refresh_token'), 'a refresh token in the front channel')

  const idTokens: IdToken[] = []
  const accessTokens: string[] = []
  const check = (raw: string) =>
    checkIdToken(raw, {
      issuer: provider.issuer,
      jwksUri: provider.metadata.jwks_uri,
      clientId: client.client_id,
      nonce: sent.nonce,
      now: provider.now(),
    })
  const code = parameters.get('code')
  const accessToken = parameters.get('access_token')
  if (accessToken !== undefined) {
    assert.equal(parameters.get('token_type')?.toLowerCase(), 'bearer')
    assert.match(parameters.get('expires_in') ?? '', /^[1-9]\d*$/)
    accessTokens.push(accessToken)
  }
  const frontToken = parameters.get('id_token')
  if (frontToken !== undefined) {
    const idToken = await check(frontToken)
    const { at_hash: atHash, c_hash: cHash } = idToken.claims
    assert.equal(atHash, accessToken === undefined ? undefined : halfHash(accessToken), 'at_hash')
    assert.equal(cHash, code === undefined ? undefined : halfHash(code), 'c_hash')
    idTokens.push(idToken)
  }
  let tokens: TokenAnswer | undefined
  if (code !== undefined) {
    tokens = await readTokens(await trial.redeem(code, { redirect_uri: sent.redirect_uri, ...findVerifier(sent) }))
    accessTokens.push(tokens.access_token)
    const isOpenId = sent.scope?.split(' ').includes('openid') ?? false
    assert.equal(tokens.id_token !== undefined, isOpenId, 'an ID token from the token endpoint')
    if (tokens.id_token !== undefined) {
      const idToken = await check(tokens.id_token)
      const { at_hash: atHash, c_hash: cHash } = idToken.claims
      if (atHash !== undefined) assert.equal(atHash, halfHash(tokens.access_token), 'at_hash')
      if (cHash !== undefined) assert.equal(cHash, halfHash(code), 'c_hash')
      idTokens.push(idToken)
    }
  }
  const [first, second] = idTokens
  if (first !== undefined && second !== undefined) {
    assert.equal(second.claims.sub, first.claims.sub, 'sub in both ID tokens')
    assert.equal(second.claims.iss, first.claims.iss, 'iss in both ID tokens')
  }
  let userinfo: Record<string, unknown> | undefined
  for (const token of first === undefined ? [] : accessTokens) {
    userinfo = await readUserinfo(await askUserinfo(provider, token))
    assert.equal(userinfo.sub, first?.claims.sub, 'sub of userinfo')
  }
  return { ...answer, idTokens, accessTokens, tokens, userinfo }
}

/** The code verifiers by their challenge. */
const verifiers = new Map<string, string>()

export function rememberVerifier(challenge: string, verifier: string): void {
  verifiers.set(challenge, verifier)
}

function findVerifier(sent: TrialParameters): TrialParameters {
  const verifier = verifiers.get(sent.code_challenge ?? '')
  return verifier === undefined ? {} : { code_verifier: verifier }
}

export async function requestToken(
  provider: Provider,
  client: ClientFixture,
  form: TrialParameters,
): Promise<Response> {
  const values = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const body = new URLSearchParams(values)
  const headers: Record<string, string> = { accept: 'application/json' }
  const { client_id: id, client_secret: secret = '' } = client
  if (client.token_endpoint_auth_method === 'client_secret_basic') {
    const encoded = [id, secret].map((part) => encodeURIComponent(part)).join(':')
    headers.authorization = `Basic ${Buffer.from(encoded).toString('base64')}`
  } else {
    body.set('client_id', id)
    if (client.token_endpoint_auth_method === 'client_secret_post') body.set('client_secret', secret)
  }
  return fetch(provider.metadata.token_endpoint, { method: 'POST', headers, body })
}

export async function readTokens(response: Response): Promise<TokenAnswer> {
  const text = await response.text()
  assert.equal(response.status, 200, text)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  assert.match(response.headers.get('cache-control') ?? '', /no-store/)
  const tokens = JSON.parse(text) as TokenAnswer
  assert.equal(typeof tokens.access_token, 'string')
  assert.equal(tokens.token_type.toLowerCase(), 'bearer')
  assert.ok(typeof tokens.expires_in === 'number' && tokens.expires_in > 0, `expires_in ${tokens.expires_in}`)
  return tokens
}

/** RFC 6749 §5.2: status, JSON, error code, and a description of allowed characters. */
export async function assertTokenError(response: Response, error: string, status = 400): Promise<void> {
  const text = await response.text()
  assert.equal(response.status, status, text)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  assert.match(response.headers.get('cache-control') ?? '', /no-store/)
  const body = JSON.parse(text) as { error: string; error_description?: string }
  assert.equal(body.error, error, text)
  assert.match(body.error_description ?? 'none', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
}

export function askUserinfo(provider: Provider, accessToken: string): Promise<Response> {
  return fetch(provider.metadata.userinfo_endpoint, { headers: { authorization: `Bearer ${accessToken}` } })
}

export async function readUserinfo(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text()
  assert.equal(response.status, 200, text)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const claims = JSON.parse(text) as Record<string, unknown>
  assert.equal(typeof claims.sub, 'string')
  checkClaimTypes(claims)
  return claims
}
