/** The server and the clients of `profile: fapi2` for tests of client libraries, with and without nonces. */
import type { JsonWebKey, webcrypto } from 'node:crypto'
import { ecPair, rsaPair, toJwk } from '../support/foreign-issuer.ts'
import { CALLBACK, type OpenGatehouse, openGatehouse, type webClient } from './gatehouse.ts'

export const ALGS = ['ES256', 'PS256'] as const
export type Alg = (typeof ALGS)[number]
export const SCOPE = 'openid offline_access Platform/Market'

const pairs = { ES256: ecPair(), PS256: rsaPair() }
const keyId = (alg: Alg) => `own-${alg}`

/** Plain requests and responses, or signed ones (JAR and JARM). */
export const plainId = (alg: Alg): string => `plain-${alg}`
export const signingId = (alg: Alg): string => `signing-${alg}`

/** What a library has to know of the registration. */
export const registeredAlgs = (alg: Alg) => ({
  id_token_signed_response_alg: alg,
  authorization_signed_response_alg: alg,
  introspection_signed_response_alg: alg,
})

function buildClients(alg: Alg): (typeof webClient)[] {
  const plain: typeof webClient = {
    client_id: plainId(alg),
    profile: 'fapi2',
    token_endpoint_auth_method: 'private_key_jwt',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    scope: SCOPE,
    jwks: { keys: [toJwk(pairs[alg].publicKey, { kid: keyId(alg), alg })] },
    access_token_alg: alg,
    ...registeredAlgs(alg),
  }
  return [plain, { ...plain, client_id: signingId(alg), require_signed_request_object: true }]
}

/** `dpopNonce`: confidential clients need a nonce with `all` only. `ahead`: milliseconds by which the server's clock is ahead. */
export function openFapi2(dpopNonce: 'public' | 'all', ahead = 0): Promise<OpenGatehouse> {
  const flags = { '--signing-algs': 'RS256,ES256,PS256', '--dpop-nonce': dpopNonce }
  return openGatehouse(ALGS.flatMap(buildClients), { flags, ahead })
}

const PARAMETERS = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
} as const

export function privateKey(alg: Alg): { key: webcrypto.CryptoKey; kid: string } {
  return { key: pairs[alg].privateKey.toCryptoKey(PARAMETERS[alg], false, ['sign']), kid: keyId(alg) }
}

export function privateJwk(alg: Alg): JsonWebKey {
  return { ...pairs[alg].privateKey.export({ format: 'jwk' }), kid: keyId(alg), alg }
}
