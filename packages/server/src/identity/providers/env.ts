/** What sign-ins through other providers use of the rest of the server. */
import type { Stores } from '../../store/stores.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { AttributeDirectory } from '../attributes/attribute-directory.ts'
import type { BrowserEnv } from '../browser/env.ts'
import type { ConnectorEnv } from './connector.ts'

export interface ProvidersEnv extends Omit<BrowserEnv, 'metrics'>, Omit<ConnectorEnv, 'issuer'> {
  readonly metrics: Pick<Metrics, 'count' | 'observe'>
  /** The users by their `externalId`. */
  readonly scim: Pick<Stores['scim'], 'userByExternalId'>
  /** The attributes that are declared. */
  readonly attributes: Pick<AttributeDirectory, 'claims' | 'definitions'>
}
