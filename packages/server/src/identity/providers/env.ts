/** What sign-ins through other providers use of the rest of the server. */
import type { Resolve } from '../../http/outgoing/guarded-request.ts'
import type { Stores } from '../../store/stores.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { AttributeDirectory } from '../attributes/attribute-directory.ts'
import type { BrowserEnv } from '../browser/env.ts'
import type { RemoteKeys } from '../remote-keys/remote-keys.ts'

export interface ProvidersEnv extends Omit<BrowserEnv, 'metrics'> {
  readonly metrics: Pick<Metrics, 'count' | 'observe'>
  readonly remoteKeys: () => Promise<RemoteKeys>
  /** Seals secrets at rest, and derives what a sign-in must remember. */
  readonly providerKey: Buffer
  /** The users by their `externalId`. */
  readonly scim: Pick<Stores['scim'], 'userByExternalId'>
  /** The attributes that are declared. */
  readonly attributes: Pick<AttributeDirectory, 'claims' | 'definitions'>
  /** Resolves host names; the system's resolver where absent. */
  readonly resolve?: Resolve | undefined
}
