/** Whether somebody can sign in when all providers fail: checked before a server lets only such people use passwords. */
import { BadSetting } from '../config/parsers.ts'
import type { LocalSignIn } from '../identity/identity.ts'
import type { Stores } from '../store/stores.ts'

/** Throws if `break_glass` would leave nobody who can repair the providers. */
export async function checkBreakGlass(mode: LocalSignIn, { users }: Pick<Stores, 'users'>): Promise<void> {
  if (mode === 'all' || (await users.hasBreakGlass())) return
  throw new BadSetting(
    'local_sign_in is break_glass, but no user can break the glass: start with local_sign_in all, then give an enabled user break_glass, a role with Identity/Admin, a password and a second factor',
  )
}
