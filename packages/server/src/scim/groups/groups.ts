/** /Groups: roles that SCIM clients give to users. They give no rights until an operator says so. */
import type { Context } from '../../http/context.ts'
import { change } from '../../store/authorizations/change.ts'
import type { ScimGroup } from '../../store/scim/groups.ts'
import { limitHolders, putRole } from '../../store/scim/provisioned-roles.ts'
import type { Stores } from '../../store/stores.ts'
import { auditFacts, MOST_ROWS, readCaller, type ScimEnv } from '../environment.ts'
import { readBody, readPatch } from '../patch-body.ts'
import { isShown, type Projection, readProjection } from '../query-parameters.ts'
import { checkVersion, sendResource } from '../replies.ts'
import { badRequest, conflict, forbidden, notFound } from '../scim-error.ts'
import { orConflict } from '../users/users.ts'
import { GROUP_SCHEMA, GroupDraft } from './group-draft.ts'
import { presentGroup, type ShownGroup } from './present-group.ts'

type Caller = ReturnType<typeof readCaller>
type Change = Parameters<Parameters<typeof change>[1]>[1]

export async function getGroup(context: Context, env: ScimEnv): Promise<void> {
  const projection = readProjection(context)
  const caller = readCaller(context)
  const group = await findGroup(context.param('id'), env.stores, caller)
  const shown = await show(group, env.stores, caller, projection)
  sendResource(context, presentGroup(shown, env.base), { projection, core: GROUP_SCHEMA })
}

export async function createGroup(context: Context, env: ScimEnv): Promise<void> {
  const caller = readCaller(context)
  const projection = readProjection(context)
  const draft = new GroupDraft({ displayName: '', externalId: undefined }, async () => [])
  await draft.putMembers(readBody(context.body, GROUP_SCHEMA))
  const name = draft.displayName
  if (name === '') throw badRequest('invalidValue', 'displayName is required')
  const { shown, members } = await change(env, async (stores, effects) => {
    await refuseTaken(name, undefined, stores)
    await stores.roles.put({ name, scopes: [] })
    await effects.revocations.limitRoles(stores, 'created')
    const id = await stores.scim.groups.mark(name, { madeBy: caller.clientId })
    const changed = await writeMembers(name, draft, stores, effects, caller)
    await setExternalId(id, draft, stores, caller)
    return { shown: await show(await findGroup(id, stores, caller), stores, caller, projection), members: changed }
  })
  const { source } = caller
  env.audit.record({ ...auditFacts(context), event: 'role.created', target: name, details: { source } })
  recordMembers(members, context, env)
  sendResource(context, presentGroup(shown, env.base), { status: 201, projection, core: GROUP_SCHEMA })
}

export async function replaceGroup(context: Context, env: ScimEnv): Promise<void> {
  const body = readBody(context.body, GROUP_SCHEMA)
  const projection = readProjection(context)
  const shown = await changeGroup(context, env, projection, (draft) => draft.putMembers(body))
  sendResource(context, presentGroup(shown, env.base), { projection, core: GROUP_SCHEMA })
}

/** The reply has no body (RFC 7644 §3.5.2), unless attributes are asked for: a group may have very many members. */
export async function patchGroup(context: Context, env: ScimEnv): Promise<void> {
  const operations = readPatch(context.body)
  const projection = readProjection(context)
  const isAsked = projection.only !== undefined
  const shown = await changeGroup(context, env, isAsked ? projection : { only: ['id'], without: [] }, async (draft) => {
    for (const operation of operations) await draft.patch(operation)
  })
  const resource = presentGroup(shown, env.base)
  if (isAsked) sendResource(context, resource, { projection, core: GROUP_SCHEMA })
  else {
    const { meta } = { meta: { version: '' }, ...resource }
    context.setHeader('etag', meta.version)
    context.end(204)
  }
}

/** What the client made is removed; a role of an operator is no group any more, and lost by those to whom the client gave it. */
export async function deleteGroup(context: Context, env: ScimEnv): Promise<void> {
  const caller = readCaller(context)
  const role = await change(env, async (stores, { revocations }) => {
    const group = await findGroup(context.param('id'), stores, caller)
    checkVersion(context, presentGroup(await withoutMembers(group, stores, caller), env.base))
    if (group.madeBy === undefined) {
      await refuseOthersMembers(group, stores, caller)
      const found = (await stores.roles.list()).find(({ name }) => name === group.role)
      if (found !== undefined) await putRole({ ...found, provisioned: false }, stores, revocations)
    } else {
      await refuseBreakGlass(await stores.roles.holders(group.role), stores)
      await stores.roles.remove(group.role)
      await revocations.limitRoles(stores, 'changed')
    }
    return group
  })
  const facts = { ...auditFacts(context), target: role.role }
  const { source } = caller
  if (role.madeBy === undefined)
    env.audit.record({ ...facts, event: 'role.changed', details: { changed: ['provisioned'], source } })
  else env.audit.record({ ...facts, event: 'role.deleted', details: { source } })
  context.end(204)
}

