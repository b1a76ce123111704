/** The public keys of others (RFC 7517): the key types that we accept, and which algorithm each may be used with. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { SIGNATURE_ALGS } from '../../lib/signature-algs.ts'

/** `Ed25519` is the name of RFC 9864 for the same algorithm as EdDSA here. */
export const FOREIGN_ALGS = [...SIGNATURE_ALGS, 'Ed25519'] as const
export type ForeignAlg = (typeof FOREIGN_ALGS)[number]

export interface ForeignKey {
  readonly kid: string | undefined
  readonly key: KeyObject
  /** The only algorithms with which a signature by this key is accepted. */
  readonly algs: readonly ForeignAlg[]
}

export type Jwk = Readonly<Record<string, unknown>>

const MOST_KEYS = 20
const MOST_KID_LENGTH = 256
const RSA_BITS = { least: 2048, most: 8192 }
/** An exponent of the length of the modulus makes a verification as slow as signing. */
const MOST_EXPONENT = 2n ** 32n
/** The members of a private or symmetric key (RFC 7518 §6). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** The keys of a JWK set that can verify signatures. Others are skipped: a set may hold keys for encryption, or of newer types. */
export function readKeySet(value: unknown): readonly ForeignKey[] {
  if (!isObject(value) || !Array.isArray(value.keys)) throw new Error('The answer is not a JWK set')
  if (value.keys.length > MOST_KEYS) throw new Error(`A JWK set has at most ${MOST_KEYS} keys`)
  return value.keys.flatMap((jwk: unknown) => {
    const read = readKey(jwk)
    return 'fault' in read ? [] : [read]
  })
}

/** A key, or why it cannot verify signatures. */
export function readKey(jwk: unknown): ForeignKey | { readonly fault: string } {
  if (!isObject(jwk)) return { fault: 'is not a JSON Web Key' }
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name))) return { fault: 'is not a public key' }
  if (jwk.use !== undefined && jwk.use !== 'sig') return { fault: 'is not for signatures (use)' }
  if (jwk.key_ops !== undefined && !(Array.isArray(jwk.key_ops) && jwk.key_ops.includes('verify')))
    return { fault: 'is not for verifying (key_ops)' }
  const { kid, alg } = jwk
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > MOST_KID_LENGTH))
    return { fault: `has a kid that is not a text of at most ${MOST_KID_LENGTH} characters` }
  const possible = supportedAlgs(jwk)
  if (possible === undefined) return { fault: 'is not RSA, EC with the curve P-256, or Ed25519' }
  const algs = alg === undefined ? possible : possible.filter((name) => name === alg || sameAlg(name) === alg)
  if (algs.length === 0) return { fault: `has an alg that is not one of ${possible.join(', ')}` }
  const key = importKey(jwk)
  if (key === undefined) return { fault: 'cannot be read' }
  const bits = key.asymmetricKeyDetails?.modulusLength
  if (bits !== undefined && (bits < RSA_BITS.least || bits > RSA_BITS.most))
    return { fault: `has ${bits} bits instead of ${RSA_BITS.least} to ${RSA_BITS.most}` }
  if ((key.asymmetricKeyDetails?.publicExponent ?? 0n) > MOST_EXPONENT)
    return { fault: 'has an exponent that is too large' }
  return { kid, key, algs }
}

function supportedAlgs({ kty, crv }: Jwk): readonly ForeignAlg[] | undefined {
  if (kty === 'RSA') return ['RS256', 'PS256']
  if (kty === 'EC' && crv === 'P-256') return ['ES256']
  if (kty === 'OKP' && crv === 'Ed25519') return ['EdDSA', 'Ed25519']
  return undefined
}

function sameAlg(name: ForeignAlg): ForeignAlg {
  return name === 'EdDSA' ? 'Ed25519' : name === 'Ed25519' ? 'EdDSA' : name
}

/** Only the members that make up the key: Node refuses some others. */
function importKey({ kty, n, e, crv, x, y }: Jwk): KeyObject | undefined {
  const members = kty === 'RSA' ? { kty, n, e } : kty === 'EC' ? { kty, crv, x, y } : { kty, crv, x }
  const texts = Object.entries(members).filter((member): member is [string, string] => typeof member[1] === 'string')
  if (texts.length < Object.keys(members).length) return undefined
  try {
    return createPublicKey({ key: Object.fromEntries(texts), format: 'jwk' })
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Jwk {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
