/** The algorithms of JWT signatures (RFC 7518 §3.1, RFC 8037 §3.1) that this server uses and accepts, and how Node computes them. */
import { constants, type KeyObject, verify } from 'node:crypto'

export const SIGNATURE_ALGS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
export type SignatureAlg = (typeof SIGNATURE_ALGS)[number]

/** Those of the FAPI 2.0 Security Profile (§5.4.1). */
export const FAPI_ALGS: readonly SignatureAlg[] = ['PS256', 'ES256', 'EdDSA']

export function isSignatureAlg(text: unknown): text is SignatureAlg {
  return SIGNATURE_ALGS.some((alg) => alg === text)
}

/** The first argument of Node's `sign`; Ed25519 hashes by itself. */
export function digestOf(alg: SignatureAlg): 'sha256' | undefined {
  return alg === 'EdDSA' ? undefined : 'sha256'
}

/** The key with the parameters that the algorithm demands, for Node's `sign`. */
export function keyInput(alg: SignatureAlg, key: KeyObject) {
  switch (alg) {
    case 'PS256':
      // RFC 7518 §3.5: the salt is as long as the hash.
      return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    case 'ES256':
      // RFC 7518 §3.4: r and s, not ASN.1.
      return { key, dsaEncoding: 'ieee-p1363' as const }
    default:
      return key
  }
}

export function isSigned(alg: SignatureAlg, key: KeyObject, input: Buffer, signature: Buffer): boolean {
  return verify(digestOf(alg), input, keyInput(alg, key), signature)
}
