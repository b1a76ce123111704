/** Pushed authorization requests (RFC 9126 §4): how the authorization endpoint opens one, and that it is answered once. */
import type { PushedRequests } from '../../store/authorizations/pushed-requests.ts'
import { BUILT_IN_CLIENT_IDS } from '../../store/clients/built-in-clients.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { refuse } from './authorization-error.ts'
import type { AuthorizationRequest, RequestParameters } from './request.ts'
import { isRegistered } from './target.ts'

/** RFC 9126 §2.2. */
const PREFIX = 'urn:ietf:params:oauth:request_uri:'

export interface PushedSettings {
  readonly lifetimeMs: number
  /** Every client must push its requests. */
  readonly required: boolean
}

interface PushedEnv {
  readonly pushedRequests: PushedRequests
}

/** The console is part of the server, and its requests ask for nothing that an attacker could alter to advantage. */
export function mustPush(client: Client, { required }: PushedSettings): boolean {
  return client.requirePushedRequests || (required && !BUILT_IN_CLIENT_IDS.has(client.id))
}

/** The request_uri; undefined if the client has too many open ones. */
export async function storePushed(
  request: AuthorizationRequest,
  { lifetimeMs }: PushedSettings,
  { pushedRequests }: PushedEnv,
): Promise<string | undefined> {
  const secret = await pushedRequests.push(request.clientId, JSON.stringify(request), lifetimeMs)
  return secret === undefined ? undefined : PREFIX + secret
}

export function isPushed(parameters: RequestParameters): boolean {
  return parameters.get('request_uri')?.startsWith(PREFIX) === true
}

/** Only `client_id` and `request_uri` count: whatever else came through the browser may have been altered there. */
export async function openPushed(
  parameters: RequestParameters,
  client: Client,
  { pushedRequests }: PushedEnv,
): Promise<AuthorizationRequest> {
  const uri = parameters.get('request_uri') ?? ''
  if (parameters.repeated.has('request_uri')) throw refuse('invalid_request', 'request_uri is repeated')
  const found = await pushedRequests.find(uri.slice(PREFIX.length), client.id)
  if (found === undefined)
    throw refuse('invalid_request_uri', 'The request_uri is unknown, expired, used or that of another client')
  const request: AuthorizationRequest = { ...JSON.parse(found.details), pushed: found.digest }
  // The registration may have changed since.
  if (!isRegistered(request.target.redirectUri, client))
    throw refuse('invalid_request', 'redirect_uri is not registered for this client')
  return request
}

/** Call it before an answer goes to the client: the first one is the only one. */
export async function spendPushed(
  { pushed }: Pick<AuthorizationRequest, 'pushed'>,
  { pushedRequests }: PushedEnv,
): Promise<void> {
  if (pushed !== undefined && !(await pushedRequests.answer(pushed)))
    throw refuse('invalid_request_uri', 'The request was answered already')
}

/** The answer was withheld: the person has to do something first. */
export async function reopenPushed(
  { pushed }: Pick<AuthorizationRequest, 'pushed'>,
  { pushedRequests }: PushedEnv,
): Promise<void> {
  if (pushed !== undefined) await pushedRequests.reopen(pushed)
}
