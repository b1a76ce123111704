/** Verifies JWTs that others signed: the key decides about the algorithm, and nothing in a header leads to another key. */
import { isSigned } from '../../lib/signature-algs.ts'
import { FOREIGN_ALGS, type ForeignAlg, type ForeignKey, type Jwk } from '../../store/keys/foreign-keys.ts'
import { type Claims, parseJwt, splitJws } from '../tokens/jwt.ts'

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
 * sender choose the key), `crit` is refused. The caller checks the claims.
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
  if (isSignedByOne(token, known, tried)) return jwt
  // RFC 7517 §4.5 leaves kid out of some sets and tokens: then a new key is only seen by a signature that no known one made.
  const isMissing = kid === undefined || tried.length === 0
  const newer = isMissing ? await findKeys(kid, true) : tried
  if (newer !== tried && isSignedByOne(token, known, newer)) return jwt
  if (newer.length === 0) throw new JwtFault('its key is unknown')
  if (!newer.some(({ algs }) => algs.includes(known))) throw new JwtFault('alg does not fit its key')
  throw new JwtFault('its signature is wrong')
}

function isSignedByOne(token: string, alg: ForeignAlg, keys: readonly ForeignKey[]): boolean {
  const { input, signature } = splitJws(token)
  const known = alg === 'Ed25519' ? 'EdDSA' : alg
  return keys.some(({ key, algs }) => algs.includes(alg) && isSigned(known, key, input, signature))
}
