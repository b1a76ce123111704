/** /Groups: roles that SCIM clients give to users. They give no rights until an operator says so. */
import type { Directory, ScimGroup } from '../../accounts/directory.ts'
import type { Context } from '../../http/context.ts'
import { changeAccounts } from '../change-accounts.ts'
import { openDirectory, type ScimEnv } from '../environment.ts'
import { readBody, readPatch } from '../patch-body.ts'
import { isShown, type Projection, readProjection } from '../query-parameters.ts'
import { checkVersion, sendResource } from '../replies.ts'
import { badRequest, notFound } from '../scim-error.ts'
import { GROUP_SCHEMA, GroupDraft } from './group-draft.ts'
import { presentGroup, type ShownGroup } from './present-group.ts'

export async function getGroup(context: Context, env: ScimEnv): Promise<void> {
  const projection = readProjection(context)
  const directory = openDirectory(context, env)
  const shown = await show(await findGroup(context.param('id'), directory), directory, projection)
  sendResource(context, presentGroup(shown, env.base), { projection, core: GROUP_SCHEMA })
}

export async function createGroup(context: Context, env: ScimEnv): Promise<void> {
  const projection = readProjection(context)
  const draft = new GroupDraft({ displayName: '', externalId: undefined }, async () => [])
  await draft.putMembers(readBody(context.body, GROUP_SCHEMA))
  const name = draft.displayName
  if (name === '') throw badRequest('invalidValue', 'displayName is required')
  const shown = await changeAccounts(context, env, async (accounts, directory) => {
    const id = await accounts.createGroup(draft)
    return show(await findGroup(id, directory), directory, projection)
  })
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

export async function deleteGroup(context: Context, env: ScimEnv): Promise<void> {
  await changeAccounts(context, env, async (accounts, directory) => {
    const group = await findGroup(context.param('id'), directory)
    checkVersion(context, presentGroup(await withoutMembers(group, directory), env.base))
    await accounts.deleteGroup(group)
  })
  context.end(204)
}

async function changeGroup(
  context: Context,
  env: ScimEnv,
  projection: Projection,
  apply: (draft: GroupDraft) => Promise<void>,
): Promise<ShownGroup> {
  return changeAccounts(context, env, async (accounts, directory) => {
    const group = await findGroup(context.param('id'), directory)
    const before = await withoutMembers(group, directory)
    checkVersion(context, presentGroup(before, env.base))
    const draft = new GroupDraft({ displayName: group.displayName, externalId: before.externalId }, () =>
      directory.listMembers(group),
    )
    await apply(draft)
    await accounts.changeGroup(group, draft)
    return show(await findGroup(group.id, directory), directory, projection)
  })
}

async function findGroup(id: string, directory: Directory): Promise<ScimGroup> {
  const group = await directory.findGroup(id)
  if (group === undefined) throw notFound(`There is no group ${id}`)
  return group
}

async function withoutMembers(group: ScimGroup, directory: Directory): Promise<ShownGroup> {
  const externalIds = await directory.externalIds([group.id])
  return { group, externalId: externalIds.get(group.id), members: undefined }
}

async function show(group: ScimGroup, directory: Directory, projection: Projection): Promise<ShownGroup> {
  const shown = await withoutMembers(group, directory)
  if (!isShown('members', projection)) return shown
  return { ...shown, members: await directory.listMembers(group) }
}
