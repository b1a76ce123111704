/** The rights that are left to a user after changes of their roles, and of what the roles give. */

/** The rights of each role that exists. */
export type RoleRights = ReadonlyMap<string, ReadonlySet<string>>

export function rightsByRole(
  roles: readonly { readonly name: string; readonly scopes: readonly string[] }[],
): RoleRights {
  return new Map(roles.map(({ name, scopes }) => [name, new Set(scopes)]))
}

export interface LeftRights {
  readonly roles: readonly string[]
  has(scope: string): boolean
}

/**
 * `user` is the latest change of the user, which counts alone until a role changes; from then on the roles decide. A
 * change of the user that is later than that of the roles can only take away: it may be from a node that knows of no
 * `roles-changed`.
 */
export function limitRights(
  heldRoles: readonly string[],
  user: { readonly at: number; readonly scopes: { has(scope: string): boolean } } | undefined,
  role: { readonly at: number; readonly rights: RoleRights } | undefined,
): LeftRights {
  const roles = role === undefined ? heldRoles : heldRoles.filter((name) => role.rights.has(name))
  const isByUser = user !== undefined && (role === undefined || user.at > role.at)
  return {
    roles,
    has: (scope) =>
      (!isByUser || user.scopes.has(scope)) &&
      (role === undefined || roles.some((name) => role.rights.get(name)?.has(scope) === true)),
  }
}
