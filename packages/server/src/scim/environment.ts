/** What the SCIM endpoints use, and who calls. */
import type { Clock } from 'gatehouse-protocol'
import type { Accounts } from '../accounts/accounts.ts'
import type { ScimReads } from '../accounts/scim-reads.ts'
import type { Context } from '../http/context.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AttributePort } from './attribute-port.ts'
import type { ProvisioningTokens } from './authentication.ts'

export interface ScimEnv {
  readonly accounts: Accounts
  readonly tokens: ProvisioningTokens
  readonly clock: Clock
  readonly metrics: Metrics
  /** The address of the endpoints: `https://gate.example.com/scim/v2`. */
  readonly base: string
  readonly attributes: AttributePort
}

export const SCIM_PATH = '/scim/v2'

/** The rows that a filter may read where no index leads to them, and the members that one reply may have in a list. */
export const MOST_ROWS = 20_000

/** What the calling client sees. */
export function openReads({ principal }: Context, { accounts }: ScimEnv): ScimReads {
  return accounts.scimReads(principal.clientId)
}
