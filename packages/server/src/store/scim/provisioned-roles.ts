/** Roles that operators mark as provisioned, and the end of what SCIM clients gave. */
import type { Role } from '../accounts/roles.ts'
import type { RoleSource } from '../accounts/user.ts'
import type { RevocationsInside } from '../authorizations/revocations.ts'
import type { Stores } from '../stores.ts'
import { scimSource } from './members.ts'

/** Writes a role. One that is no longer provisioned is lost by those to whom only SCIM clients gave it. */
export async function putRole(role: Role, stores: Stores, revocations: RevocationsInside): Promise<void> {
  await stores.roles.put(role)
  if (role.provisioned === true) await stores.scim.groups.mark(role.name)
  if (role.provisioned === false) await unprovision(role.name, stores, revocations)
}

async function unprovision(role: string, stores: Stores, revocations: RevocationsInside): Promise<void> {
  await stores.scim.groups.unmark(role)
  await endGiven(stores, revocations, (source) => source.startsWith('scim:'), role)
}

/**
 * For a client that is deleted: no other client could take away what it gave, and a client that is registered later under its id must not have
 * its groups. They are roles of the operator from now on.
 */
export async function removeScimClient(
  clientId: string,
  stores: Stores,
  revocations: RevocationsInside,
): Promise<void> {
  if (!(await stores.scim.groups.exist())) return
  await endGiven(stores, revocations, (source) => source === scimSource(clientId))
  for (const role of await stores.scim.groups.madeBy(clientId)) await stores.scim.groups.unmark(role)
}

async function endGiven(
  stores: Stores,
  revocations: RevocationsInside,
  matches: (source: RoleSource) => boolean,
  role?: string,
): Promise<void> {
  const { members } = stores.scim
  const given = await members.bySource(matches, role)
  const lost = new Set<string>()
  for (const [key, same] of Map.groupBy(given, (each) => JSON.stringify([each.role, each.source]))) {
    const [first] = same
    if (first === undefined) throw new Error(`unreachable: ${key} has no members`)
    const ids = same.map(({ userId }) => userId)
    for (const id of await members.remove(first.role, ids, first.source)) lost.add(id)
  }
  await limitHolders([...lost], stores, revocations)
}

/** For users who got or lost a role: their tokens have the rights of now. */
export async function limitHolders(
  userIds: readonly string[],
  stores: Stores,
  revocations: RevocationsInside,
): Promise<void> {
  await revocations.limitUsersRights(await stores.users.findAll(userIds))
}
