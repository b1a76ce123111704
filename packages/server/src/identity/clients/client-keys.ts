/** The public keys of a client, for its assertions and request objects: those in its registration, or those at its `jwks_uri`. */
import type { Client } from '../../store/clients/client-metadata.ts'
import { FOREIGN_ALGS, type ForeignAlg, type ForeignKey, type Jwk, readKey } from '../../store/keys/foreign-keys.ts'
import type { FindKeys } from '../remote-keys/foreign-jwt.ts'
import type { RemoteKeys } from '../remote-keys/remote-keys.ts'

/** The most that is read of the JWK set of a client. */
export const MOST_CLIENT_BYTES = 64 * 1024

export interface ClientKeysOptions {
  /** Loaded by the first client with a `jwks_uri`. */
  readonly remoteKeys: () => Promise<RemoteKeys>
  /** Allows keys at private and loopback addresses. */
  readonly allowPrivate: boolean
}

export type ClientKeys = (client: Pick<Client, 'jwks' | 'jwksUri'>) => Promise<FindKeys>

export function createClientKeys({ remoteKeys, allowPrivate }: ClientKeysOptions): ClientKeys {
  return async ({ jwks, jwksUri }) =>
    jwksUri === undefined
      ? inlineKeys(jwks)
      : (await remoteKeys()).finder(jwksUri, { allowPrivate, mostBytes: MOST_CLIENT_BYTES })
}

/** Importing a key takes longer than a signature check. The lists are those of cached clients. */
const imported = new WeakMap<readonly Jwk[], readonly ForeignKey[]>()

export function inlineKeys(jwks: readonly Jwk[]): FindKeys {
  const keys = imported.get(jwks) ?? jwks.map(readKey).filter((key) => 'key' in key)
  imported.set(jwks, keys)
  return async (kid) => (kid === undefined ? keys : keys.filter((key) => key.kid === kid))
}

const FAPI_FOREIGN_ALGS = FOREIGN_ALGS.filter((alg) => alg !== 'RS256')

/** The algorithms that a signature of the client may have, given the registered one; undefined: any that fits the key. */
export function acceptedAlgs(
  registered: ForeignAlg | undefined,
  { profile }: Pick<Client, 'profile'>,
): readonly ForeignAlg[] {
  if (registered === undefined) return profile === 'fapi2' ? FAPI_FOREIGN_ALGS : FOREIGN_ALGS
  return registered === 'EdDSA' || registered === 'Ed25519' ? ['EdDSA', 'Ed25519'] : [registered]
}
