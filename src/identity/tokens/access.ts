/** Authenticates access tokens (RFC 9068): a raw token in, a Principal out. A token seen before costs no signature check. */
import { hash } from 'node:crypto'
import type { RevocationList, TokenOrigin } from '../../events/revocation-list.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { type Clock, seconds } from '../../protocol/clock.ts'
import type { Authenticate, Principal } from '../../protocol/principal.ts'
import { readTokenId } from './issuer.ts'
import type { SignedByUs, Signer } from './signer.ts'

export interface AccessOptions {
  readonly issuer: string
  readonly signer: Pick<Signer, 'verify'>
  readonly revocationList: RevocationList
  readonly clock: Clock
  /** The names of a user; called once for each new token. */
  readonly namesOf: (userId: string) => Promise<{ username: string; displayName: string } | undefined>
}

export interface Access {
  readonly authenticate: Authenticate
  /** Clears the caches, for example because a signing key was withdrawn. */
  forget(): void
}

interface VerifiedToken {
  readonly principal: Principal
  readonly origin: TokenOrigin
  /** The result of the last revocation check, valid for that version of the revocation list. */
  checked?: { readonly version: number; readonly principal: Principal | undefined }
}

interface RecentToken {
  readonly token: string
  readonly verified: VerifiedToken
}

const MAX_VERIFIED = 20_000
/** Recent tokens are kept whole: comparing two strings is cheaper than hashing one. */
const MAX_RECENT = 1_000

export function createAccess({ issuer, signer, revocationList, clock, namesOf }: AccessOptions): Access {
  let verifiedTokens = new LruMap<VerifiedToken>(MAX_VERIFIED)
  let recentTokens = new LruMap<RecentToken>(MAX_RECENT)

  return {
    authenticate(token) {
      const end = endOf(token)
      const recent = recentTokens.get(end)
      return recent?.token === token ? checkStillValid(recent.verified) : lookUp(token, end)
    },
    forget() {
      verifiedTokens = new LruMap(MAX_VERIFIED)
      recentTokens = new LruMap(MAX_RECENT)
    },
  }

  function checkStillValid(verified: VerifiedToken | undefined): Principal | undefined {
    if (verified === undefined || clock() >= verified.principal.expiresAt * 1000) return undefined
    const { version } = revocationList
    let { checked } = verified
    if (checked?.version !== version) {
      const { principal, origin } = verified
      checked = {
        version,
        principal: revocationList.isRevoked(origin) ? undefined : revocationList.narrow(origin, principal),
      }
      verified.checked = checked
    }
    return checked.principal
  }

  async function lookUp(token: string, end: string): Promise<Principal | undefined> {
    // forget() replaces the maps: a verification that was under way then must not fill the new ones.
    const [byDigest, recent] = [verifiedTokens, recentTokens]
    const digest = hash('sha256', token, 'base64')
    const cached = byDigest.get(digest)
    const verified = cached ?? (await verify(token))
    if (verified === undefined || clock() >= verified.principal.expiresAt * 1000) return undefined
    if (cached === undefined) byDigest.set(digest, verified)
    recent.set(end, { token, verified })
    return checkStillValid(verified)
  }

  async function verify(token: string): Promise<VerifiedToken | undefined> {
    const signed = await signer.verify('at+jwt', token)
    const verified = signed === undefined ? undefined : readClaims(signed, issuer)
    if (verified === undefined || signed === undefined) return undefined
    const now = seconds(clock())
    const { claims } = signed
    if (typeof claims.nbf === 'number' && claims.nbf > now + CLOCK_SKEW_SECONDS) return undefined
    if (verified.principal.kind === 'client') return verified
    const names = await namesOf(verified.principal.subject)
    return names === undefined ? undefined : { ...verified, principal: { ...verified.principal, ...names } }
  }
}

/** The end of the signature is enough to tell tokens apart, and cheaper to hash as a map key. */
function endOf(token: string): string {
  return token.slice(-32)
}

/** How far the clock of another node may be ahead of ours. */
const CLOCK_SKEW_SECONDS = 5

function readClaims({ claims, keyId }: SignedByUs, issuer: string): VerifiedToken | undefined {
  const { iss, sub, client_id: clientId, exp, iat, jti, scope, sid, auth_time: authTime } = claims
  if (iss !== issuer || typeof sub !== 'string' || typeof clientId !== 'string' || typeof jti !== 'string') return
  if (typeof exp !== 'number' || typeof iat !== 'number' || typeof scope !== 'string') return undefined
  const id = readTokenId(jti)
  if (id === undefined) return undefined
  const issuedAtMs = iat * 1000 + id.milliseconds
  const sessionId = typeof sid === 'string' ? sid : undefined
  return {
    principal: {
      subject: sub,
      kind: sub === clientId ? 'client' : 'user',
      clientId,
      scopes: scopesOf(scope),
      roles: stringsOf(claims.role),
      audiences: typeof claims.aud === 'string' ? [claims.aud] : stringsOf(claims.aud),
      tokenId: jti,
      keyId,
      sessionId,
      grantId: id.grantId,
      username: undefined,
      displayName: undefined,
      issuedAt: issuedAtMs / 1000,
      expiresAt: exp,
      authTime: typeof authTime === 'number' ? authTime : undefined,
    },
    origin: { tokenId: jti, grantId: id.grantId, sessionId, subject: sub, clientId, issuedAtMs },
  }
}

const scopeSets = new LruMap<ReadonlySet<string>>(1_000)

/** Most tokens of a client have the same scopes and share one set. */
function scopesOf(text: string): ReadonlySet<string> {
  let scopes = scopeSets.get(text)
  if (scopes === undefined) {
    scopes = new Set(text.split(' ').filter((name) => name !== ''))
    scopeSets.set(text, scopes)
  }
  return scopes
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
