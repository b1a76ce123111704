/** POST /connect/token (RFC 6749 §3.2): who is asking, may it ask so, what does it get. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Parameters } from '../http/form.ts'
import type { Metrics } from '../protocol/metrics.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { Client } from '../store/client-metadata.ts'
import type { User } from '../store/users.ts'
import { authenticateClient, type Caller, type ClientAuthEnv } from './client-auth.ts'
import { redeemAuthorizationCode } from './grants/authorization-code.ts'
import { redeemClientCredentials } from './grants/client-credentials.ts'
import { redeemDeviceCode } from './grants/device-code.ts'
import type { GrantEnv, Redeem, Redeemed, TokenGrantType } from './grants/env.ts'
import { redeemPassword } from './grants/password.ts'
import { redeemRefreshToken } from './grants/refresh-token.ts'
import type { Issuer } from './issuer.ts'
import { formOf, required } from './oauth-door.ts'
import { refuse } from './oauth-error.ts'

export interface TokenEnv extends GrantEnv, ClientAuthEnv {
  readonly issuer: Issuer
  readonly metrics: Metrics
}

/** As the contract names them; what is not issued is left out. */
export interface TokenReply {
  readonly access_token: string
  readonly expires_in: number
  readonly token_type: 'Bearer'
  readonly refresh_token?: string | undefined
  readonly id_token?: string | undefined
  readonly scope: string
}

const GRANTS: Readonly<Record<TokenGrantType, Redeem>> = {
  authorization_code: redeemAuthorizationCode,
  client_credentials: redeemClientCredentials,
  refresh_token: redeemRefreshToken,
  password: redeemPassword,
  'urn:ietf:params:oauth:grant-type:device_code': redeemDeviceCode,
}

export function registerToken(app: FastifyInstance, env: TokenEnv): void {
  app.post('/connect/token', (request) => token(formOf(request), callerOf(request), env))
}

export function callerOf(request: FastifyRequest): Caller {
  return { address: request.ip, requestId: request.id, authorization: request.headers.authorization }
}

async function token(form: Parameters, caller: Caller, env: TokenEnv): Promise<TokenReply> {
  const grantType = required(form, 'grant_type')
  const client = await authenticateClient(caller, form, env)
  const began = env.clock()
  try {
    const redeem = grantFor(grantType, client)
    const admit = (user: User) => void env.doors.admit('token', caller.address, { user: user.id })
    const redeemed = stillAllowed(await redeem({ form, client, caller, admit }, env), client)
    await refuseTakenBack(redeemed, client, began, env)
    return await issue(grantType, client, redeemed, caller, env)
  } catch (error) {
    recordRefusal(error, grantType, client, caller, env)
    throw error
  }
}

/** RFC 6749 §5.2: a grant that nobody offers, and one that this client may not use. */
function grantFor(name: string, client: Client): Redeem {
  if (!isTokenGrant(name)) throw refuse('unsupported_grant_type', 'This grant_type is not offered')
  if (!client.grantTypes.has(name))
    throw refuse('unauthorized_client', 'The client is not configured for this grant_type')
  return GRANTS[name]
}

function isTokenGrant(name: string): name is TokenGrantType {
  return Object.hasOwn(GRANTS, name)
}

/** A grant may be older than what its client may ask for now. */
function stillAllowed(redeemed: Redeemed, client: Client): Redeemed {
  return { ...redeemed, scopes: redeemed.scopes.filter((scope) => client.scopes.has(scope)) }
}

/** What was read may have been taken back since: a token issued now would be younger than the cut, and outlive it. */
async function refuseTakenBack(
  { speaker, asOf }: Redeemed,
  client: Client,
  began: number,
  { denylist, takeBack }: TokenEnv,
): Promise<void> {
  if (speaker === undefined) return
  const { user, grant } = speaker
  const isOver = denylist.denies({
    tokenId: '',
    // Its tokens fall with a grant, however young: B-40, who brought a code first is not refused because another brought it too.
    grantId: undefined,
    // B-47: what is for offline use goes on without the session.
    sessionId: grant.scopes.includes('offline_access') ? undefined : grant.sessionId,
    subject: user.id,
    clientId: client.id,
    issuedAtMs: asOf ?? began,
  })
  if (!isOver) return
  await takeBack.grant(grant.id)
  throw refuse('invalid_grant', 'What was granted has been taken back', { why: 'taken back meanwhile' })
}

async function issue(
  grantType: string,
  client: Client,
  { scopes, speaker, refreshToken, idToken }: Redeemed,
  caller: Caller,
  { issuer, audit, metrics }: TokenEnv,
): Promise<TokenReply> {
  const [access, refresh] = await Promise.all([issuer.accessToken(client, scopes, speaker), refreshToken])
  const id =
    idToken === undefined || speaker === undefined
      ? undefined
      : await issuer.idToken({ client, ...speaker, nonce: idToken.nonce, accessToken: access.token })
  metrics.count('gatehouse_tokens_total', { grant: grantType, outcome: 'issued' })
  // Machines ask without end; what they get is counted, and in the audit log would bury what people did.
  if (speaker !== undefined && grantType !== 'refresh_token') {
    audit.record({
      event: 'token.issued',
      actor: speaker.user.id,
      client: client.id,
      address: caller.address,
      requestId: caller.requestId,
      details: {
        grant_type: grantType,
        scope: scopes.join(' '),
        token: access.tokenId,
        grant: speaker.grant.id,
        refresh: refresh !== undefined,
      },
    })
  }
  return {
    access_token: access.token,
    expires_in: access.lifetime,
    token_type: 'Bearer',
    refresh_token: refresh,
    id_token: id,
    scope: scopes.join(' '),
  }
}

const WAITING = new Set(['authorization_pending', 'slow_down'])

function recordRefusal(error: unknown, asked: string, client: Client, caller: Caller, env: TokenEnv): void {
  if (!(error instanceof Refusal)) return
  const grantType = isTokenGrant(asked) ? asked : 'unknown'
  env.metrics.count('gatehouse_tokens_total', { grant: grantType, outcome: error.code })
  if (WAITING.has(error.code)) return
  env.audit.record({
    event: 'token.refused',
    client: client.id,
    address: caller.address,
    requestId: caller.requestId,
    details: {
      grant_type: grantType,
      error: error.code,
      reason: typeof error.cause === 'string' ? error.cause : undefined,
    },
  })
}
