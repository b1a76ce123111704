/** The authorization code grant (RFC 6749 §4.1.3) with PKCE (RFC 7636). */
import { Refusal } from '../../protocol/refusal.ts'
import type { CodeDetails } from '../../store/codes.ts'
import type { Grant } from '../../store/grants.ts'
import { required } from '../oauth-door.ts'
import { refuse } from '../oauth-error.ts'
import { heldByUser } from '../scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './env.ts'
import { firstRefreshToken } from './family.ts'
import { verifies } from './pkce.ts'

export async function redeemAuthorizationCode(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { form, client } = request
  const code = required(form, 'code')
  // Spend before signing: losing a code to a crash is safer than issuing it twice (RFC 6749 §4.1.2).
  const spent = await env.stores.codes.spend(code)
  if (spent === undefined) throw notAccepted('unknown')
  const grant = await env.stores.grants.find(spent.grantId)
  if (spent.outcome === 'reused') throw await reused(spent.grantId, grant, request, env)
  if (spent.outcome === 'expired') throw notAccepted('expired')
  if (spent.outcome === 'revoked' || grant === undefined) throw notAccepted('its grant is gone')
  if (grant.clientId !== client.id) throw notAccepted('of another client')
  if (form.get('redirect_uri') !== spent.details.redirectUri) throw notAccepted('another redirect_uri')
  checkVerifier(spent.details, form.get('code_verifier'))

  const user = await env.stores.users.findById(grant.userId)
  if (user === undefined || user.disabled) throw notAccepted('the user is gone or disabled')
  try {
    request.admit(user)
  } catch (error) {
    throw await givenBack(error, code, grant, env)
  }
  const scopes = heldByUser(grant.scopes, user)
  return {
    scopes,
    speaker: { user, grant },
    asOf: grant.createdAt,
    refreshToken: await firstRefreshToken(grant, env),
    ...(scopes.includes('openid') ? { idToken: { nonce: spent.details.nonce } } : {}),
  }
}

/** RFC 6749 §4.1.2: no code should live longer, however often it is given back. */
const LONGEST_LIFE_MS = 600_000
const TIME_TO_RETRY_MS = 60_000

/** Who has come too often loses nothing: once the wait that they are told is over, the same code is good for a minute. */
async function givenBack(error: unknown, code: string, { createdAt }: Grant, env: GrantEnv): Promise<unknown> {
  const seconds = error instanceof Refusal ? Number(error.details.headers?.['retry-after'] ?? 0) : 0
  const wanted = env.clock() + seconds * 1000 + TIME_TO_RETRY_MS
  await env.stores.codes.giveBack(code, Math.min(wanted, createdAt + LONGEST_LIFE_MS))
  return error
}

/** B-41: one of the two who redeemed it stole it, and nobody knows which. What the first is being given at this moment falls too. */
async function reused(grantId: string, grant: Grant | undefined, { client, caller }: GrantRequest, env: GrantEnv) {
  await env.takeBack.grant(grantId)
  env.audit.record({
    event: 'token.reused',
    actor: grant?.userId,
    client: client.id,
    address: caller.address,
    requestId: caller.requestId,
    details: { grant_type: 'authorization_code', grant: grantId, what: 'code' },
  })
  return notAccepted('reused')
}

/** RFC 9700 §2.1.1: a verifier without a challenge is somebody's attempt to take PKCE out of the way (C-26). */
function checkVerifier({ challenge }: CodeDetails, verifier: string | undefined): void {
  if (challenge === undefined) {
    if (verifier !== undefined) throw notAccepted('a code_verifier without a code_challenge')
    return
  }
  if (verifier === undefined || !verifies(verifier, challenge)) throw notAccepted('the code_verifier is wrong')
}

function notAccepted(why: string) {
  return refuse('invalid_grant', 'The code is unknown, expired, used or not for this request', { why })
}
