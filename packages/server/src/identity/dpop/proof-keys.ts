/** The keys in the headers of DPoP proofs (RFC 9449 §4.2): which are accepted, and those that were used before. */
import { hash, type KeyObject } from 'node:crypto'
import { LruMap } from '../../lib/lru-map.ts'
import { isSigned, type SignatureAlg } from '../../lib/signature-algs.ts'
import { type Jwk, readKey } from '../../store/keys/foreign-keys.ts'
import { parseObject, splitJws } from '../tokens/jwt.ts'
import { ProofFault } from './proof-fault.ts'

export interface ProofKey {
  readonly key: KeyObject
  readonly alg: SignatureAlg
  /** RFC 7638: `jkt`. */
  readonly thumbprint: string
}

/** The longest RSA key: larger ones take long to verify. */
const MOST_RSA_BITS = 4096
/** `Ed25519` is the name of RFC 9864. RS256 is not among them, as in FAPI 2.0 §5.4. */
const ALGS: ReadonlyMap<unknown, SignatureAlg> = new Map([
  ['ES256', 'ES256'],
  ['PS256', 'PS256'],
  ['EdDSA', 'EdDSA'],
  ['Ed25519', 'EdDSA'],
])
/** Characters of headers. One with a P-256 key has 250, one with an RSA key of 4096 bits a thousand. */
const KEPT_CHARACTERS = 4 * 1024 * 1024

/**
 * A client sends the same header with every proof, so that text finds its key: importing one takes 129 µs, more than the
 * verification.
 */
export class ProofKeys {
  readonly #kept = new LruMap<ProofKey>(KEPT_CHARACTERS, (_key, header) => header.length)

  /** Throws ProofFault. A key other than the expected one is not imported. */
  find(header: string, expectedThumbprint?: string): ProofKey {
    const kept = this.#kept.get(header)
    if (kept !== undefined) {
      checkThumbprint(kept.thumbprint, expectedThumbprint)
      return kept
    }
    return readProofKey(header, expectedThumbprint)
  }

  /** Called after a signature was good: a stranger must not displace the keys of clients. */
  keep(header: string, key: ProofKey): void {
    if (this.#kept.get(header) === undefined) this.#kept.set(header, key)
  }
}

export function proofHeader(proof: string): string {
  return proof.slice(0, proof.indexOf('.'))
}

export function isSignedBy(proof: string, { alg, key }: ProofKey): boolean {
  const { input, signature } = splitJws(proof)
  return isSigned(alg, key, input, signature)
}

function readProofKey(header: string, expectedThumbprint?: string): ProofKey {
  const parsed = parseObject(header)
  if (parsed === undefined) throw new ProofFault('it is not a JWT')
  if (parsed.typ !== 'dpop+jwt') throw new ProofFault('typ is not dpop+jwt')
  const alg = ALGS.get(parsed.alg)
  if (alg === undefined) throw new ProofFault('alg is not ES256, PS256, Ed25519 or EdDSA')
  if ('crit' in parsed) throw new ProofFault('crit is not supported')
  const { jwk } = parsed
  const read = isJwk(jwk) ? { jwk, thumbprint: computeThumbprint(jwk) } : undefined
  if (read === undefined) throw new ProofFault('jwk is missing')
  checkThumbprint(read.thumbprint, expectedThumbprint)
  const key = readKey(read.jwk)
  if ('fault' in key) throw new ProofFault(`jwk ${key.fault}`)
  if (!key.algs.some((name) => ALGS.get(name) === alg)) throw new ProofFault('alg does not fit jwk')
  const { modulusLength = 0 } = key.key.asymmetricKeyDetails ?? {}
  if (modulusLength > MOST_RSA_BITS) throw new ProofFault(`jwk has more than ${MOST_RSA_BITS} bits`)
  return { key: key.key, alg, thumbprint: read.thumbprint }
}

function isJwk(value: unknown): value is Jwk {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function checkThumbprint(thumbprint: string, expected: string | undefined): void {
  if (expected !== undefined && thumbprint !== expected) throw new ProofFault('its key is not that of the token')
}

/** RFC 7638 §3.2: the members that make up the key, in the order of their names. */
function computeThumbprint({ kty, crv, x, y, n, e }: Jwk): string {
  const members = kty === 'RSA' ? { e, kty, n } : kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x }
  return hash('sha256', JSON.stringify(members), 'base64url')
}
