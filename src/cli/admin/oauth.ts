/** What the command line asks of the identity server: the device flow (RFC 8628) and refreshing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Usage } from '../command.ts'
import type { Credentials } from './credentials.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const SCOPES = 'Identity/Admin Platform/Admin offline_access'

interface Endpoints {
  readonly token: string
  readonly device: string
  readonly revocation: string
}

export interface DevicePrompt {
  readonly userCode: string
  readonly address: string
}

export async function logIn(
  server: string,
  clientId: string,
  show: (prompt: DevicePrompt) => void,
): Promise<Credentials> {
  const endpoints = await discover(server)
  const started = await post(endpoints.device, { client_id: clientId, scope: SCOPES })
  if (!started.ok) throw refused('The server does not let this client in by a device', started.body)
  const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval = 5 } = started.body
  show({ userCode: String(user_code), address: String(verification_uri_complete ?? verification_uri) })
  const deadline = Date.now() + Number(expires_in) * 1000
  let wait = Number(interval)
  while (Date.now() < deadline) {
    await sleep(wait * 1000)
    const answer = await post(endpoints.token, {
      grant_type: DEVICE_CODE,
      device_code: String(device_code),
      client_id: clientId,
    })
    if (answer.ok) return credentials(clientId, answer.body)
    if (answer.body.error === 'slow_down') wait += 5
    else if (answer.body.error !== 'authorization_pending') throw refused('The login was refused', answer.body)
  }
  throw new Usage('Nobody answered in time: log in again.')
}

export async function refresh(server: string, { clientId, refreshToken }: Credentials): Promise<Credentials> {
  const again = `Log in again: gatehouse login --server ${server}`
  if (refreshToken === undefined) throw new Usage(`The login has expired. ${again}`)
  const { token } = await discover(server)
  const answer = await post(token, { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId })
  if (!answer.ok) throw new Usage(`The login is no longer good. ${again}`)
  return credentials(clientId, answer.body)
}

export async function revoke(server: string, { clientId, refreshToken, accessToken }: Credentials): Promise<void> {
  const { revocation } = await discover(server)
  await post(revocation, { token: refreshToken ?? accessToken, client_id: clientId })
}

export function nothingAt(server: string, error: unknown): Usage {
  const reason = error instanceof Error ? String(error.cause ?? error.message) : String(error)
  return new Usage(`Nothing answers at ${server} (${reason})`)
}

async function discover(server: string): Promise<Endpoints> {
  const address = `${server}/.well-known/openid-configuration`
  const response = await fetch(address).catch((error: unknown) => {
    throw nothingAt(server, error)
  })
  const document = readObject(await response.json().catch(() => ({})))
  // OpenID Connect Discovery §4.3: another issuer's document must not send our tokens away.
  if (document.issuer !== server)
    throw new Usage(
      `${server} is not an identity server, or calls itself ${String(document.issuer ?? 'nothing')}: use that address.`,
    )
  return {
    token: String(document.token_endpoint),
    device: String(document.device_authorization_endpoint),
    revocation: String(document.revocation_endpoint),
  }
}

type Body = Readonly<Record<string, unknown>>

async function post(address: string, form: Record<string, string>): Promise<{ ok: boolean; body: Body }> {
  const response = await fetch(address, { method: 'POST', body: new URLSearchParams(form) })
  return { ok: response.ok, body: readObject(await response.json().catch(() => ({}))) }
}

function credentials(clientId: string, body: Body): Credentials {
  return {
    clientId,
    accessToken: String(body.access_token),
    expiresAt: Date.now() + Number(body.expires_in) * 1000,
    refreshToken: typeof body.refresh_token === 'string' ? body.refresh_token : undefined,
  }
}

function refused(what: string, body: Body): Usage {
  return new Usage(`${what}: ${String(body.error_description ?? body.error ?? 'no reason was given')}`)
}

function readObject(value: unknown): Body {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
