/** What the SCIM endpoints use, and who calls. */
import type { Audit, Clock } from 'gatehouse-protocol'
import type { Context } from '../http/context.ts'
import type { EventTransactionEnv } from '../store/cluster/event-transaction.ts'
import type { MailPort } from '../store/mail/notify.ts'
import { scimSource } from '../store/scim/members.ts'
import type { Stores } from '../store/stores.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AttributePort } from './attribute-port.ts'

export interface ScimEnv extends EventTransactionEnv {
  readonly stores: Stores
  readonly clock: Clock
  readonly audit: Audit
  readonly metrics: Metrics
  /** The address of the endpoints: `https://gate.example.com/scim/v2`. */
  readonly base: string
  readonly attributes: AttributePort
  /** Undefined where no mail is set up. */
  readonly mail?: Pick<MailPort, 'notify'> | undefined
}

export const SCIM_PATH = '/scim/v2'
export const PROVISIONING = 'Identity/Provisioning'

/** The rows that a filter may read where no index leads to them, and the members that one reply may have in a list. */
export const MOST_ROWS = 20_000

export function readCaller({ principal }: Context) {
  return { clientId: principal.clientId, source: scimSource(principal.clientId) }
}

/** The facts of the audit log that every change of a SCIM client has. */
export function auditFacts({ principal, address, id }: Context) {
  return { actor: principal.subject, client: principal.clientId, address, requestId: id }
}
