/** The password grant (RFC 6749 §4.3): off by default, for clients that are trusted with it. */
import { acrOf } from '../acr.ts'
import { required } from '../oauth-door.ts'
import { refuse } from '../oauth-error.ts'
import { allowedToClient, heldByUser, parseScope, withoutUselessOffline } from '../scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './env.ts'
import { beginFamily } from './family.ts'

export async function redeemPassword(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { form, client, caller, admit } = request
  const username = required(form, 'username')
  const password = required(form, 'password')
  const requested = parseScope(form.get('scope'))
  const allowed = withoutUselessOffline(allowedToClient(requested, client), client)

  const verdict = await env.checkPassword({
    username,
    password,
    address: caller.address,
    clientId: client.id,
    requestId: caller.requestId,
  })
  if (verdict.outcome === 'busy') {
    throw refuse('temporarily_unavailable', 'Too many sign-ins at once', { headers: { 'retry-after': '1' } })
  }
  if (verdict.outcome !== 'good') throw notAccepted(verdict.outcome)
  const { user } = verdict
  // C-64: a password alone is not who they are.
  const needsMore = user.hasSecondFactor || user.roleRequiresSecondFactor || client.requireSecondFactor
  if (needsMore) throw notAccepted('a second factor is needed')

  admit(user)
  const amr = ['pwd']
  const scopes = heldByUser(allowed, user)
  const { grant, refreshToken } = await beginFamily(
    {
      kind: 'password',
      clientId: client.id,
      userId: user.id,
      sessionId: undefined,
      scopes,
      authTime: env.clock(),
      details: { amr, acr: acrOf(amr) },
    },
    client,
    env,
  )
  return {
    scopes,
    speaker: { user, grant },
    refreshToken,
    // The contract's response has no ID token: it is for those who ask for one.
    ...(requested?.includes('openid') === true ? { idToken: {} } : {}),
  }
}

/** Whatever was wrong, it looks the same. */
function notAccepted(why: string) {
  return refuse('invalid_grant', 'The user name or password is not right', { why })
}
