/** What a SCIM client sees of users and groups: the names that it gave to them, and the groups and members that it gave. */
import { type User, usernameKey } from '../store/accounts/user.ts'
import { foldText } from '../store/database/search-keys.ts'
import type { GroupCondition, ScimGroup } from '../store/scim/groups.ts'
import { type GroupName, scimSource } from '../store/scim/members.ts'
import type { KeyOperator, ScimUser, UserCondition, UserPage } from '../store/scim/users.ts'
import type { Stores } from '../store/stores.ts'

export type { AttributeValue, AttributeValues, Profile } from '../store/accounts/user.ts'
export { USER_ID_PREFIX } from '../store/accounts/user.ts'
export type { parseAttributeValues } from '../store/attributes/attribute-values.ts'
export type { AttributeDefinition } from '../store/attributes/attributes.ts'
export type { GroupCondition, ScimGroup } from '../store/scim/groups.ts'
export type { KeyOperator, ScimUser, UserCondition } from '../store/scim/users.ts'

export interface ShownUser {
  readonly user: ScimUser
  readonly externalId: string | undefined
  /** Those that the client gave. */
  readonly groups: readonly GroupName[]
}

export type ScimReads = ReturnType<typeof scimReads>

export function scimReads({ users, scim }: Pick<Stores, 'users' | 'scim'>, clientId: string) {
  const source = scimSource(clientId)
  return {
    clientId,

    async findUser(id: string): Promise<ShownUser | undefined> {
      return (await this.listUsers({ kind: 'id', id }, { limit: 1 }))[0]
    },

    /** With roles and rights. */
    findAccount: (id: string): Promise<User | undefined> => users.findById(id),

    /** Ordered by id. */
    async listUsers(condition: UserCondition, page: UserPage): Promise<ShownUser[]> {
      const found = await scim.users.page(condition, page)
      const ids = found.map(({ id }) => id)
      const externalIds = await scim.externalIds(clientId, ids)
      const groups = await scim.members.findGroups(ids, source)
      return found.map((user) => ({ user, externalId: externalIds.get(user.id), groups: groups.get(user.id) ?? [] }))
    },

    /** At most `most`. */
    countUsers: (condition: UserCondition, most?: number): Promise<number> => scim.users.count(condition, most),

    /** One that the client made, or an operator. */
    findGroup: (id: string): Promise<ScimGroup | undefined> => scim.groups.find(id, clientId),

    /** Ordered by id; `limit` at most. */
    listGroups: (limit: number, condition?: GroupCondition): Promise<ScimGroup[]> =>
      scim.groups.list(clientId, limit, condition),

    /** The ids of the groups that the client gave to the user. */
    async listGroupsOf(userId: string): Promise<string[]> {
      return ((await scim.members.findGroups([userId], source)).get(userId) ?? []).map(({ id }) => id)
    },

    /** The ids of those to whom the client gave the role of a group. */
    listMembers: ({ role }: ScimGroup): Promise<string[]> => scim.members.list(role, source),

    /** What the client calls these users or groups. */
    externalIds: (ids: readonly string[]): Promise<ReadonlyMap<string, string>> => scim.externalIds(clientId, ids),
  }
}

/**
 * Users by a text that has an index; undefined if it decides nothing. Except for usernames, it has at least those who match: texts are
 * folded further than SCIM compares them, and cut.
 */
export function compareText(
  key: 'username' | 'name' | 'family' | 'email',
  op: KeyOperator,
  value: string,
): UserCondition | undefined {
  const text = key === 'username' ? usernameKey(value) : foldText(value)
  return text === undefined ? undefined : { kind: 'key', column: `${key}_key`, op, text }
}
