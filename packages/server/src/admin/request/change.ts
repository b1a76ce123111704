/** Changes by administrators: serialised over all nodes, and recorded in the audit log. */
import type { AuditEvent } from 'gatehouse-protocol'
import { AccountFault } from '../../accounts/account-fault.ts'
import { type AccountWork, changeAccounts } from '../../accounts/accounts.ts'
import { UsernameTaken } from '../../store/accounts/users.ts'
import { upgradePending } from '../../store/cluster/nodes.ts'
import { type AdminCall, type AdminEnv, conflict } from '../route.ts'

export { change, type Effects } from '../../store/authorizations/change.ts'

/** A change of accounts by the caller, with its notices and entries of the audit log: see accounts/accounts.ts. */
export async function changeUsers<T>(env: AdminEnv, call: AdminCall, work: AccountWork<T>): Promise<T> {
  const { subject: actor, clientId: client } = call.caller
  const { address, requestId } = call
  try {
    return await changeAccounts(
      { ...env, mail: env.mail?.port, localSignIn: () => localSignIn(env) },
      { source: 'admin', actor, client, address, requestId },
      work,
    )
  } catch (error) {
    if (error instanceof AccountFault || error instanceof UsernameTaken) throw conflict(error.message)
    throw error
  }
}

/** Who may sign in without a provider. */
export function localSignIn({ settings }: Pick<AdminEnv, 'settings'>): 'all' | 'break_glass' {
  const mode = settings().find(({ name }) => name === 'local_sign_in')?.value
  return mode === 'break_glass' ? mode : 'all'
}

/** Call it before something is declared that nodes of earlier versions would not respect. */
export async function requireUpgraded({ stores }: Pick<AdminEnv, 'stores'>): Promise<void> {
  const older = await stores.nodes.older()
  if (older.length > 0) throw upgradePending(older)
}

type EventOfCall = {
  [Name in AuditEvent['event']]: Pick<Extract<AuditEvent, { event: Name }>, 'event' | 'target' | 'details'>
}[AuditEvent['event']]

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
