/** /Users: read, create, replace, patch and delete users (RFC 7644 §3). */
import { isDeepStrictEqual } from 'node:util'
import type { Profile, ScimReads, ShownUser } from '../../accounts/scim-reads.ts'
import type { WantedUser } from '../../accounts/users.ts'
import type { Context } from '../../http/context.ts'
import type { ScimAttribute } from '../attribute-port.ts'
import { changeAccounts } from '../change-accounts.ts'
import { openReads, type ScimEnv } from '../environment.ts'
import type { JsonObject } from '../filter/match.ts'
import { readBody, readPatch } from '../patch-body.ts'
import { readProjection } from '../query-parameters.ts'
import { checkVersion, sendResource } from '../replies.ts'
import { badRequest, notFound } from '../scim-error.ts'
import { presentUser } from './present-user.ts'
import { UserDraft } from './user-draft.ts'
import { type TextField, USER_SCHEMA, UserPaths } from './user-paths.ts'
import { mergeProfile, readState, type UserState } from './user-state.ts'

const NOBODY: UserState = { texts: new Map(), active: true, attributes: {} }

export async function getUser(context: Context, env: ScimEnv): Promise<void> {
  const attributes = await env.attributes.definitions()
  const shown = await findShown(context.param('id'), openReads(context, env))
  reply(context, presentUser(shown, env.base, attributes))
}

export async function createUser(context: Context, env: ScimEnv): Promise<void> {
  const attributes = await env.attributes.definitions()
  const draft = new UserDraft(NOBODY, new UserPaths(attributes), env.attributes.parse)
  draft.putMembers(readBody(context.body, USER_SCHEMA))
  const { state } = draft
  const shown = await changeAccounts(context, env, async (accounts, reads) => {
    const id = await accounts.createUser({
      username: requireUsername(state),
      profile: mergeProfile(state, {}),
      attributes: state.attributes,
      disabled: !state.active,
      externalId: state.texts.get('externalId'),
    })
    return findShown(id, reads)
  })
  reply(context, presentUser(shown, env.base, attributes), 201)
}

export async function replaceUser(context: Context, env: ScimEnv): Promise<void> {
  const body = readBody(context.body, USER_SCHEMA)
  await changeUser(context, env, (draft, attributes) => {
    draft.clear(attributes)
    draft.putMembers(body)
  })
}

export async function patchUser(context: Context, env: ScimEnv): Promise<void> {
  const operations = readPatch(context.body)
  await changeUser(context, env, (draft) => {
    for (const operation of operations) draft.patch(operation)
  })
}

export async function deleteUser(context: Context, env: ScimEnv): Promise<void> {
  const attributes = await env.attributes.definitions()
  const id = context.param('id')
  await changeAccounts(context, env, async (accounts, reads) => {
    const shown = await findShown(id, reads)
    checkVersion(context, presentUser(shown, env.base, attributes))
    await accounts.deleteUser((await reads.findAccount(id)) ?? noUser(id))
  })
  context.end(204)
}

async function changeUser(
  context: Context,
  env: ScimEnv,
  apply: (draft: UserDraft, attributes: readonly ScimAttribute[]) => void,
): Promise<void> {
  const attributes = await env.attributes.definitions()
  const shown = await changeAccounts(context, env, async (accounts, reads) => {
    const id = context.param('id')
    const found = await findShown(id, reads)
    checkVersion(context, presentUser(found, env.base, attributes))
    const before = readState(found.user, found.externalId)
    const draft = new UserDraft(before, new UserPaths(attributes), env.attributes.parse)
    apply(draft, attributes)
    const { state } = draft
    const changed = differences(before, state)
    if (changed.length > 0) await accounts.changeUser(id, wantedUser(state, found.user.profile), changed)
    return findShown(id, reads)
  })
  reply(context, presentUser(shown, env.base, attributes))
}

function wantedUser(state: UserState, profile: Profile): WantedUser {
  return {
    username: requireUsername(state),
    profile: mergeProfile(state, profile),
    attributes: state.attributes,
    disabled: !state.active,
    externalId: state.texts.get('externalId') ?? null,
  }
}

const TEXTS: readonly TextField[] = [
  ...(['userName', 'externalId', 'displayName', 'givenName', 'familyName', 'middleName'] as const),
  ...(['locale', 'timezone', 'email'] as const),
]

function differences(before: UserState, after: UserState): string[] {
  const texts = TEXTS.filter((field) => before.texts.get(field) !== after.texts.get(field))
  return [
    ...texts,
    ...(before.active === after.active ? [] : ['active']),
    ...(isDeepStrictEqual(before.attributes, after.attributes) ? [] : ['attributes']),
  ]
}

function requireUsername({ texts }: UserState): string {
  const username = texts.get('userName')
  if (username === undefined) throw badRequest('invalidValue', 'userName is required')
  return username
}

async function findShown(id: string, reads: ScimReads): Promise<ShownUser> {
  return (await reads.findUser(id)) ?? noUser(id)
}

function noUser(id: string): never {
  throw notFound(`There is no user ${id}`)
}

function reply(context: Context, resource: JsonObject, status = 200): void {
  sendResource(context, resource, { status, projection: readProjection(context), core: USER_SCHEMA })
}
