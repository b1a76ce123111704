/** Which client is asking: client_secret_basic, client_secret_post or, for public clients, its name alone (RFC 6749 §2.3). */
import type { Doors } from '../http/doors.ts'
import type { Parameters } from '../http/form.ts'
import type { Audit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import type { AuthMethod, Client } from '../store/client-metadata.ts'
import { secretMatches } from '../store/clients.ts'
import type { ClientDirectory } from './client-directory.ts'
import { refuse } from './oauth-error.ts'
import type { SecretThrottle } from './secret-throttle.ts'

export interface ClientAuthEnv {
  readonly clients: ClientDirectory
  readonly secretThrottle: SecretThrottle
  readonly doors: Pick<Doors, 'admit'>
  readonly audit: Audit
  readonly clock: Clock
}

export interface Caller {
  readonly address: string
  readonly requestId: string
  /** The Authorization header. */
  readonly authorization: string | undefined
}

interface Credentials {
  readonly method: AuthMethod
  readonly clientId: string
  /** Every way in which the secret may be read; empty for a public client. */
  readonly secrets: readonly string[]
}

export async function authenticateClient(caller: Caller, form: Parameters, env: ClientAuthEnv): Promise<Client> {
  const credentials = readCredentials(caller.authorization, form)
  const { clientId, method, secrets } = credentials
  const wait = method === 'none' ? 0 : env.secretThrottle.waitFor(clientId, caller.address)
  if (wait > 0) {
    throw refuse('temporarily_unavailable', 'Too many failed attempts', {
      status: 429,
      headers: { 'retry-after': String(wait) },
    })
  }
  const client = await env.clients.find(clientId)
  const now = env.clock()
  // Every comparison is made, whatever the client is: an unknown one must not answer sooner.
  const proven = secrets.map((secret) => secretMatches(client, clientId, secret, now)).includes(true)
  const good =
    client !== undefined &&
    !client.disabled &&
    client.authMethods.has(method) &&
    (method === 'none' ? client.public : proven)
  if (good) {
    env.doors.admit('token', caller.address, { client: client.id })
    return client
  }
  if (method !== 'none') env.secretThrottle.failed(clientId, caller.address)
  // The unknown were looked for in the store, the known are in memory.
  if (client !== undefined) await env.clients.takeAsLongAsUnknown(clientId)
  env.audit.record({
    event: 'client.refused',
    ...(client === undefined ? {} : { client: client.id }),
    address: caller.address,
    requestId: caller.requestId,
    details: { method, reason: reasonOf(client, method) },
  })
  throw notAuthenticated()
}

function reasonOf(client: Client | undefined, method: AuthMethod): string {
  if (client === undefined) return 'unknown client'
  if (client.disabled) return 'disabled'
  return client.authMethods.has(method) ? 'wrong or expired secret' : 'not its method'
}

function readCredentials(authorization: string | undefined, form: Parameters): Credentials {
  const clientId = form.get('client_id')
  const secret = form.get('client_secret')
  if (authorization !== undefined) {
    const basic = readBasic(authorization)
    if (basic === undefined) throw notAuthenticated()
    if (secret !== undefined) throw refuse('invalid_request', 'The client authenticated in two ways at once')
    if (clientId !== undefined && clientId !== basic.clientId)
      throw refuse('invalid_request', 'The body names another client than the Authorization header')
    return basic
  }
  if (clientId === undefined) throw notAuthenticated()
  return secret === undefined
    ? { method: 'none', clientId, secrets: [] }
    : { method: 'client_secret_post', clientId, secrets: [secret] }
}

/** RFC 6749 §2.3.1 encodes both parts as a form does; many clients forget to, so the plain reading counts as well. */
function readBasic(authorization: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 1 || /\0|%00/.test(text)) return undefined
  const id = text.slice(0, colon)
  const secret = text.slice(colon + 1)
  const clientId = formDecoded(id) ?? id
  // RFC 6749 §2.3.1: an empty secret is one that was left out. Public clients name themselves in this way too.
  if (secret === '') return { method: 'none', clientId, secrets: [] }
  const decoded = formDecoded(secret)
  return {
    method: 'client_secret_basic',
    clientId,
    secrets: decoded === undefined || decoded === secret ? [secret] : [decoded, secret],
  }
}

function formDecoded(text: string): string | undefined {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** C-47: an unknown client and a wrong secret look the same. */
function notAuthenticated() {
  return refuse('invalid_client', 'The client could not be authenticated', {
    headers: { 'www-authenticate': 'Basic realm="gatehouse", charset="UTF-8"' },
  })
}
