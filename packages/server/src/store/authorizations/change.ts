/** Changes of identity data: serialised over all nodes, with the events and revocations that follow from them in one transaction. */
import type { User } from '../accounts/user.ts'
import { changedAttributes } from '../attributes/attribute-values.ts'
import { type EventTransactionEnv, type PublishInside, transactWithEvents } from '../cluster/event-transaction.ts'
import { lockChanges } from '../database/transaction.ts'
import type { Stores } from '../stores.ts'
import { createRevocations, type RevocationsInside } from './revocations.ts'

/** What a change can use besides the stores: its events and revocations are part of the transaction. */
export interface Effects {
  readonly publish: PublishInside
  readonly revocations: RevocationsInside
}

/** Runs `work` in a transaction, one at a time. Record audit rows after it. */
export function change<T>(
  env: EventTransactionEnv,
  work: (stores: Stores, effects: Effects) => Promise<T>,
): Promise<T> {
  const { database, clock } = env
  return transactWithEvents(env, async (stores, publish, tx) => {
    await lockChanges(database.engine, tx)
    return work(stores, {
      publish,
      revocations: createRevocations({ grants: stores.grants, publish, publishAll: publish, clock }),
    })
  })
}

/** Revokes or limits the tokens of a user according to the change, on all nodes. */
export async function limitTokens(before: User, after: User, { publish, revocations }: Effects): Promise<void> {
  if (after.disabled && !before.disabled) await revocations.revokeUser(after.id)
  const renamed = before.username === after.username ? {} : ({ renamed: true } as const)
  const attributes = changedAttributes(before.attributes, after.attributes)
  await publish({ kind: 'user-changed', subject: after.id, ...renamed, ...(attributes.length > 0 && { attributes }) })
  // Roles matter besides rights, since row filters can refer to them.
  const isSame = (a: Iterable<string>, b: Iterable<string>) => new Set(a).symmetricDifference(new Set(b)).size === 0
  if (!isSame(before.rights, after.rights) || !isSame(before.roles, after.roles))
    await revocations.limitUserRights(after)
}
