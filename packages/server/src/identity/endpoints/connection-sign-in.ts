/**
 * Signs in a connection of PostgreSQL's protocol by a client's secret or a user's password: the checks of POST /connect/token, without
 * HTTP. The connection lives under the token that is issued here, which is sent to nobody else.
 */
import { isRight, opensPlatform, type Principal, Refusal } from 'gatehouse-protocol'
import { readParameters } from '../../http/request/body.ts'
import type { User } from '../../store/accounts/user.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { type ClientAuthEnv, secretMatches } from '../clients/client-request.ts'
import { redeemClientCredentials } from '../grants/client-credentials.ts'
import { createGrant, type GrantEnv } from '../grants/grant.ts'
import { userWithPassword } from '../grants/password.ts'
import { deriveAcr } from '../tokens/claims.ts'
import type { Issuer } from '../tokens/issuer.ts'
import { limitToRights } from '../tokens/scope.ts'
import { refuseRevoked } from './token.ts'

export interface ConnectionSignInEnv
  extends GrantEnv,
    Pick<ClientAuthEnv, 'clients' | 'secretThrottle' | 'rateLimits'> {
  readonly issuer: Issuer
  /** The built-in client that users sign in through. */
  readonly clientId: string
  /** Whether users may sign in with their passwords. */
  readonly passwords: boolean
  /** The longest life of a connection. */
  readonly sessionMs: number
}

export interface SecretAttempt {
  /** A client or a user. */
  readonly name: string
  readonly secret: string
  readonly address: string
  readonly requestId: string
}

export type SecretVerdict =
  | {
      readonly outcome: 'good'
      readonly principal: Principal
      readonly method: 'client secret' | 'password'
      /** Ends the grant of the connection. */
      readonly release?: () => Promise<void>
    }
  /** The reason is for the audit log only: the reply is the same for every one. */
  | { readonly outcome: 'wrong'; readonly reason: string }
  /** Not checked: after too many failures, or because too many checks are in progress. */
  | { readonly outcome: 'delayed' }

export type CheckSecret = (attempt: SecretAttempt) => Promise<SecretVerdict>

export function createConnectionSignIn(env: ConnectionSignInEnv): CheckSecret {
  const { clients, secretThrottle, rateLimits, clock } = env

  return async (attempt) => {
    const { name, address } = attempt
    if (secretThrottle.retryAfter(name, address) > 0) return { outcome: 'delayed' }
    try {
      const client = await clients.find(name)
      // Every name takes the same path, so that the time does not reveal which clients and users there are.
      const isClient = isClientSecret(client, attempt)
      if (isClient && client !== undefined) return await signInClient(client, attempt)
      if (client !== undefined) await clients.spendLookupTime(name)
      if (env.passwords) return await signInUser(attempt)
      secretThrottle.recordFailure(name, address)
      return { outcome: 'wrong', reason: client === undefined ? 'no token, and passwords are off' : 'wrong secret' }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.status === 429 || error.code === 'temporarily_unavailable') return { outcome: 'delayed' }
      secretThrottle.recordFailure(name, address)
      return { outcome: 'wrong', reason: typeof error.cause === 'string' ? error.cause : error.code }
    }
  }

  function isClientSecret(client: Client | undefined, { name, secret }: SecretAttempt): boolean {
    const isRightSecret = secretMatches(client, name, secret, clock())
    // The tokens of agents are not for queries.
    if (client === undefined || client.disabled || client.requireDpop || client.agent) return false
    const takesSecret = client.authMethods.has('client_secret_basic') || client.authMethods.has('client_secret_post')
    return isRightSecret && takesSecret && client.grantTypes.has('client_credentials')
  }

  async function signInClient(client: Client, { address }: SecretAttempt): Promise<SecretVerdict> {
    rateLimits.countCaller('token', address, { client: client.id })
    const lasting = withLifetime(client)
    const { scopes, target } = await redeemClientCredentials(
      { form: readParameters(''), client: lasting, audience: undefined },
      env,
    )
    const { token } = await env.issuer.accessToken(lasting, scopes, undefined, { target })
    return good(token, 'client secret')
  }

  /** The password grant, with a grant that has no refresh token. */
  async function signInUser({ name, secret, address, requestId }: SecretAttempt): Promise<SecretVerdict> {
    const began = clock()
    const tools = await clients.find(env.clientId)
    if (tools === undefined) throw new Error(`The built-in client ${env.clientId} is missing`)
    const client = withLifetime(tools)
    // One reply for every cause: each of them takes the path of a wrong password.
    const insufficiency = (user: User) => {
      if (user.mustChangePassword) return 'password must be changed'
      return limitToRights([...client.scopes], user).some(opensPlatform) ? undefined : 'no rights on the platform'
    }
    const attempt = { username: name, password: secret, address, clientId: client.id, requestId, insufficiency }
    const user = await userWithPassword(attempt, client, env)
    rateLimits.countCaller('token', address, { user: user.id })
    const amr = ['pwd']
    const scopes = limitToRights([...client.scopes], user)
    const { grant } = await createGrant(
      {
        kind: 'password',
        clientId: client.id,
        userId: user.id,
        sessionId: undefined,
        scopes,
        authTime: clock(),
        details: { amr, acr: deriveAcr(amr), isOpenIdUnasked: true },
      },
      client,
      env,
    )
    await refuseRevoked({ onBehalfOf: { user, grant } }, client, began, env)
    const { token } = await env.issuer.accessToken(client, scopes.filter(isOfPlatform), { user, grant })
    // No event: only this connection has had a token of the grant.
    return good(token, 'password', async () => void (await env.stores.grants.revoke({ id: grant.id })))
  }

  function withLifetime(client: Client): Client {
    return { ...client, accessTokenLifetime: Math.max(1, Math.floor(env.sessionMs / 1000)) }
  }

  async function good(
    token: string,
    method: 'client secret' | 'password',
    release?: () => Promise<void>,
  ): Promise<SecretVerdict> {
    const principal = await env.authenticate(token)
    if (principal !== undefined) return { outcome: 'good', principal, method, ...(release && { release }) }
    await release?.()
    return { outcome: 'wrong', reason: 'no rights on the platform' }
  }
}

/** What a connection is for; user claims are not. */
function isOfPlatform(scope: string): boolean {
  return isRight(scope)
}
