/** Finds the fault of a file after which no user could sign in when all providers fail. */
import type { Fault } from '../schema/check-schema.ts'
import { usernameKey } from '../store/accounts/user.ts'
import type { Change, CurrentState } from './plan.ts'
import type { Declaration } from './shape.ts'

/** At every change that may be the reason: of users for emergencies, else of roles. */
export function emergencyUserFaults(
  changes: readonly Change[],
  declaration: Declaration,
  { users }: Pick<CurrentState, 'users'>,
): Fault[] {
  const ofUsers = changes.filter(
    ({ what, action, name }) =>
      what === 'user' && action !== 'create' && users.get(usernameKey(name))?.breakGlass === true,
  )
  const concerned = ofUsers.length > 0 ? ofUsers : changes.filter(({ what }) => what === 'role')
  return concerned.map((change) => ({
    path: changePath(change, declaration),
    text: `${change.what} "${change.name}": this leaves nobody who can sign in when all providers fail. Keep an enabled user with break_glass, a role with Identity/Admin, a password and a second factor, or set local_sign_in to all first`,
  }))
}

function changePath({ what, action, name }: Change, { users = [], roles = [] }: Declaration): string {
  if (action === 'remove') return 'prune'
  if (what === 'role') return `roles[${roles.findIndex((role) => role.name === name)}]`
  return `users[${users.findIndex(({ username }) => usernameKey(username) === usernameKey(name))}]`
}
