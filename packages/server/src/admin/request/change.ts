/** Changes by administrators: serialised over all nodes, and recorded in the audit log. */
import { type AuditEvent, Refusal } from 'gatehouse-protocol'
import { sql } from 'kysely'
import { createRevocations, type RevocationsInside } from '../../store/authorizations/revocations.ts'
import { type PublishInside, transactWithEvents } from '../../store/cluster/event-transaction.ts'
import { CHANGE_LOCK } from '../../store/database/transaction.ts'
import type { Stores } from '../../store/stores.ts'
import type { AdminCall, AdminEnv } from '../route.ts'

/** What a change can use besides the stores: its events and revocations are part of the transaction. */
export interface Effects {
  readonly publish: PublishInside
  readonly revocations: RevocationsInside
}

/** Runs `work` in a transaction, one at a time. Record audit rows after it. */
export function change<T>(env: AdminEnv, work: (stores: Stores, effects: Effects) => Promise<T>): Promise<T> {
  const { database, clock } = env
  return transactWithEvents(env, async (stores, publish, tx) => {
    // On SQLite a transaction is the only writer anyway.
    if (database.engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(CHANGE_LOCK)})`.execute(tx)
    return work(stores, { publish, revocations: createRevocations({ grants: stores.grants, publish, clock }) })
  })
}

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
