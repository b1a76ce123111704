/** The OAuth client of the command line: discovery, sign-in, refresh, revocation and authenticated requests. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Login, lockCredentials, readLogin, writeLogin } from './credentials.ts'
import { CommandError, UsageError } from './errors.ts'
import { type JsonObject, membersOf, parseJson } from './json.ts'
import { printable } from './table.ts'
import { claimsOf } from './token-claims.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const SECOND_FACTOR_HINT = 'a user with a second factor logs in on a page, by "gatehouse login" without --username'
/** A token this close to its expiry is refreshed before it is used. */
const EXPIRY_MARGIN_MS = 30_000

/** The server cannot be reached; another attempt may succeed. */
export class Unreachable extends CommandError {
  override name = 'Unreachable'
}

/** The base address of a server, from its own address or that of its streaming service. */
export function serverAddress(given = process.env.GATEHOUSE_SERVER ?? ''): string {
  const text = given === '' ? 'http://localhost:5080' : given
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol))
    throw new UsageError(`"${text}" is not a server address; write it like http://localhost:5080`)
  return `${url.protocol.replace('ws', 'http')}//${url.host}${url.pathname.replace(/(\/platform)?\/*$/i, '')}`
}

export interface Connection {
  readonly server: string
  /** Sends a request with the access token. A 401 is retried once with a new token. */
  request(path: string, options?: RequestOptions): Promise<Response>
}

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Gets another token than the rejected one, if it can. */
export type TokenSource = (rejected?: string) => Promise<string>

/** The token is sent to this server and to nobody else. */
export async function connect(server: string, getToken: TokenSource): Promise<Connection> {
  let token = await getToken()
  const send = (path: string, { method = 'GET', headers = {}, body, signal }: RequestOptions): Promise<Response> =>
    fetchFrom(server + path, {
      method,
      headers: { ...headers, authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    })
  return {
    server,
    async request(path, options = {}) {
      const response = await send(path, options)
      // A long import outlives its token.
      if (response.status !== 401) return response
      await response.body?.cancel()
      token = await getToken(token)
      return send(path, options)
    },
  }
}

/** The access token of `gatehouse login`, refreshed when it is about to expire or was rejected. */
export async function loginToken(server: string, rejected?: string): Promise<string> {
  const fresh = freshToken(server, rejected)
  if (fresh !== undefined) return fresh
  // A refresh token is valid once: of several commands one refreshes, and the others use what it got.
  const unlock = await lockCredentials()
  try {
    return freshToken(server, rejected) ?? (await refresh(server))
  } finally {
    unlock()
  }
}

function freshToken(server: string, rejected: string | undefined): string | undefined {
  const login = readLogin(server)
  if (login === undefined) throw new CommandError(`You are not logged in to ${server}. Run: ${loginCommand(server)}`)
  const isFresh = Date.now() < login.expiresAt - EXPIRY_MARGIN_MS && login.accessToken !== rejected
  return isFresh ? login.accessToken : undefined
}

async function refresh(server: string): Promise<string> {
  const { clientId, refreshToken } = readLogin(server) ?? {}
  if (clientId === undefined || refreshToken === undefined)
    throw new CommandError(`The login has expired. Run: ${loginCommand(server)}`)
  const { token } = await discover(server)
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId }
  const reply = await postForm(token, form)
  if (reply.status >= 500 || reply.status === 429) throw refused('The login could not be renewed', reply.body)
  if (reply.status !== 200) throw new CommandError(`The login is no longer valid. Run: ${loginCommand(server)}`)
  const renewed = readTokens(clientId, reply.body)
  writeLogin(server, renewed)
  return renewed.accessToken
}

function loginCommand(server: string): string {
  return `gatehouse login --server ${server}`
}

export interface PasswordSignIn {
  readonly clientId: string
  readonly username: string
  readonly password: string
  /** Without it: everything that the client may have and the user holds. */
  readonly scope?: string | undefined
}

/** RFC 6749 §4.3. */
export async function passwordLogin(
  server: string,
  { clientId, username, password, scope }: PasswordSignIn,
): Promise<Login> {
  const { token } = await discover(server)
  const form = { grant_type: 'password', client_id: clientId, username, password, ...scopeField(scope) }
  const reply = await postForm(token, form)
  if (reply.body.error === 'invalid_grant')
    // The server gives every cause the same reply, so that a guesser learns nothing from it.
    throw refused(`The server did not sign ${username} in`, reply.body, SECOND_FACTOR_HINT)
  if (reply.status !== 200) throw refused(`The server did not sign ${username} in`, reply.body)
  return readTokens(clientId, reply.body)
}

export interface DevicePrompt {
  readonly userCode: string
  readonly address: string
}

