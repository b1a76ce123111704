/** The secrets of a provider's definition: sealed at rest, and opened when we authenticate at its token endpoint. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { newId, seal, unseal } from '../keys/opaque.ts'
import type { StoredProvider } from './providers.ts'

/** The purpose that the master key derives the sealing key for. */
export const PROVIDER_KEY = 'providers'

export function sealClientSecret(secret: string, key: Buffer): string {
  return seal(Buffer.from(secret), key, 'client secret of a provider')
}

export function openClientSecret({ sealed }: StoredProvider, key: Buffer): string | undefined {
  if (sealed.clientSecret === undefined) return undefined
  return unseal(sealed.clientSecret, key, 'client secret of a provider').toString()
}

/** RFC 7523 with ES256; the provider reads the public key at `/external/{id}/jwks`. */
export function newKeyPair(key: Buffer): { privateKey: string; publicJwk: Readonly<Record<string, unknown>> } {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = pair.privateKey.export({ format: 'der', type: 'pkcs8' })
  return {
    privateKey: seal(der, key, 'private key for a provider'),
    publicJwk: { ...pair.publicKey.export({ format: 'jwk' }), kid: newId(), use: 'sig', alg: 'ES256' },
  }
}

export function openPrivateKey({ sealed }: StoredProvider, key: Buffer): KeyObject | undefined {
  if (sealed.privateKey === undefined) return undefined
  const der = unseal(sealed.privateKey, key, 'private key for a provider')
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}
