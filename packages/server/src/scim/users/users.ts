/** /Users: read, create, replace, patch and delete users (RFC 7644 §3). */
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../http/context.ts'
import type { User } from '../../store/accounts/user.ts'
import { UsernameTaken } from '../../store/accounts/users.ts'
import { change, type Effects, limitTokens } from '../../store/authorizations/change.ts'
import { ExternalIdTaken } from '../../store/scim/external-ids.ts'
import type { Stores } from '../../store/stores.ts'
import type { ScimAttribute } from '../attribute-port.ts'
import { auditFacts, callerOf, type ScimEnv } from '../environment.ts'
import type { JsonObject } from '../filter/match.ts'
import { readBody, readPatch } from '../patch-body.ts'
import { readProjection } from '../query-parameters.ts'
import { checkVersion, sendResource } from '../replies.ts'
import { badRequest, conflict, forbidden, notFound } from '../scim-error.ts'
import { presentUser, type ShownUser } from './present-user.ts'
import { UserDraft } from './user-draft.ts'
import { type TextField, USER_SCHEMA, UserPaths } from './user-paths.ts'
import { profileOf, stateOf, type UserState } from './user-state.ts'

const NOBODY: UserState = { texts: new Map(), active: true, attributes: {} }

export async function getUser(context: Context, env: ScimEnv): Promise<void> {
  const attributes = await env.attributes.definitions()
  const shown = await findShown(context.param('id'), env.stores, callerOf(context))
  reply(context, presentUser(shown, env.base, attributes))
}

export async function createUser(context: Context, env: ScimEnv): Promise<void> {
  const caller = callerOf(context)
  const attributes = await env.attributes.definitions()
  const draft = new UserDraft(NOBODY, new UserPaths(attributes), env.attributes.parse)
  draft.putMembers(readBody(context.body, USER_SCHEMA))
  const { state } = draft
  const username = requireUsername(state)
  const shown = await change(env, async (stores) => {
    const id = await orConflict(() =>
      stores.users.create({
        username,
        profile: profileOf(state, {}),
        attributes: state.attributes,
        disabled: !state.active,
      }),
    )
    await setExternalId(id, state, stores, caller.clientId)
    return findShown(id, stores, caller)
  })
  env.audit.record({
    ...auditFacts(context),
    event: 'user.created',
    target: shown.user.id,
    details: { source: caller.source },
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
  const caller = callerOf(context)
  const attributes = await env.attributes.definitions()
  const id = context.param('id')
  await change(env, async (stores, { revocations }) => {
    const shown = await findShown(id, stores, caller)
    checkVersion(context, presentUser(shown, env.base, attributes))
    refuseBreakGlass(shown.user)
    await stores.users.remove(id)
    await revocations.revokeUser(id)
  })
  env.audit.record({ ...auditFacts(context), event: 'user.deleted', target: id, details: { source: caller.source } })
  context.end(204)
}

async function changeUser(
  context: Context,
  env: ScimEnv,
  apply: (draft: UserDraft, attributes: readonly ScimAttribute[]) => void,
): Promise<void> {
  const caller = callerOf(context)
  const attributes = await env.attributes.definitions()
  const { before, after, changed } = await change(env, async (stores, effects) => {
    const found = await findShown(context.param('id'), stores, caller)
    checkVersion(context, presentUser(found, env.base, attributes))
    const draft = new UserDraft(stateOf(found.user, found.externalId), new UserPaths(attributes), env.attributes.parse)
    apply(draft, attributes)
    const names = await write(found, draft.state, stores, { ...effects, clientId: caller.clientId })
    if (names.includes('email')) await noticeAddress(found, stores, env)
    return { before: found, after: await findShown(found.user.id, stores, caller), changed: names }
  })
  const facts = { ...auditFacts(context), target: after.user.id }
  const { source } = caller
  if (before.user.disabled !== after.user.disabled)
    env.audit.record({
      ...facts,
      event: after.user.disabled ? 'user.disabled' : 'user.enabled',
      details: { source },
    })
  else if (changed.length > 0) env.audit.record({ ...facts, event: 'user.changed', details: { changed, source } })
  reply(context, presentUser(after, env.base, attributes))
}

/** Stores what differs. Returns the names of what has changed. */
async function write(
  { user: { id }, externalId }: ShownUser,
  state: UserState,
  stores: Stores,
  { clientId, ...effects }: Effects & { readonly clientId: string },
): Promise<string[]> {
  const user = await stores.users.findById(id)
  if (user === undefined) throw new Error('unreachable: the user was found in this transaction')
  const before = stateOf(user, externalId)
  const username = requireUsername(state)
  const changed = differences(before, state)
  if (changed.length === 0) return changed
  refuseBreakGlass(user)
  refuseAdministrator(user, changed)
  if (changed.includes('userName')) await refuseTaken(username, id, stores)
  const profile = profileOf(state, user.profile)
  await stores.users.update(id, { username, profile, attributes: state.attributes, disabled: !state.active })
  if (changed.includes('externalId')) await setExternalId(id, state, stores, clientId)
  const after = await stores.users.findById(id)
  if (after !== undefined) await limitTokens(user, after, effects)
  return changed
}

/** Links to the old address are void; a mail to it says so. */
async function noticeAddress({ user: { id: userId, profile } }: ShownUser, stores: Stores, { mail }: ScimEnv) {
  await stores.addressLinks.revokeForUser(userId)
  if (typeof profile.email === 'string' && profile.email_verified === true)
    await mail?.notify(stores, { kind: 'address-changed', userId, to: profile.email })
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

/** Such users are for the time when nothing else works. */
export function refuseBreakGlass({ breakGlass }: Pick<User, 'breakGlass'>): void {
  if (breakGlass) throw forbidden('SCIM does not change a break-glass user')
}

/** Whoever writes these could sign in as an administrator. */
function refuseAdministrator({ rights }: Pick<User, 'rights'>, changed: readonly string[]): void {
  if (rights.has('Identity/Admin') && (changed.includes('userName') || changed.includes('email')))
    throw forbidden('SCIM does not change the userName and e-mail address of an administrator')
}

function requireUsername({ texts }: UserState): string {
  const username = texts.get('userName')
  if (username === undefined) throw badRequest('invalidValue', 'userName is required')
  return username
}

async function refuseTaken(username: string, id: string, { users }: Stores): Promise<void> {
  const holder = await users.findByUsername(username)
  if (holder !== undefined && holder.id !== id) throw conflict(`The userName ${username} is taken`)
}

async function setExternalId(id: string, { texts }: UserState, { scim }: Stores, clientId: string): Promise<void> {
  await orConflict(() => scim.setExternalId(clientId, 'User', id, texts.get('externalId')))
}

export async function orConflict<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof UsernameTaken || error instanceof ExternalIdTaken) throw conflict(error.message)
    throw error
  }
}

async function findShown(
  id: string,
  stores: Stores,
  { clientId, source }: ReturnType<typeof callerOf>,
): Promise<ShownUser> {
  const [user] = await stores.scim.users.page({ kind: 'id', id }, { limit: 1 })
  if (user === undefined) throw notFound(`There is no user ${id}`)
  const externalIds = await stores.scim.externalIds(clientId, [id])
  const groups = await stores.scim.members.findGroups([id], source)
  return { user, externalId: externalIds.get(id), groups: groups.get(id) ?? [] }
}

function reply(context: Context, resource: JsonObject, status = 200): void {
  sendResource(context, resource, { status, projection: readProjection(context), core: USER_SCHEMA })
}
