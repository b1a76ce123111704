/** Verifies JWTs that others signed: the key decides about the algorithm, and nothing in a header leads to another key. */
import { constants, type KeyObject, verify } from 'node:crypto'
import { type Claims, parseJwt, splitJws } from '../tokens/jwt.ts'
import { FOREIGN_ALGS, type ForeignAlg, type ForeignKey, type Jwk } from './public-keys.ts'

export interface ForeignJwt {
  readonly header: Jwk
  readonly claims: Claims
}

/** The keys of the signer with this key id, all of them where there is none. `isNewer`: fetched again, if that is allowed by now. */
export type FindKeys = (kid: string | undefined, isNewer: boolean) => Promise<readonly ForeignKey[]>

/** Why a JWT is not accepted, for the log and the audit. */
export class JwtFault extends Error {
  override readonly name = 'JwtFault'
}

/**
 * Rejects with JwtFault, or as `findKeys` does. `jku`, `x5u`, `x5c` and `jwk` in the header are ignored (RFC 7515 §4.1: they would let the
 * sender choose the key), `crit` is refused. Whoever calls this checks the claims.
 */
export async function verifyForeignJwt(
  token: string,
  findKeys: FindKeys,
  accepted: readonly ForeignAlg[] = FOREIGN_ALGS,
): Promise<ForeignJwt> {
  const jwt = parseJwt(token)
  if (jwt === undefined) throw new JwtFault('it is not a JWT')
  const { kid, alg } = jwt.header
  const known = accepted.find((name) => name === alg)
  if (known === undefined) throw new JwtFault('alg is not accepted')
  if ('crit' in jwt.header) throw new JwtFault('crit is not supported')
  if (kid !== undefined && typeof kid !== 'string') throw new JwtFault('kid is not a text')
  const tried = await findKeys(kid, false)
  if (await isSignedByOne(token, known, tried)) return jwt
  // RFC 7517 §4.5 leaves kid out of some sets and tokens: then a new key is only seen by a signature that no known one made.
  const isMissing = kid === undefined || tried.length === 0
  const newer = isMissing ? await findKeys(kid, true) : tried
  if (newer !== tried && (await isSignedByOne(token, known, newer))) return jwt
  if (newer.length === 0) throw new JwtFault('its key is unknown')
  if (!newer.some(({ algs }) => algs.includes(known))) throw new JwtFault('alg does not fit its key')
  throw new JwtFault('its signature is wrong')
}

async function isSignedByOne(token: string, alg: ForeignAlg, keys: readonly ForeignKey[]): Promise<boolean> {
  for (const { key, algs } of keys) if (algs.includes(alg) && (await isSignedBy(token, alg, key))) return true
  return false
}

interface Algorithm {
  readonly digest: string | null
  readonly options: Readonly<{ padding?: number; saltLength?: number; dsaEncoding?: 'ieee-p1363' }>
  /** Where it is fixed. */
  readonly signatureBytes?: number
}

const ED25519: Algorithm = { digest: null, options: {}, signatureBytes: 64 }
const ALGORITHMS: Readonly<Record<ForeignAlg, Algorithm>> = {
  RS256: { digest: 'sha256', options: { padding: constants.RSA_PKCS1_PADDING } },
  PS256: { digest: 'sha256', options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } },
  ES256: { digest: 'sha256', options: { dsaEncoding: 'ieee-p1363' }, signatureBytes: 64 },
  EdDSA: ED25519,
  Ed25519: ED25519,
}

/** With a callback, Node verifies on its thread pool and does not block the event loop. */
function isSignedBy(token: string, alg: ForeignAlg, key: KeyObject): Promise<boolean> {
  const { digest, options, signatureBytes } = ALGORITHMS[alg]
  const { input, signature } = splitJws(token)
  if (signatureBytes !== undefined && signature.length !== signatureBytes) return Promise.resolve(false)
  return new Promise((resolve, reject) => {
    verify(digest, input, { key, ...options }, signature, (error, isValid) =>
      error === null ? resolve(isValid) : reject(error),
    )
  })
}
