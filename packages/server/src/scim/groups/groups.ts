/** /Groups: roles that SCIM clients give to users. They give no rights until an operator says so. */
import type { ScimGroup, ScimReads } from '../../accounts/scim-reads.ts'
import type { Context } from '../../http/context.ts'
import { changeAccounts } from '../change-accounts.ts'
import { openReads, type ScimEnv } from '../environment.ts'
import { readBody, readPatch } from '../patch-body.ts'
import { isShown, type Projection, readProjection } from '../query-parameters.ts'
import { checkVersion, sendResource } from '../replies.ts'
import { badRequest, notFound } from '../scim-error.ts'
import { GROUP_SCHEMA, GroupDraft } from './group-draft.ts'
import { presentGroup, type ShownGroup } from './present-group.ts'

export async function getGroup(context: Context, env: ScimEnv): Promise<void> {
  const projection = readProjection(context)
  const reads = openReads(context, env)
  const shown = await show(await findGroup(context.param('id'), reads), reads, projection)
  sendResource(context, presentGroup(shown, env.base), { projection, core: GROUP_SCHEMA })
}

export async function createGroup(context: Context, env: ScimEnv): Promise<void> {
  const projection = readProjection(context)
  const draft = new GroupDraft({ displayName: '', externalId: undefined }, async () => [])
  await draft.putMembers(readBody(context.body, GROUP_SCHEMA))
  const name = draft.displayName
  if (name === '') throw badRequest('invalidValue', 'displayName is required')
  const shown = await changeAccounts(context, env, async (accounts, reads) => {
    const id = await accounts.createGroup(draft)
    return show(await findGroup(id, reads), reads, projection)
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
  await changeAccounts(context, env, async (accounts, reads) => {
    const group = await findGroup(context.param('id'), reads)
    checkVersion(context, presentGroup(await withoutMembers(group, reads), env.base))
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
  return changeAccounts(context, env, async (accounts, reads) => {
    const group = await findGroup(context.param('id'), reads)
    const before = await withoutMembers(group, reads)
    checkVersion(context, presentGroup(before, env.base))
    const draft = new GroupDraft({ displayName: group.displayName, externalId: before.externalId }, () =>
      reads.listMembers(group),
    )
    await apply(draft)
    await accounts.changeGroup(group, draft)
    return show(await findGroup(group.id, reads), reads, projection)
  })
}

async function findGroup(id: string, reads: ScimReads): Promise<ScimGroup> {
  const group = await reads.findGroup(id)
  if (group === undefined) throw notFound(`There is no group ${id}`)
  return group
}

async function withoutMembers(group: ScimGroup, reads: ScimReads): Promise<ShownGroup> {
  const externalIds = await reads.externalIds([group.id])
  return { group, externalId: externalIds.get(group.id), members: undefined }
}

async function show(group: ScimGroup, reads: ScimReads, projection: Projection): Promise<ShownGroup> {
  const shown = await withoutMembers(group, reads)
  if (!isShown('members', projection)) return shown
  return { ...shown, members: await reads.listMembers(group) }
}
