/** The refresh grant (RFC 6749 §6): every use replaces the token; a stolen one gives its whole family away (RFC 9700 §4.14.2). */
import type { Client } from '../../store/client-metadata.ts'
import type { RefreshToken } from '../../store/refresh-tokens.ts'
import type { User } from '../../store/users.ts'
import { acrOf, MULTI_FACTOR } from '../acr.ts'
import type { Caller } from '../client-auth.ts'
import { required } from '../oauth-door.ts'
import { refuse } from '../oauth-error.ts'
import { heldByUser, parseScope } from '../scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './env.ts'

export async function redeemRefreshToken(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { form, client, caller, admit } = request
  const token = required(form, 'refresh_token')
  const requested = parseScope(form.get('scope'))
  const found = await env.stores.refreshTokens.find(token)
  // Another client's token stays as good as it was for its owner (C-63).
  if (found === undefined || found.grant.clientId !== client.id) throw notAccepted('unknown, or of another client')
  const { grant } = found
  const user = await stillGood(found, client, env)
  const scopes = narrowed(heldByUser(grant.scopes, user), requested, grant.scopes)
  admit(user)

  const successor = spend(token, found, caller, env)
  // Whoever refuses before the reply waits for it must not leave its failure to nobody.
  successor.catch(() => {})
  return {
    scopes,
    speaker: { user, grant },
    refreshToken: successor,
    ...(scopes.includes('openid') ? { idToken: {} } : {}),
  }
}

/** Spent before anything is given out: losing a token to a crash is safer than honouring it twice. */
async function spend(token: string, found: RefreshToken, caller: Caller, env: GrantEnv): Promise<string> {
  const { grant } = found
  const rotation = await env.stores.refreshTokens.rotate(token, found, env.lifetimes)
  if (rotation.outcome !== 'reused') return rotation.successor
  await env.takeBack.grant(grant.id)
  env.audit.record({
    event: 'token.reused',
    actor: grant.userId,
    client: grant.clientId,
    address: caller.address,
    requestId: caller.requestId,
    details: { grant_type: 'refresh_token', grant: grant.id, what: 'refresh_token' },
  })
  throw notAccepted('reused')
}

/** B-46: neither the token nor the grant has ended, and the person may still sign in. */
async function stillGood({ grant, expiresAt }: RefreshToken, client: Client, env: GrantEnv): Promise<User> {
  const now = env.clock()
  if (grant.revokedAt !== undefined) throw notAccepted('revoked')
  if (expiresAt <= now || grant.expiresAt <= now) throw notAccepted('expired')
  const user = await env.stores.users.findById(grant.userId)
  if (user === undefined || user.disabled) throw notAccepted('the user is gone or disabled')
  // The demand may be younger than the grant: who proved one factor then must come back and prove two.
  const isDemanded = user.roleRequiresSecondFactor || client.requireSecondFactor
  if (isDemanded && acrOf(grant.details.amr) !== MULTI_FACTOR) throw notAccepted('a second factor is needed')
  return user
}

/** RFC 6749 §6: less than was granted may be asked for, never more. */
function narrowed(
  held: readonly string[],
  requested: readonly string[] | undefined,
  granted: readonly string[],
): readonly string[] {
  if (requested === undefined) return held
  if (requested.some((name) => !granted.includes(name))) {
    throw refuse('invalid_scope', 'More is asked for than was granted')
  }
  return held.filter((name) => requested.includes(name))
}

function notAccepted(why: string) {
  return refuse('invalid_grant', 'The refresh token is unknown, expired or used', { why })
}
