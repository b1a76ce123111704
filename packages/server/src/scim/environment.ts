/** What the SCIM endpoints use, and who calls. */
import type { Clock } from 'gatehouse-protocol'
import type { Accounts } from '../accounts/accounts.ts'
import type { Context } from '../http/context.ts'
import type { Stores } from '../store/stores.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AttributePort } from './attribute-port.ts'

export interface ScimEnv {
  readonly accounts: Accounts
  readonly stores: Stores
  readonly clock: Clock
  readonly metrics: Metrics
  /** The address of the endpoints: `https://gate.example.com/scim/v2`. */
  readonly base: string
  readonly attributes: AttributePort
}

export const SCIM_PATH = '/scim/v2'
export const PROVISIONING = 'Identity/Provisioning'

/** The rows that a filter may read where no index leads to them, and the members that one reply may have in a list. */
export const MOST_ROWS = 20_000

export function readCaller({ principal }: Context) {
  return { clientId: principal.clientId, source: `scim:${principal.clientId}` as const }
}
