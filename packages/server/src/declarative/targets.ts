/** The desired state of a user: the declaration with its defaults filled in. */

import { attributeValuesTarget } from '../resources/attributes.ts'
import type { User } from '../store/accounts/user.ts'
import type { ResolvedUser } from './secrets.ts'

export type UserTarget = Pick<User, 'username' | 'profile' | 'breakGlass' | 'roles' | 'attributes' | 'disabled'>

/** A user disabled by an operator stays disabled, and keeps the attributes that others gave, unless the file says otherwise. */
export function userTarget(
  user: ResolvedUser,
  before: Partial<Pick<UserTarget, 'disabled' | 'attributes' | 'breakGlass'>> = {},
): UserTarget {
  // Members about the password are applied with it, see plan.ts.
  const { password, password_hash, reset_password, must_change_password, ...rest } = user
  const { username, roles = [], attributes, disabled = before.disabled ?? false, break_glass, ...claims } = rest
  return {
    username,
    profile: claims,
    breakGlass: break_glass ?? before.breakGlass ?? false,
    roles: roles.toSorted(),
    attributes: attributes === undefined ? (before.attributes ?? {}) : attributeValuesTarget(attributes),
    disabled,
  }
}
