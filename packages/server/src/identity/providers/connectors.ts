/** The kinds of connectors, and what is done with a provider by its kind. */
import type { ProviderKind, StoredProvider } from '../../store/providers/providers.ts'
import type { Connector, ConnectorEnv, ConnectorKind } from './connector.ts'
import { OPENID } from './openid/openid.ts'

export const CONNECTORS: { readonly [Kind in ProviderKind]: ConnectorKind<StoredProvider<Kind>> } = {
  openid: OPENID,
}

type OfKind<Kind extends ProviderKind> = StoredProvider<Kind> & { readonly kind: Kind }

export function openConnector<Kind extends ProviderKind>(provider: OfKind<Kind>, env: ConnectorEnv): Connector {
  return CONNECTORS[provider.kind].open(provider, env)
}

/** Undefined if it can be used. */
export async function findConnectionFault<Kind extends ProviderKind>(
  provider: OfKind<Kind>,
  env: Pick<ConnectorEnv, 'remoteKeys'>,
): Promise<{ readonly error: unknown; readonly advice: string } | undefined> {
  const { check, advice } = CONNECTORS[provider.kind]
  try {
    await check(provider, env)
    return undefined
  } catch (error) {
    return { error, advice: advice(provider) }
  }
}
