/** The password grant (RFC 6749 §4.3): only for clients that are registered for it. */

import type { User } from '../../store/accounts/user.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { required } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import type { PasswordAttempt } from '../passwords/password-check.ts'
import { deriveAcr } from '../tokens/claims.ts'
import { dropUnusableOfflineAccess, limitToRights, readAllowedScopes } from '../tokens/scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './grant.ts'
import { chooseGrantTarget, createGrant, refreshTokenKey } from './grant.ts'

export async function redeemPassword(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { form, client, caller, countUser, audience } = request
  const username = required(form, 'username')
  const password = required(form, 'password')
  const known = env.apis.known()
  // The request is its own authorization request: the grant covers what it names.
  const audiences = audience === undefined ? undefined : [audience]
  const scope = form.get('scope')
  const allowed = dropUnusableOfflineAccess(readAllowedScopes(scope, client, audiences, known), client)

  const user = await userWithPassword(
    { username, password, address: caller.address, clientId: client.id, requestId: caller.id },
    client,
    env,
  )
  countUser(user)
  const amr = ['pwd']
  const granted = limitToRights(allowed, user)
  const { scopes, target } = chooseGrantTarget(request, { details: { amr, audiences }, scopes: granted }, granted, env)
  // The contract's response has no ID token, so it is issued only on request.
  const isOpenIdAsked = scope !== undefined && scopes.includes('openid')
  const { grant, refreshToken } = await createGrant(
    {
      kind: 'password',
      clientId: client.id,
      userId: user.id,
      sessionId: undefined,
      scopes: granted,
      authTime: env.clock(),
      details: {
        amr,
        acr: deriveAcr(amr),
        audiences,
        ...(isOpenIdAsked ? {} : { isOpenIdUnasked: true }),
        ...refreshTokenKey(request),
      },
    },
    client,
    env,
  )
  return {
    scopes,
    target,
    onBehalfOf: { user, grant },
    refreshToken,
    ...(isOpenIdAsked ? { idToken: {} } : {}),
  }
}

/** The user whose password this is; refuses users for whom a password alone is not enough. */
export async function userWithPassword(
  attempt: PasswordAttempt,
  client: Client,
  env: Pick<GrantEnv, 'checkPassword'>,
): Promise<User> {
  // C-64: a password alone does not replace the second factor.
  const insufficiency = (user: User) =>
    user.hasSecondFactor || user.requiresSecondFactor || client.requireSecondFactor
      ? 'second factor required'
      : attempt.insufficiency?.(user)
  const verdict = await env.checkPassword({ ...attempt, insufficiency })
  if (verdict.outcome === 'busy')
    throw refuse('temporarily_unavailable', 'Too many concurrent sign-ins', { headers: { 'retry-after': '1' } })
  if (verdict.outcome === 'delayed')
    throw refuse('temporarily_unavailable', 'Too many failed sign-ins: the password was not checked', {
      status: 429,
      why: 'delayed',
      headers: { 'retry-after': String(verdict.seconds) },
    })
  // C-64: the same reply for every cause.
  if (verdict.outcome === 'wrong')
    throw refuse('invalid_grant', 'The username or password is wrong', { why: verdict.reason })
  const { user } = verdict
  // Said plainly: the holder of the right password can do something about it.
  if (user.mustChangePassword)
    throw refuse('invalid_grant', 'The password must be changed first: sign in to the account page with a browser', {
      why: 'password must be changed',
    })
  return user
}