async function changeGroup(
  context: Context,
  env: ScimEnv,
  projection: Projection,
  apply: (draft: GroupDraft) => Promise<void>,
): Promise<ShownGroup> {
  const caller = readCaller(context)
  const { shown, changed, members } = await change(env, async (stores, effects) => {
    const group = await findGroup(context.param('id'), stores, caller)
    const before = await withoutMembers(group, stores, caller)
    checkVersion(context, presentGroup(before, env.base))
    const draft = new GroupDraft({ displayName: group.displayName, externalId: before.externalId }, () =>
      stores.scim.members.list(group.role, caller.source),
    )
    await apply(draft)
    const names: string[] = []
    if (draft.displayName !== group.displayName) {
      await refuseTaken(draft.displayName, group.role, stores)
      if (group.madeBy === undefined) await refuseOthersMembers(group, stores, caller)
      names.push('displayName')
    }
    const given = await writeMembers(group.role, draft, stores, effects, caller)
    if (given.isChanged) names.push('members')
    if (draft.externalId !== before.externalId) {
      await setExternalId(group.id, draft, stores, caller)
      names.push('externalId')
    }
    if (names.length > 0)
      await stores.scim.groups.touch(group.id, names.includes('displayName') ? draft.displayName : undefined)
    const after = await findGroup(group.id, stores, caller)
    return { shown: await show(after, stores, caller, projection), changed: names, members: given }
  })
  if (changed.length > 0)
    env.audit.record({
      ...auditFacts(context),
      event: 'role.changed',
      target: shown.group.role,
      details: { changed, source: caller.source },
    })
  recordMembers(members, context, env)
  return shown
}

interface ChangedMembers {
  /** Whether the members that the client sees are others. */
  readonly isChanged: boolean
  /** Those who got or lost the role. */
  readonly users: readonly string[]
}

async function writeMembers(
  role: string,
  { added, removed }: GroupDraft,
  stores: Stores,
  { revocations }: Change,
  { source }: Caller,
): Promise<ChangedMembers> {
  const { members } = stores.scim
  if (added.size === 0 && removed.size === 0) return { isChanged: false, users: [] }
  const held = new Set(await members.givenAmong(role, [...added, ...removed], source))
  const [joining, leaving] = [[...added].filter((id) => !held.has(id)), [...removed].filter((id) => held.has(id))]
  if (joining.length + leaving.length > MOST_ROWS)
    throw badRequest('tooMany', `One request changes at most ${MOST_ROWS} members: send several PATCH requests`)
  const existing = await members.existing(joining)
  const unknown = joining.find((id) => !existing.has(id))
  if (unknown !== undefined) throw badRequest('invalidValue', `There is no user ${unknown}`)
  await refuseBreakGlass([...joining, ...leaving], stores)
  const users = [...(await members.add(role, joining, source)), ...(await members.remove(role, leaving, source))]
  await limitHolders(users, stores, revocations)
  return { isChanged: joining.length + leaving.length > 0, users }
}

async function refuseBreakGlass(userIds: readonly string[], { scim }: Stores): Promise<void> {
  const [first] = await scim.members.breakGlass(userIds)
  if (first !== undefined) throw forbidden(`SCIM does not change a break-glass user: ${first} would be changed`)
}

/** The group of an operator, to whom several clients give members. */
async function refuseOthersMembers({ role }: ScimGroup, { scim }: Stores, { source }: Caller): Promise<void> {
  const given = await scim.members.bySource((each) => each.startsWith('scim:') && each !== source, role)
  if (given.length > 0)
    throw forbidden('Another SCIM client has members in this group of an operator: remove your own members instead')
}

/** Who got or lost a role is recorded for each of them. */
function recordMembers({ users }: ChangedMembers, context: Context, { audit }: ScimEnv): void {
  const details = { changed: ['roles'], source: readCaller(context).source }
  for (const target of users) audit.record({ ...auditFacts(context), event: 'user.changed', target, details })
}

/** A group cannot be taken for a role that exists: names are compared without case. */
async function refuseTaken(name: string, own: string | undefined, { scim }: Stores): Promise<void> {
  const holder = await scim.groups.roleNamed(name, own)
  if (holder !== undefined) throw conflict(`There is a role or group with the name ${name}`)
}

async function setExternalId(id: string, { externalId }: GroupDraft, { scim }: Stores, { clientId }: Caller) {
  await orConflict(() => scim.setExternalId(clientId, 'Group', id, externalId))
}

async function findGroup(id: string, { scim }: Stores, { clientId }: Caller): Promise<ScimGroup> {
  const group = await scim.groups.find(id, clientId)
  if (group === undefined) throw notFound(`There is no group ${id}`)
  return group
}

async function withoutMembers(group: ScimGroup, { scim }: Stores, { clientId }: Caller): Promise<ShownGroup> {
  const externalIds = await scim.externalIds(clientId, [group.id])
  return { group, externalId: externalIds.get(group.id), members: undefined }
}

async function show(group: ScimGroup, stores: Stores, caller: Caller, projection: Projection): Promise<ShownGroup> {
  const shown = await withoutMembers(group, stores, caller)
  if (!isShown('members', projection)) return shown
  return { ...shown, members: await stores.scim.members.list(group.role, caller.source) }
}
