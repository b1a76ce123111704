/**
 * The account service: every change of a user, with its checks and all that follows from it (revocations, events, mails, entries of the
 * audit log) in one transaction. Administration, SCIM, the account page, providers, set-up links and the declarative file call it; the
 * functions of the stores that write accounts are for this folder alone.
 */
import type { AuditEvent } from 'gatehouse-protocol'
import type { Effects } from '../store/authorizations/change.ts'
import { createRevocations } from '../store/authorizations/revocations.ts'
import { transactWithEvents } from '../store/cluster/event-transaction.ts'
import { lockChanges } from '../store/database/transaction.ts'
import { createStores, type Stores } from '../store/stores.ts'
import { AccountFault } from './account-fault.ts'
import { changeFactors } from './factors.ts'
import { changeGroups } from './groups.ts'
import { changeIdentities } from './identities.ts'
import type { AccountsEnv, Author, Inside, LocalSignIn } from './inside.ts'
import { changePasswords } from './passwords.ts'
import { type ScimReads, scimReads } from './scim-reads.ts'
import { changeSetUpLinks } from './set-up-links.ts'
import { changeUsers } from './users.ts'

export type { AccountsEnv, Author } from './inside.ts'

export type Accounts = ReturnType<typeof openAccounts>
export type AccountsInside = ReturnType<typeof accountsInside>

/** Besides accounts the work may change other stores, and publish and revoke what depends on those. */
export type AccountWork<T> = (accounts: AccountsInside, stores: Stores, effects: Effects) => Promise<T>

export function openAccounts(env: AccountsEnv) {
  const stores = createStores(env.database, env.clock)
  return {
    /** What a SCIM client reads. */
    scimReads: (clientId: string): ScimReads => scimReads(stores, clientId),
    change: <T>(author: Author, work: AccountWork<T>): Promise<T> => changeAccounts(env, author, work),
  }
}

/** Runs `work` in a transaction. `isLocked`: the caller holds the lock under which accounts are changed one at a time on all nodes. */
export function changeAccounts<T>(
  env: AccountsEnv,
  author: Author,
  work: AccountWork<T>,
  { isLocked = false } = {},
): Promise<T> {
  const { database, clock, audit, mail, localSignIn } = env
  return transactWithEvents(env, async (shared, publish, tx) => {
    if (!isLocked) await lockChanges(database.engine, tx)
    const stores = createStores({ ...database, db: tx }, clock)
    const revocations = createRevocations({ grants: stores.grants, publish, publishAll: publish, clock })
    const recorded: AuditEvent[] = []
    const withoutTokens = new Set<string>()
    let concernsEmergencies = false
    const inside: Inside = {
      ...{ stores, publish, revocations, author, mail, localSignIn },
      revokeTokens: (userId) => void withoutTokens.add(userId),
      concernsEmergencies() {
        concernsEmergencies = true
      },
      record(event) {
        const { actor, client, address, requestId } = author
        recorded.push({ ...{ actor, client, address, requestId }, ...event })
      },
      async notify(notice) {
        const { address, userAgent } = author
        await mail?.notify(stores, { ...notice, ...(userAgent !== undefined && { address, userAgent }) })
      },
    }
    const result = await work(accountsInside(inside), shared, { publish, revocations })
    if (concernsEmergencies) await requireEmergencyUser(stores, localSignIn())
    if (withoutTokens.size > 0) await revocations.revokeUsers([...withoutTokens])
    // The last step: until the transaction ends, other writers of the audit log wait.
    if (recorded.length > 0) await audit.append(tx, recorded)
    return result
  })
}

function accountsInside(inside: Inside) {
  return {
    ...changeUsers(inside),
    ...changePasswords(inside),
    ...changeFactors(inside),
    ...changeIdentities(inside),
    ...changeSetUpLinks(inside),
    ...changeGroups(inside),
    /** For what the caller changes in other stores, such as a role that it creates for the user. */
    record: inside.record,
  }
}

/** Where only users for emergencies have passwords that work, one of them must be left who can administer. */
export async function requireEmergencyUser({ users }: Pick<Stores, 'users'>, mode: LocalSignIn): Promise<void> {
  if (mode !== 'break_glass' || (await users.hasBreakGlass())) return
  throw new AccountFault(
    'last-emergency-user',
    'This is the last user who can sign in when all providers fail: with local_sign_in break_glass, an enabled user must have break_glass, Identity/Admin, a password and a second factor',
  )
}
