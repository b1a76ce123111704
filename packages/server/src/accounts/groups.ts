/** Groups: roles that SCIM clients give to users. They give no rights until an operator says so. */
import type { ScimGroup } from '../store/scim/groups.ts'
import { limitHolders, putRole } from '../store/scim/provisioned-roles.ts'
import { AccountFault } from './account-fault.ts'
import { givenRoleSource, type Inside, scimClient } from './inside.ts'

export interface WantedGroup {
  readonly displayName: string
  /** What the SCIM client calls it. */
  readonly externalId: string | undefined
  /** The ids of the users who become members or stop being such; those who are or are not already are left out. */
  readonly added: ReadonlySet<string>
  readonly removed: ReadonlySet<string>
}

/** Of one change. */
export const MOST_MEMBERS = 20_000

export function changeGroups(inside: Inside) {
  const { stores, author, record, revocations } = inside
  const { groups, members } = stores.scim
  const { source } = author
  const roleSource = givenRoleSource(author)
  return {
    /** A new role, which is a group of the SCIM client. Returns the id of the group. */
    async createGroup(wanted: WantedGroup): Promise<string> {
      const { displayName: role, externalId } = wanted
      await requireFreeName(role, undefined)
      await stores.roles.put({ name: role, scopes: [] })
      await revocations.limitRoles(stores, 'created')
      const id = await groups.mark(role, { madeBy: scimClient(author) })
      record({ event: 'role.created', target: role, details: { source } })
      await changeMembers(role, wanted)
      await stores.scim.setExternalId(scimClient(author), 'Group', id, externalId)
      return id
    },

    async changeGroup(group: ScimGroup, wanted: WantedGroup): Promise<void> {
      const { displayName, externalId } = wanted
      const changed: string[] = []
      if (displayName !== group.displayName) {
        await requireFreeName(displayName, group.role)
        if (group.madeBy === undefined) await refuseOthersMembers(group)
        changed.push('displayName')
      }
      const members = await changeMembers(group.role, wanted)
      if (members.isChanged) changed.push('members')
      const held = await stores.scim.externalIds(scimClient(author), [group.id])
      if (externalId !== held.get(group.id)) {
        await stores.scim.setExternalId(scimClient(author), 'Group', group.id, externalId)
        changed.push('externalId')
      }
      if (changed.length === 0) return
      await groups.touch(group.id, changed.includes('displayName') ? displayName : undefined)
      record({ event: 'role.changed', target: group.role, details: { changed, source } })
    },

    /** What the client made is removed; a role of an operator is no group any more, and lost by those to whom the client gave it. */
    async deleteGroup(group: ScimGroup): Promise<void> {
      const { role } = group
      if (group.madeBy === undefined) {
        await refuseOthersMembers(group)
        const found = await stores.roles.find(role)
        if (found !== undefined) await putRole({ ...found, provisioned: false }, stores, revocations)
        record({ event: 'role.changed', target: role, details: { changed: ['provisioned'], source } })
        return
      }
      await refuseEmergencyUsers(await stores.roles.holders(role))
      await stores.roles.remove(role)
      await revocations.limitRoles(stores, 'changed')
      record({ event: 'role.deleted', target: role, details: { source } })
    },
  }

  async function changeMembers(role: string, { added, removed }: WantedGroup): Promise<{ isChanged: boolean }> {
    if (added.size === 0 && removed.size === 0) return { isChanged: false }
    const held = new Set(await members.givenAmong(role, [...added, ...removed], roleSource))
    const [joining, leaving] = [[...added].filter((id) => !held.has(id)), [...removed].filter((id) => held.has(id))]
    if (joining.length + leaving.length > MOST_MEMBERS)
      throw new AccountFault('too-many-members', `One request changes at most ${MOST_MEMBERS} members`)
    const existing = await members.existing(joining)
    const unknown = joining.find((id) => !existing.has(id))
    if (unknown !== undefined) throw new AccountFault('unknown-user', `There is no user ${unknown}`)
    await refuseEmergencyUsers([...joining, ...leaving])
    const users = [
      ...(await members.add(role, joining, roleSource)),
      ...(await members.remove(role, leaving, roleSource)),
    ]
    await limitHolders(users, stores, revocations)
    // Who got or lost a role is recorded for each of them.
    for (const target of users) record({ event: 'user.changed', target, details: { changed: ['roles'], source } })
    return { isChanged: joining.length + leaving.length > 0 }
  }

  async function refuseEmergencyUsers(userIds: readonly string[]): Promise<void> {
    const [first] = await members.breakGlass(userIds)
    if (first !== undefined) throw new AccountFault('emergency-user', `${first} would be changed`)
  }

  /** The group of an operator, to whom several clients give members. */
  async function refuseOthersMembers({ role }: ScimGroup): Promise<void> {
    const given = await members.bySource((each) => each.startsWith('scim:') && each !== source, role)
    if (given.length > 0)
      throw new AccountFault(
        'others-members',
        'Another SCIM client has members in this group of an operator: remove your own members instead',
      )
  }

  /** A group cannot be taken for a role that exists: names are compared without case. */
  async function requireFreeName(name: string, own: string | undefined): Promise<void> {
    const holder = await groups.roleNamed(name, own)
    if (holder !== undefined) throw new AccountFault('name-taken', `There is a role or group with the name ${name}`)
  }
}
