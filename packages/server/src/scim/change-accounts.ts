/** Changes of users and groups by a SCIM client, through the account service; its faults in the codes of SCIM (RFC 7644 §3.12). */
import type { Refusal } from 'gatehouse-protocol'
import { AccountFault } from '../accounts/account-fault.ts'
import type { AccountWork } from '../accounts/accounts.ts'
import type { Context } from '../http/context.ts'
import { UsernameTaken } from '../store/accounts/users.ts'
import { ExternalIdTaken } from '../store/scim/external-ids.ts'
import { readCaller, type ScimEnv } from './environment.ts'
import { badRequest, conflict, forbidden } from './scim-error.ts'

export async function changeAccounts<T>(context: Context, { accounts }: ScimEnv, work: AccountWork<T>): Promise<T> {
  const { principal, address, id: requestId } = context
  const { clientId: client, source } = readCaller(context)
  try {
    return await accounts.change({ source, actor: principal.subject, client, address, requestId }, work)
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
