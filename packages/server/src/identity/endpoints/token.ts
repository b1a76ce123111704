/** POST /connect/token (RFC 6749 §3.2): authenticates the client, redeems the grant, issues the tokens. */

import { Refusal } from 'gatehouse-protocol'
import { FORM, type FormParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { User } from '../../store/accounts/user.ts'
import { type Client, JWT_BEARER, TOKEN_EXCHANGE } from '../../store/clients/client-metadata.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { readResources } from '../apis/targets.ts'
import {
  authenticateClient,
  type ClientAuthEnv,
  type ClientRequest,
  checkProof,
  type ProofEnv,
  readForm,
  required,
} from '../clients/client-request.ts'
import type { GoodProof } from '../dpop/dpop.ts'
import { redeemAuthorizationCode } from '../grants/authorization-code.ts'
import { redeemClientCredentials } from '../grants/client-credentials.ts'
import { redeemDeviceCode } from '../grants/device-code.ts'
import type { GrantEnv, Redeem, Redeemed, TokenGrantType } from '../grants/grant.ts'
import { redeemPassword } from '../grants/password.ts'
import { redeemRefreshToken } from '../grants/refresh-token.ts'
import { ACCESS_TOKEN_TYPE, exchangeableScopes, redeemTokenExchange } from '../grants/token-exchange.ts'
import { refuse } from '../oauth-error.ts'
import type { Issuer } from '../tokens/issuer.ts'

export interface TokenEnv extends GrantEnv, ClientAuthEnv, ProofEnv {
  readonly issuer: Issuer
  readonly metrics: Metrics
}

/** The names of the contract; members that are not issued are absent. */
export interface TokenReply {
  readonly access_token: string
  readonly expires_in: number
  readonly token_type: 'Bearer' | 'DPoP'
  readonly refresh_token?: string | undefined
  readonly id_token?: string | undefined
  readonly scope: string
  /** Only for a token exchange (RFC 8693 §2.2.1). */
  readonly issued_token_type?: string | undefined
}

const GRANTS: Readonly<Record<TokenGrantType, Redeem>> = {
  authorization_code: redeemAuthorizationCode,
  client_credentials: redeemClientCredentials,
  refresh_token: redeemRefreshToken,
  password: redeemPassword,
  'urn:ietf:params:oauth:grant-type:device_code': redeemDeviceCode,
  [TOKEN_EXCHANGE]: redeemTokenExchange,
  [JWT_BEARER]: async (request, env) => (await import('../grants/id-jag.ts')).redeemIdJag(request, env),
}

export function tokenRoute(env: TokenEnv): Route {
  return {
    method: 'POST',
    path: '/connect/token',
    body: FORM,
    async handle(context) {
      const { reply, noteUndelivered } = await token(readForm(context, 'resource'), context, env)
      context.json(reply)
      if (noteUndelivered !== undefined) context.whenUnsent(noteUndelivered)
    },
  }
}

interface Answer extends Pick<Redeemed, 'noteUndelivered'> {
  readonly reply: TokenReply
}

async function token(form: FormParameters, caller: ClientRequest, env: TokenEnv): Promise<Answer> {
  const grantType = required(form, 'grant_type')
  // First: a request that is answered with a nonce is repeated with the same assertion and code.
  const proof = await checkProof(caller, form, env)
  const client = await authenticateClient(caller, form, env)
  const began = env.clock()
  let redeemed: Redeemed | undefined
  try {
    const redeem = grantFor(grantType, client)
    const boundKey = await useProof(proof, client)
    const countUser = (user: User): void => {
      caller.identify({ user: user.id })
      env.rateLimits.countCaller('token', caller.address, { user: user.id })
    }
    const audience = requestedAudience(form, grantType, client, env)
    redeemed = await redeem({ form, client, caller, boundKey, audience, countUser }, env)
    await refuseRevoked(redeemed, client, began, env)
    const reply = await issue(grantType, client, redeemed, boundKey, caller, env)
    return { reply, ...(redeemed.noteUndelivered && { noteUndelivered: redeemed.noteUndelivered }) }
  } catch (error) {
    redeemed?.noteUndelivered?.()
    recordRefusal(error, grantType, client, caller, env)
    throw error
  }
}

/** The thumbprint of the key; the proof is used up from here on. */
async function useProof(proof: GoodProof | undefined, client: Client): Promise<string | undefined> {
  if (proof === undefined && client.requireDpop)
    throw refuse(
      'invalid_dpop_proof',
      'The client is registered for DPoP: the request needs a proof in the DPoP header',
    )
  await proof?.spend()
  return proof?.thumbprint
}

/** RFC 6749 §5.2: unknown grant types, and those the client may not use. */
function grantFor(name: string, client: Client): Redeem {
  if (!isTokenGrant(name)) throw refuse('unsupported_grant_type', 'This grant_type is not offered')
  if (!client.grantTypes.has(name))
    throw refuse('unauthorized_client', `The client is not registered for the grant_type ${name}`)
  return GRANTS[name]
}

function isTokenGrant(name: string): name is TokenGrantType {
  return Object.hasOwn(GRANTS, name)
}

/** RFC 8707 §2.2. */
function requestedAudience(
  form: FormParameters,
  grantType: string,
  client: Client,
  { issuer, apis }: TokenEnv,
): string | undefined {
  const known = apis.known()
  const isExchange = grantType === TOKEN_EXCHANGE
  const registered = isExchange ? exchangeableScopes(client, known, known.scopes()) : client.scopes
  const rules = { issuer: issuer.name, registered, isAgent: client.agent, known, most: 1 }
  return readResources(form.all('resource'), rules)?.[0]
}

/** The grant may have been revoked since it was read: a token issued now would be newer than the revocation, and survive it. */
export async function refuseRevoked(
  { onBehalfOf, asOf, exchange }: Pick<Redeemed, 'onBehalfOf' | 'asOf' | 'exchange'>,
  client: Client,
  began: number,
  { revocationList, revocations }: Pick<GrantEnv, 'revocationList' | 'revocations'>,
): Promise<void> {
  if (onBehalfOf === undefined) return
  const { user, grant } = onBehalfOf
  const isOver = revocationList.isRevoked({
    tokenId: '',
    // Revoking a grant revokes its tokens, however new. B-40: the first use of a code succeeds although a second use revokes the grant.
    grantId: undefined,
    // B-47: offline access continues without the session.
    sessionId: grant.scopes.includes('offline_access') ? undefined : grant.sessionId,
    subject: user.id,
    clientId: client.id,
    issuedAtMs: asOf ?? began,
  })
  if (!isOver) return
  // The grant behind a token exchange is that of another client.
  if (exchange === undefined) await revocations.revokeGrant(grant.id)
  throw refuse('invalid_grant', 'The grant has been revoked', { why: 'revoked meanwhile' })
}

async function issue(
  grantType: string,
  client: Client,
  { scopes, target, onBehalfOf, refreshToken, idToken, exchange }: Redeemed,
  boundKey: string | undefined,
  caller: ClientRequest,
  { issuer, audit, metrics }: TokenEnv,
): Promise<TokenReply> {
  const [access, refresh] = await Promise.all([
    issuer.accessToken(client, scopes, onBehalfOf, { target, exchanged: exchange, boundKey }),
    refreshToken,
  ])
  const id =
    idToken === undefined || onBehalfOf === undefined
      ? undefined
      : await issuer.idToken({ client, ...onBehalfOf, nonce: idToken.nonce, accessToken: access.token })
  metrics.count('gatehouse_tokens_total', { grant: grantType, outcome: 'issued' })
  if (target.resource !== undefined) metrics.count('gatehouse_api_tokens_total', { resource: target.resource })
  if (exchange !== undefined) {
    audit.record({
      event: 'token.exchanged',
      ...(onBehalfOf && { actor: onBehalfOf.user.id }),
      client: client.id,
      address: caller.address,
      requestId: caller.id,
      details: {
        scope: scopes.join(' '),
        audience: target.resource ?? 'builtin',
        token: access.tokenId,
        subject_token: exchange.subjectTokenId,
        depth: exchange.ancestors.length,
      },
    })
  }
  // Tokens for machines are counted in the metrics only: they would flood the audit log.
  else if (onBehalfOf !== undefined && grantType !== 'refresh_token') {
    audit.record({
      event: 'token.issued',
      actor: onBehalfOf.user.id,
      client: client.id,
      address: caller.address,
      requestId: caller.id,
      details: {
        grant_type: grantType,
        scope: scopes.join(' '),
        token: access.tokenId,
        grant: onBehalfOf.grant.id,
        refresh: refresh !== undefined,
      },
    })
  }
  return {
    access_token: access.token,
    expires_in: access.lifetime,
    token_type: boundKey === undefined ? 'Bearer' : 'DPoP',
    refresh_token: refresh,
    id_token: id,
    scope: scopes.join(' '),
    issued_token_type: exchange && ACCESS_TOKEN_TYPE,
  }
}

/** The client may retry; a delayed sign-in is in the audit log as `signin.delayed`. */
const WAITING = new Set(['authorization_pending', 'slow_down', 'temporarily_unavailable'])

function recordRefusal(error: unknown, asked: string, client: Client, caller: ClientRequest, env: TokenEnv): void {
  if (!(error instanceof Refusal)) return
  const grantType = isTokenGrant(asked) ? asked : 'unknown'
  env.metrics.count('gatehouse_tokens_total', { grant: grantType, outcome: error.code })
  if (WAITING.has(error.code)) return
  env.audit.record({
    event: 'token.refused',
    client: client.id,
    address: caller.address,
    requestId: caller.id,
    details: {
      grant_type: grantType,
      error: error.code,
      reason: typeof error.cause === 'string' ? error.cause : undefined,
    },
  })
}
