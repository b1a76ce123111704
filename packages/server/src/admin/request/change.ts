/** Changes by administrators: serialised over all nodes, and recorded in the audit log. */
import { type AuditEvent, Refusal } from 'gatehouse-protocol'
import type { AdminCall, AdminEnv } from '../route.ts'

export { change, type Effects } from '../../store/authorizations/change.ts'

/** Call it before something is declared that nodes of earlier versions would not respect. */
export async function requireUpgraded({ stores }: Pick<AdminEnv, 'stores'>): Promise<void> {
  const older = await stores.nodes.older()
  if (older.length > 0)
    throw new Refusal(
      'Upgrade.Pending',
      409,
      `Nodes of an earlier version do not know this yet: first upgrade ${older.join(', ')}`,
    )
}

type EventOfCall = {
  [Name in AuditEvent['event']]: Pick<Extract<AuditEvent, { event: Name }>, 'event' | 'target' | 'details'>
}[AuditEvent['event']]

const PATCHED = {
  user: { changed: 'user.changed', disabled: 'user.disabled', enabled: 'user.enabled' },
  client: { changed: 'client.changed', disabled: 'client.disabled', enabled: 'client.enabled' },
} as const

/** Records a change of a user or client; disabling and enabling have events of their own. */
export function recordPatch(
  env: AdminEnv,
  call: AdminCall,
  noun: keyof typeof PATCHED,
  patched: {
    readonly target: string
    readonly patch: object
    readonly wasDisabled: boolean
    readonly isDisabled: boolean
  },
): void {
  const { target, patch, wasDisabled, isDisabled } = patched
  if (wasDisabled === isDisabled)
    record(env, call, {
      event: PATCHED[noun].changed,
      target,
      details: { changed: Object.keys(patch), source: 'admin' },
    })
  else
    record(env, call, {
      event: PATCHED[noun][isDisabled ? 'disabled' : 'enabled'],
      target,
      details: { source: 'admin' },
    })
}

/** Records an event with the caller, client, address and request id of the call. */
export function record(env: AdminEnv, call: AdminCall, event: EventOfCall): void {
  env.audit.record({
    ...event,
    actor: call.caller.subject,
    client: call.caller.clientId,
    address: call.address,
    requestId: call.requestId,
  })
}
