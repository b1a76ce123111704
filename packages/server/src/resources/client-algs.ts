/** The algorithms that clients choose for what this server signs for them: each needs signing keys. */
import { FAPI_ALGS } from '../lib/signature-algs.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { ClientMetadata } from '../store/clients/client-metadata.ts'
import type { StoredKey } from '../store/keys/signing-keys.ts'

const MEMBERS = [
  'id_token_signed_response_alg',
  'authorization_signed_response_alg',
  'introspection_signed_response_alg',
  'access_token_alg',
] as const

/** Before the first start there are no keys, and nothing is known about the setting. */
export function algFaults(
  client: Pick<ClientMetadata, (typeof MEMBERS)[number] | 'profile'>,
  keys: readonly StoredKey[],
): Fault[] {
  const algs = new Set(keys.filter(({ retiredAt }) => retiredAt === undefined).map(({ alg }) => alg))
  if (algs.size === 0) return []
  if (client.profile === 'fapi2' && !FAPI_ALGS.some((alg) => algs.has(alg)))
    return [
      {
        path: 'profile',
        text: 'fapi2 needs signing keys for PS256, ES256 or EdDSA: add one of them to the setting signing_algs, and restart',
      },
    ]
  return MEMBERS.flatMap((path) => {
    const alg = client[path]
    if (alg === undefined || algs.has(alg)) return []
    return [{ path, text: `there is no signing key for ${alg}: add it to the setting signing_algs, and restart` }]
  })
}
