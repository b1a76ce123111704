/** Signed JWTs for the FAPI 2.0 modules: right ones, and ones with a fault. */
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { createSignature, encodePart, type ProofAlg } from '../../support/dpop.ts'

export interface SigningKey {
  readonly alg: ProofAlg
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicJwk: Readonly<Record<string, unknown>>
}

export function createSigningKey(alg: 'PS256' | 'ES256'): SigningKey {
  const { privateKey, publicKey } =
    alg === 'PS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = randomUUID()
  return { alg, kid, privateKey, publicJwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg } }
}

/** What differs from a right JWT. Undefined members are left out. */
export interface JwtChanges {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly key?: SigningKey
  readonly alg?: ProofAlg | 'none'
  readonly isForged?: boolean
}

export function signJwt(key: SigningKey, claims: object, changes: JwtChanges = {}): string {
  const { privateKey, kid, alg: keyAlg } = changes.key ?? key
  const alg = changes.alg ?? keyAlg
  const header = { alg, kid, ...changes.header }
  const input = `${encodePart(header)}.${encodePart({ ...claims, ...changes.claims })}`
  if (alg === 'none') return `${input}.`
  const jwt = `${input}.${createSignature(alg, privateKey, input)}`
  return changes.isForged === true ? forge(jwt) : jwt
}

/** The same JWT with another signature. */
export function forge(jwt: string): string {
  const [header = '', claims = '', signature = ''] = jwt.split('.')
  const bytes = Buffer.from(signature, 'base64url').map((byte) => byte ^ 0x5a)
  return `${header}.${claims}.${Buffer.from(bytes).toString('base64url')}`
}
