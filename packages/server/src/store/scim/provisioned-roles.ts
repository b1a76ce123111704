/** Roles that operators mark as provisioned, and the end of what SCIM clients gave. */
import type { Role } from '../accounts/roles.ts'
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
  const lost = await stores.scim.members.removeAllBy((source) => source.startsWith('scim:'), role)
  await limitHolders(lost, stores, revocations)
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
  const lost = await stores.scim.members.removeAllBy((source) => source === scimSource(clientId))
  await limitHolders(lost, stores, revocations)
  for (const role of await stores.scim.groups.madeBy(clientId)) await stores.scim.groups.unmark(role)
}

/** For users who got or lost a role: their tokens have the rights of now. */
export async function limitHolders(
  userIds: readonly string[],
  stores: Stores,
  revocations: RevocationsInside,
): Promise<void> {
  await revocations.limitUsersRights(await stores.users.findAll(userIds))
}
