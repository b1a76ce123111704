/** Who is calling? A raw access token in, a Principal out; a token once verified costs a digest and a few map look-ups. */
import { hash } from 'node:crypto'
import type { Denylist, Descent } from '../events/denylist.ts'
import { type Clock, seconds } from '../protocol/clock.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { Recent } from './recent.ts'
import type { SignedByUs, Signer } from './signer.ts'
import { readTokenId } from './token-id.ts'

export interface AccessOptions {
  readonly issuer: string
  readonly signer: Pick<Signer, 'verify'>
  readonly denylist: Denylist
  readonly clock: Clock
  /** How a person is called; asked once for each new token. */
  readonly namesOf: (userId: string) => Promise<{ username: string; displayName: string } | undefined>
}

export interface Access {
  readonly authenticate: Authenticate
  /** Forget what was verified, for example because a key was withdrawn. */
  forget(): void
}

interface Verified {
  readonly principal: Principal
  readonly descent: Descent
  /** What the token is worth by the denylist as it was in that version. */
  judged?: { readonly version: number; readonly principal: Principal | undefined }
}

const MOST_REMEMBERED = 20_000
/** Tokens that are kept as they are, of those that came last: comparing two costs less than a digest. */
const MOST_KEPT_WHOLE = 500

interface Kept {
  readonly token: string
  readonly verified: Verified
}

export function createAccess({ issuer, signer, denylist, clock, namesOf }: AccessOptions): Access {
  let remembered = new Recent<Verified>(MOST_REMEMBERED)
  let lately = new Map<string, Kept>()

  return {
    authenticate(token) {
      const kept = lately.get(endOf(token))
      return kept?.token === token ? judge(kept.verified) : recall(token).then(judge)
    },
    forget() {
      remembered = new Recent(MOST_REMEMBERED)
      lately = new Map()
    },
  }

  function judge(verified: Verified | undefined): Principal | undefined {
    if (verified === undefined || clock() >= verified.principal.expiresAt * 1000) return undefined
    const { version } = denylist
    let { judged } = verified
    if (judged?.version !== version) {
      const { principal, descent } = verified
      judged = { version, principal: denylist.denies(descent) ? undefined : denylist.remaining(descent, principal) }
      verified.judged = judged
    }
    return judged.principal
  }

  async function recall(token: string): Promise<Verified | undefined> {
    // Forgetting starts new maps: what is being verified then is not remembered by them.
    const [known, whole] = [remembered, lately]
    const digest = hash('sha256', token, 'base64')
    const found = known.get(digest)
    const verified = found ?? (await verify(token))
    if (verified === undefined || clock() >= verified.principal.expiresAt * 1000) return undefined
    if (found === undefined) known.set(digest, verified)
    if (whole.size >= MOST_KEPT_WHOLE) whole.clear()
    whole.set(endOf(token), { token, verified })
    return verified
  }

  async function verify(token: string): Promise<Verified | undefined> {
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

/** The end of a signature tells tokens apart, and a map reads less of it. */
function endOf(token: string): string {
  return token.slice(-32)
}

/** Another node may be ahead of us by this much. */
const CLOCK_SKEW_SECONDS = 5

function readClaims({ claims, keyId }: SignedByUs, issuer: string): Verified | undefined {
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
      roles: textsOf(claims.role),
      audiences: typeof claims.aud === 'string' ? [claims.aud] : textsOf(claims.aud),
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
    descent: { tokenId: jti, grantId: id.grantId, sessionId, subject: sub, clientId, issuedAtMs },
  }
}

const scopeSets = new Recent<ReadonlySet<string>>(1_000)

/** Most tokens of a client say the same here: one set serves them all. */
function scopesOf(text: string): ReadonlySet<string> {
  let scopes = scopeSets.get(text)
  if (scopes === undefined) {
    scopes = new Set(text.split(' ').filter((name) => name !== ''))
    scopeSets.set(text, scopes)
  }
  return scopes
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
