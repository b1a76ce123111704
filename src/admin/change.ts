/** Changes of one administrator at a time, over all nodes: what was read is still so when it is written. */

import type { AuditEvent } from '../protocol/audit-events.ts'
import { sql } from '../store/kysely.ts'
import { createStores, type Stores } from '../store/stores.ts'
import { transact } from '../store/transaction.ts'
import type { AdminCall, AdminEnv } from './route.ts'

const ADVISORY_LOCK = 7_203_519_002

/** All or nothing. Events and audit rows follow when it has committed. */
export function change<T>({ database, clock }: AdminEnv, work: (stores: Stores) => Promise<T>): Promise<T> {
  return transact(database.db, async (tx) => {
    // A transaction of SQLite has the whole file to itself already.
    if (database.engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCK)})`.execute(tx)
    return await work(createStores({ ...database, db: tx }, clock))
  })
}

type Bare = {
  [Name in AuditEvent['event']]: Pick<Extract<AuditEvent, { event: Name }>, 'event' | 'target' | 'details'>
}[AuditEvent['event']]

const PATCHED = {
  user: { changed: 'user.changed', disabled: 'user.disabled', enabled: 'user.enabled' },
  client: { changed: 'client.changed', disabled: 'client.disabled', enabled: 'client.enabled' },
} as const

/** A change of a user or client: that it was switched on or off is an event of its own. */
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

/** Who did it, through what, and from where is the call's to say. */
export function record(env: AdminEnv, call: AdminCall, event: Bare): void {
  env.audit.record({
    ...event,
    actor: call.caller.subject,
    client: call.caller.clientId,
    address: call.address,
    requestId: call.requestId,
  })
}
