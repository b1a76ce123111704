/** Changes of users and groups by a SCIM client, through the account service; its faults in the codes of SCIM (RFC 7644 §3.12). */
import type { Refusal } from 'gatehouse-protocol'
import { AccountFault, ExternalIdTaken, UsernameTaken } from '../accounts/account-fault.ts'
import type { AccountsInside } from '../accounts/accounts.ts'
import { type ScimReads, scimReads } from '../accounts/scim-reads.ts'
import type { Context } from '../http/context.ts'
import type { ScimEnv } from './environment.ts'
import { badRequest, conflict, forbidden } from './scim-error.ts'

export async function changeAccounts<T>(
  { principal, address, id: requestId }: Context,
  { accounts }: ScimEnv,
  work: (accounts: AccountsInside, reads: ScimReads) => Promise<T>,
): Promise<T> {
  const { subject: actor, clientId: client } = principal
  const author = { source: `scim:${client}`, actor, client, address, requestId } as const
  try {
    return await accounts.change(author, (inside, stores) => work(inside, scimReads(stores, client)))
  } catch (error) {
    if (error instanceof UsernameTaken || error instanceof ExternalIdTaken) throw conflict(error.message)
    throw error instanceof AccountFault ? refusalFor(error) : error
  }
}

function refusalFor({ code, message }: AccountFault): Refusal {
  switch (code) {
    case 'emergency-user':
      return forbidden(`SCIM does not change a break-glass user: ${message}`)
    case 'administrator':
      return forbidden('SCIM does not change the userName and e-mail address of an administrator')
    case 'others-members':
    case 'last-emergency-user':
      return forbidden(message)
    case 'name-taken':
      return conflict(message)
    case 'too-many-members':
      return badRequest('tooMany', `${message}: send several PATCH requests`)
    default:
      return badRequest('invalidValue', message)
  }
}
