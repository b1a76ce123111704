/** The authorization code grant (RFC 6749 §4.1.3) with PKCE (RFC 7636). */
import { Refusal } from 'gatehouse-protocol'
import type { CodeDetails } from '../../store/authorizations/codes.ts'
import type { Grant } from '../../store/authorizations/grants.ts'
import { required } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import { limitToRights } from '../tokens/scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './grant.ts'
import { chooseGrantTarget, issueFirstRefreshToken, refreshTokenKey } from './grant.ts'
import { verifies } from './pkce.ts'

export async function redeemAuthorizationCode(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { form, client } = request
  const code = required(form, 'code')
  // Spend before signing: losing a code to a crash is safer than issuing it twice (RFC 6749 §4.1.2).
  const spent = await env.stores.codes.spend(code)
  if (spent === undefined) throw notAccepted('unknown')
  const grant = await env.stores.grants.find(spent.grantId)
  if (spent.outcome === 'reused') throw await refuseReuse(spent.grantId, grant, request, env)
  if (spent.outcome === 'expired') throw notAccepted('expired')
  if (spent.outcome === 'revoked' || grant === undefined) throw notAccepted('grant revoked or deleted')
  if (grant.clientId !== client.id) throw notAccepted('issued to another client')
  if (form.get('redirect_uri') !== spent.details.redirectUri)
    throw notAccepted('redirect_uri differs', 'redirect_uri differs from that of the authorization request')
  checkVerifier(spent.details, form.get('code_verifier'))
  checkKey(spent.details, request.boundKey)

  const user = await env.stores.users.findById(grant.userId)
  if (user === undefined || user.disabled) throw notAccepted('user deleted or disabled')
  try {
    request.countUser(user)
  } catch (error) {
    throw await restoreCode(error, code, grant, request, env)
  }
  const { scopes, target } = chooseGrantTarget(request, grant, limitToRights(grant.scopes, user), env)
  const { boundKey } = refreshTokenKey(request)
  if (boundKey !== undefined) await env.stores.grants.bind(grant, boundKey)
  return {
    scopes,
    target,
    onBehalfOf: { user, grant },
    asOf: grant.createdAt,
    refreshToken: await issueFirstRefreshToken(grant, env),
    ...(scopes.includes('openid') ? { idToken: { nonce: spent.details.nonce } } : {}),
  }
}

/** RFC 6749 §4.1.2: the maximum lifetime of a code, however often it is restored. */
const MAX_LIFETIME_MS = 600_000
const RETRY_WINDOW_MS = 60_000

/** A request that the rate limit refuses does not lose its code: it stays valid for a minute after Retry-After. */
async function restoreCode(
  error: unknown,
  code: string,
  { createdAt }: Grant,
  { client }: GrantRequest,
  env: GrantEnv,
): Promise<unknown> {
  // FAPI 2.0 Security Profile §5.3.2.1: 60 seconds at most, so that it keeps the expiry that it has.
  const longest = client.profile === 'fapi2' ? 0 : MAX_LIFETIME_MS
  const seconds = error instanceof Refusal ? Number(error.details.headers?.['retry-after'] ?? 0) : 0
  const validUntil = env.clock() + seconds * 1000 + RETRY_WINDOW_MS
  await env.stores.codes.restore(code, Math.min(validUntil, createdAt + longest))
  return error
}

/** B-41: one of the two callers stole the code, so the grant is revoked with all its tokens, also those being issued now. */
async function refuseReuse(grantId: string, grant: Grant | undefined, { client, caller }: GrantRequest, env: GrantEnv) {
  await env.revocations.revokeGrant(grantId)
  env.audit.record({
    event: 'token.reused',
    actor: grant?.userId,
    client: client.id,
    address: caller.address,
    requestId: caller.id,
    details: { grant_type: 'authorization_code', grant: grantId, what: 'code' },
  })
  return notAccepted('reused')
}

/** RFC 9700 §2.1.1: a verifier for a code without a challenge is a PKCE downgrade attack (C-26). */
function checkVerifier({ challenge }: CodeDetails, verifier: string | undefined): void {
  if (challenge === undefined) {
    if (verifier !== undefined)
      throw notAccepted(
        'code_verifier without code_challenge',
        'code_verifier was sent, but the authorization request had no code_challenge',
      )
    return
  }
  if (verifier === undefined)
    throw notAccepted(
      'no code_verifier',
      'code_verifier is missing: the authorization request had a code_challenge (PKCE)',
    )
  if (!verifies(verifier, challenge))
    throw notAccepted(
      'wrong code_verifier',
      'code_verifier does not match the code_challenge of the authorization request (PKCE)',
    )
}

/** RFC 9449 §10: a code that was asked for with `dpop_jkt` is redeemed with a proof by that key. */
function checkKey({ boundKey }: CodeDetails, proven: string | undefined): void {
  if (boundKey !== undefined && proven !== boundKey)
    throw notAccepted(
      'another key than dpop_jkt',
      'The code is bound to a key: send a DPoP proof by the key of dpop_jkt',
    )
}

/** The code is spent by then, so that naming the wrong parameter does not help anyone who stole it. */
function notAccepted(
  why: string,
  text = 'The code is unknown, expired, used or was issued for another request',
): ReturnType<typeof refuse> {
  return refuse('invalid_grant', text, { why })
}
