/** DPoP proofs for tests: a key, and proofs by it with any claim changed or left out. */
import { constants, generateKeyPairSync, hash, type KeyObject, randomUUID, sign } from 'node:crypto'

export interface ProofWishes {
  readonly method?: string
  readonly url: string
  readonly accessToken?: string | undefined
  readonly nonce?: string | undefined
  /** Milliseconds. */
  readonly now?: number
  /** Replaces claims; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
}

export interface ProofMaker {
  readonly thumbprint: string
  readonly jwk: Readonly<Record<string, unknown>>
  prove(wishes: ProofWishes): string
  /** The same key with another algorithm. */
  as(alg: ProofAlg): ProofMaker
  privateJwk(): Readonly<Record<string, unknown>>
}

export type ProofAlg = 'ES256' | 'PS256' | 'EdDSA' | 'RS256'

export function createProofMaker(alg: ProofAlg = 'ES256', bits = 2048): ProofMaker {
  return createMaker(alg, findPair(alg, bits))
}

function createMaker(
  alg: ProofAlg,
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject },
): ProofMaker {
  const jwk = publicKey.export({ format: 'jwk' })
  const { kty, crv, x, y, n, e } = jwk
  const members = kty === 'RSA' ? { e, kty, n } : kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x }
  return {
    thumbprint: hash('sha256', JSON.stringify(members), 'base64url'),
    jwk,
    prove({ method = 'GET', url, accessToken, nonce, now = Date.now(), claims, header }) {
      const payload = {
        jti: randomUUID(),
        htm: method,
        htu: url,
        iat: Math.floor(now / 1000),
        ath: accessToken === undefined ? undefined : hash('sha256', accessToken, 'base64url'),
        nonce,
        ...claims,
      }
      const input = `${encodePart({ typ: 'dpop+jwt', alg, jwk, ...header })}.${encodePart(payload)}`
      return `${input}.${createSignature(alg, privateKey, input)}`
    },
    as: (other) => createMaker(other, { publicKey, privateKey }),
    privateJwk: () => privateKey.export({ format: 'jwk' }),
  }
}

function findPair(alg: ProofAlg, modulusLength: number) {
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('rsa', { modulusLength })
}

export function createSignature(alg: ProofAlg, key: KeyObject, input: string): string {
  const data = Buffer.from(input)
  switch (alg) {
    case 'ES256':
      return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
    case 'PS256':
      return sign('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }).toString(
        'base64url',
      )
    case 'EdDSA':
      return sign(null, data, key).toString('base64url')
    case 'RS256':
      return sign('sha256', data, key).toString('base64url')
  }
}

export function encodePart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
