/** Whether a provider can be used: its metadata and keys are read as for a sign-in. */
import { fetchOptions, readMetadata } from '../identity/providers/metadata.ts'
import { createRemoteKeys } from '../identity/remote-keys/remote-keys.ts'
import type { StoredProvider } from '../store/providers/providers.ts'

/** Rejects with the reason. */
export async function checkProvider(provider: StoredProvider): Promise<void> {
  const keys = createRemoteKeys({ clock: Date.now, metrics: { count: () => {} }, onFailure: () => {} })
  const { jwksUri } = await readMetadata(provider, { remoteKeys: async () => keys })
  const found = await keys.find(jwksUri, undefined, fetchOptions(provider))
  if (found.length === 0) throw new Error(`${jwksUri} has no key`)
}