/** RFC 8628. */
export async function deviceLogin(
  server: string,
  { clientId, scope }: Pick<PasswordSignIn, 'clientId' | 'scope'>,
  show: (prompt: DevicePrompt) => void,
): Promise<Login> {
  const endpoints = await discover(server)
  const started = await postForm(endpoints.device, { client_id: clientId, ...scopeField(scope) })
  if (started.status !== 200) throw refused(`The server refused a device login of the client ${clientId}`, started.body)
  const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval = 5 } = started.body
  show({
    userCode: printable(String(user_code)),
    address: printable(String(verification_uri_complete ?? verification_uri)),
  })
  const deadline = performance.now() + Number(expires_in) * 1000
  const form = { grant_type: DEVICE_CODE, device_code: String(device_code), client_id: clientId }
  let seconds = Number(interval)
  while (performance.now() < deadline) {
    await sleep(seconds * 1000)
    const reply = await postForm(endpoints.token, form)
    if (reply.status === 200) return readTokens(clientId, reply.body)
    if (reply.body.error === 'slow_down') seconds += 5
    else if (reply.body.error !== 'authorization_pending') throw refused('The login was refused', reply.body)
  }
  throw new CommandError('The code has expired. Log in again.')
}

/** RFC 7009; the refresh token takes its access tokens with it. */
export async function revokeLogin(server: string, { clientId, refreshToken, accessToken }: Login): Promise<void> {
  const { revocation } = await discover(server)
  await postForm(revocation, { token: refreshToken ?? accessToken, client_id: clientId })
}

/** The claims that the server has about the user of a token; undefined where the token does not grant them. */
export async function userinfo(server: string, accessToken: string): Promise<JsonObject | undefined> {
  const { userinfo: address } = await discover(server)
  const response = await fetchFrom(address, { headers: { authorization: `Bearer ${accessToken}` } })
  const body = membersOf(parseJson(await response.text()))
  if (response.ok) return body
  if (response.status === 403) return undefined
  throw refused(`${server} did not accept the token`, body)
}

/** Whether the token may be sent to the server: a token is for its issuer alone. */
export async function requireIssuer(server: string, accessToken: string, source: string): Promise<void> {
  const { iss } = claimsOf(accessToken)
  // A token that cannot be read says nothing: then the server must at least be an issuer.
  if (typeof iss !== 'string') return void (await discover(server))
  if (iss !== server)
    throw new CommandError(
      `The token in ${source} is for its issuer ${printable(iss)} and was not sent to ${server}: use that address.`,
    )
}

interface Endpoints {
  readonly token: string
  readonly device: string
  readonly revocation: string
  readonly userinfo: string
}

async function discover(server: string): Promise<Endpoints> {
  const response = await fetchFrom(`${server}/.well-known/openid-configuration`, { redirect: 'follow' })
  const document = membersOf(parseJson(await response.text()))
  // RFC 8414 §3.3: the endpoints of another issuer's document must not receive our passwords and tokens.
  if (document.issuer !== server)
    throw new CommandError(
      typeof document.issuer === 'string'
        ? `The issuer of ${server} is ${printable(document.issuer)}: use that address, if you trust it.`
        : `${server} is not an identity server: it has no discovery document with an issuer.`,
    )
  return {
    token: String(document.token_endpoint),
    device: String(document.device_authorization_endpoint),
    revocation: String(document.revocation_endpoint),
    userinfo: String(document.userinfo_endpoint),
  }
}

function scopeField(scope: string | undefined): Record<string, string> {
  return scope === undefined ? {} : { scope }
}

async function postForm(address: string, form: Record<string, string>): Promise<{ status: number; body: JsonObject }> {
  const response = await fetchFrom(address, { method: 'POST', body: new URLSearchParams(form) })
  return { status: response.status, body: membersOf(parseJson(await response.text())) }
}

/** A redirect is an error: it would carry a password or a token to another address. */
async function fetchFrom(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { redirect: 'error', ...request })
  } catch (error) {
    const reason = error instanceof Error ? String(error.cause ?? error.message) : String(error)
    throw new Unreachable(`${URL.parse(address)?.origin ?? address} cannot be reached (${reason})`)
  }
}

function readTokens(clientId: string, body: JsonObject): Login {
  const { access_token: accessToken, expires_in: expiresIn, refresh_token: refreshToken } = body
  if (typeof accessToken !== 'string') throw new CommandError('The token endpoint answered without an access token')
  return {
    clientId,
    accessToken,
    expiresAt: Date.now() + Number(expiresIn) * 1000,
    refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined,
  }
}

function refused(
  what: string,
  { error = 'no reason given', error_description: description = '' }: JsonObject,
  hint?: string,
) {
  const reason = printable(`${what}: ${error} ${description}`.trim())
  return new CommandError(hint === undefined ? reason : `${reason} (${hint})`)
}
