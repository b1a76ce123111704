/** Whether a provider can be used: what a sign-in needs is read as for one. */
import { findConnectionFault } from '../identity/providers/connectors.ts'
import { createRemoteKeys } from '../identity/remote-keys/remote-keys.ts'
import type { StoredProvider } from '../store/providers/providers.ts'

export function checkProvider(provider: StoredProvider): ReturnType<typeof findConnectionFault> {
  const keys = createRemoteKeys({ clock: Date.now, metrics: { count: () => {} }, onFailure: () => {} })
  return findConnectionFault(provider, { remoteKeys: async () => keys })
}
