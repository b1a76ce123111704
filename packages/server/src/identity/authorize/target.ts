/** The client and redirect URI of a request. Until both have been checked, nothing is redirected anywhere. */
import type { Client } from '../../store/clients/client-metadata.ts'
import type { Clients } from '../../store/clients/clients.ts'
import { refuse } from './authorization-error.ts'
import type { RequestParameters, Target } from './request.ts'
import { chooseMode } from './response-modes.ts'
import { isTooLong } from './stored-parameters.ts'

export async function readClient(parameters: RequestParameters, clients: Pick<Clients, 'find'>): Promise<Client> {
  const clientId = parameters.get('client_id')
  if (clientId === undefined) throw refuse('invalid_request', 'client_id is missing')
  if (parameters.repeated.has('client_id')) throw refuse('invalid_request', 'client_id is repeated')
  const client = await clients.find(clientId)
  if (client === undefined || client.disabled) throw refuse('unauthorized_client', 'The client is unknown or disabled')
  return client
}

export function readTarget(parameters: RequestParameters, client: Client): Target {
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri === undefined) throw refuse('invalid_request', 'redirect_uri is missing')
  if (parameters.repeated.has('redirect_uri')) throw refuse('invalid_request', 'redirect_uri is repeated')
  if (!isRegistered(redirectUri, client))
    throw refuse('invalid_request', 'redirect_uri is not registered for this client')
  const isUnusable = parameters.repeated.has('state') || isTooLong('state', parameters)
  const state = isUnusable ? undefined : parameters.get('state')
  return { redirectUri, ...chooseMode(parameters), state }
}

/** The target for an error in a request object, from the parameters outside it, if their redirect URI is registered (B-59). */
export function registeredTarget(parameters: RequestParameters, client: Client): Target | undefined {
  const redirectUri = parameters.get('redirect_uri')
  if (redirectUri === undefined || parameters.repeated.has('redirect_uri')) return undefined
  return isRegistered(redirectUri, client) ? readTarget(parameters, client) : undefined
}

/** RFC 9700 §4.1.3: exact string comparison, except for the loopback port of a native application (RFC 8252 §7.3). */
export function isRegistered(uri: string, client: Pick<Client, 'redirectUris' | 'native'>): boolean {
  if (client.redirectUris.includes(uri)) return true
  if (!client.native) return false
  const requested = splitLoopback(uri)
  if (requested === undefined) return false
  return client.redirectUris.some((registered) => {
    const known = splitLoopback(registered)
    return known !== undefined && known.host === requested.host && known.rest === requested.rest
  })
}

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?([/?][\x21-\x7e]*)?$/

/** Whether the answer goes to a program on the person's device, which any program there can be. */
export function isLoopback(uri: string): boolean {
  return splitLoopback(uri) !== undefined
}

function splitLoopback(uri: string): { host: string; rest: string } | undefined {
  const [, host, port, rest = ''] = LOOPBACK.exec(uri) ?? []
  if (host === undefined || Number(port ?? 80) > 65535) return undefined
  return { host, rest }
}

/** The part that people recognise: the host, or the scheme of a native application. */
export function hostOrScheme(uri: string): string {
  const url = URL.parse(uri)
  return url === null || url.host === '' ? (uri.split(':', 1)[0] ?? uri) : url.host
}
