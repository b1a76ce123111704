/** The refresh token grant (RFC 6749 §6) with rotation: reuse of a rotated token revokes the grant (RFC 9700 §4.14.2). */

import type { User } from '../../store/accounts/user.ts'
import type { RefreshToken } from '../../store/authorizations/refresh-tokens.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { isForAgents } from '../apis/targets.ts'
import { type ClientRequest, required } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import { deriveAcr, MULTI_FACTOR } from '../tokens/claims.ts'
import { limitToRights, parseScope, scopeNames } from '../tokens/scope.ts'
import { chooseGrantTarget, type GrantEnv, type GrantRequest, type Redeemed } from './grant.ts'
import { chooseLifetimes } from './lifetimes.ts'

export async function redeemRefreshToken(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { form, client, caller, countUser } = request
  const token = required(form, 'refresh_token')
  const known = env.apis.known()
  const requested = parseScope(form.get('scope'), known)
  const found = await env.stores.refreshTokens.find(token)
  // A token presented by the wrong client stays valid for its own (C-63).
  if (found === undefined || found.grant.clientId !== client.id)
    throw notAccepted('unknown, or issued to another client')
  const { grant } = found
  checkKey(found, request)
  const user = await checkStillValid(found, client, env)
  const audiences = request.audience === undefined ? grant.details.audiences : [request.audience]
  if (!isForAgents(audiences, known)) refuseMore(requested, grant.scopes)
  const held = limitToRights(grant.scopes, user).filter((name) => requested?.includes(name) !== false)
  const { scopes, target } = chooseGrantTarget(request, grant, held, env)
  countUser(user)

  const rotated = succeed(token, found, client, caller, env)
  const successor = rotated.then((rotation) => rotation.successor)
  const isIdTokenAsked = requested !== undefined || grant.details.isOpenIdUnasked === undefined
  // The endpoint may refuse before it awaits this promise: a rejection must not go unhandled.
  successor.catch(() => {})
  return {
    scopes,
    target,
    onBehalfOf: { user, grant },
    refreshToken: successor,
    noteUndelivered: () =>
      void rotated.then(
        ({ digest }) => digest && env.undelivered.note(digest),
        () => {},
      ),
    ...(scopes.includes('openid') && isIdTokenAsked ? { idToken: {} } : {}),
  }
}

/** RFC 9449 §5: it stays valid for the client that has the key. */
function checkKey({ grant }: RefreshToken, { boundKey }: GrantRequest): void {
  const expected = grant.details.boundKey
  if (expected === undefined || expected === boundKey) return
  if (boundKey === undefined)
    throw refuse('invalid_dpop_proof', 'The refresh token is bound to a key: send a proof in the DPoP header')
  throw refuse('invalid_grant', 'The refresh token is bound to another key', { why: 'another key' })
}

/**
 * Rotate before replying: losing a token to a crash is safer than accepting it twice. A successor that did not reach its client, as far as
 * the nodes know, is given again while it is unused: a thief gains no more than by a token that was not rotated. With the FAPI profile the same token stays (§5.3.2.1):
 * nobody can use it without the key of the client, and no lost response ends the grant.
 */
async function succeed(
  token: string,
  found: RefreshToken,
  client: Client,
  caller: ClientRequest,
  env: GrantEnv,
): Promise<{ readonly successor: string; readonly digest?: string }> {
  const { grant } = found
  const { refreshTokens } = env.stores
  const lifetimes = chooseLifetimes(grant.details.audiences, env)
  if (client.profile === 'fapi2') {
    if (await refreshTokens.renew(found, lifetimes)) return { successor: token }
  } else {
    const rotation = await refreshTokens.rotate(token, found, lifetimes, env.undelivered)
    if (rotation.outcome !== 'reused') return rotation
  }
  await env.revocations.revokeGrant(grant.id)
  env.audit.record({
    event: 'token.reused',
    actor: grant.userId,
    client: grant.clientId,
    address: caller.address,
    requestId: caller.id,
    details: { grant_type: 'refresh_token', grant: grant.id, what: 'refresh_token' },
  })
  throw notAccepted('reused')
}

/** B-46: the token and its grant are valid, and the user may still sign in. */
async function checkStillValid({ grant, expiresAt }: RefreshToken, client: Client, env: GrantEnv): Promise<User> {
  const now = env.clock()
  if (grant.revokedAt !== undefined) throw notAccepted('revoked')
  if (expiresAt <= now || grant.expiresAt <= now) throw notAccepted('expired')
  const user = await env.stores.users.findById(grant.userId)
  if (user === undefined || user.disabled) throw notAccepted('user deleted or disabled')
  // The requirement may be newer than the grant: the user must then sign in again with two factors.
  const needsSecondFactor = user.requiresSecondFactor || client.requireSecondFactor
  if (needsSecondFactor && deriveAcr(grant.details.amr) !== MULTI_FACTOR) throw notAccepted('second factor required')
  return user
}

/** RFC 6749 §6: a refresh may request fewer scopes than were granted, never more. */
function refuseMore(requested: readonly string[] = [], granted: readonly string[]): void {
  const more = requested.filter((name) => !granted.includes(name))
  if (more.length > 0) throw refuse('invalid_scope', `${scopeNames(more)} not part of what was granted`)
}

function notAccepted(why: string) {
  return refuse('invalid_grant', 'The refresh token is unknown, expired or used', { why })
}
