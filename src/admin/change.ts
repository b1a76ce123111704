/** Changes by administrators: serialised over all nodes, and recorded in the audit log. */
import type { AuditEvent } from '../protocol/audit-events.ts'
import type { GateEvent } from '../protocol/gate-event.ts'
import type { RecordedEvent } from '../store/events.ts'
import { sql } from '../store/kysely.ts'
import { createStores, type Stores } from '../store/stores.ts'
import { CHANGE_LOCK, transact } from '../store/transaction.ts'
import type { AdminCall, AdminEnv } from './route.ts'

/** Records an event in a transaction: it is durable together with the change, and delivered when that has committed. */
export type PublishInside = (event: GateEvent) => Promise<void>

/** Runs `work` in a transaction, one at a time. Record audit rows after it, and publish events that need not be inside. */
export async function change<T>(
  { database, clock, receive }: AdminEnv,
  work: (stores: Stores, publish: PublishInside) => Promise<T>,
): Promise<T> {
  const { result, recorded } = await transact(database.db, async (tx) => {
    // On SQLite a transaction is the only writer anyway.
    if (database.engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(CHANGE_LOCK)})`.execute(tx)
    const stores = createStores({ ...database, db: tx }, clock)
    const events: RecordedEvent[] = []
    const publish: PublishInside = async (event) => {
      events.push({ seq: await stores.events.append(event), event })
    }
    return { result: await work(stores, publish), recorded: events }
  })
  for (const each of recorded) receive(each)
  return result
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
