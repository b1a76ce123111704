/** Administration of roles, which give scopes to users, and the list of scopes. */

import { isRight } from 'gatehouse-protocol'
import { roleTarget } from '../declarative/targets.ts'
import type { Role } from '../store/accounts/roles.ts'
import { KnownScopes } from '../store/apis/known-scopes.ts'
import { putRole } from '../store/scim/provisioned-roles.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, type JsonObject, merged, ROLE_SCHEMA, readObject, readRole } from './request/body.ts'
import { change, record, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import { type AdminRoute, conflict, knownApis, notFound, part } from './route.ts'
import { requireBreakGlass } from './users.ts'

export const roleRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/roles',
    scope: 'Identity/Admin',
    summary: 'Lists roles page by page, ordered by name.',
    query: pageQuery('Roles', 'name'),
    reply: PAGE_REPLY,
    async run(call, { stores }) {
      const page = readPage(call)
      const roles = await stores.roles.list(page)
      return pageReply('/admin/roles', call, page, roles, { keyOf: ({ name }) => name, present: presentRole })
    },
  },
  {
    method: 'POST',
    path: '/admin/roles',
    scope: 'Identity/Admin',
    summary: 'Creates a role.',
    body: ROLE_SCHEMA,
    reply: 'The role.',
    status: 201,
    async run(call, env) {
      const target = roleTarget(readRole(readObject(call.body), await knownApis(env, env.stores)))
      if (target.provisioned === true) await requireUpgraded(env)
      const role = await change(env, async (stores, { revocations }) => {
        if ((await stores.roles.list()).some(({ name }) => name === target.name))
          throw conflict(`The role ${target.name} exists already`)
        await putRole(target, stores, revocations)
        await revocations.limitRoles(stores, 'created')
        return await findRole(stores, target.name)
      })
      record(env, call, { event: 'role.created', target: role.name, details: { source: 'admin' } })
      return created(presentRole(role), `/admin/roles/${encodeURIComponent(role.name)}`)
    },
  },
  {
    method: 'GET',
    path: '/admin/roles/{role}',
    scope: 'Identity/Admin',
    summary: 'Shows a role, and how many users have it, up to 10,000.',
    reply: 'The role, with users: {"count", "more"}.',
    async run(call, { stores }) {
      const role = await findRole(stores, part(call, 'role'))
      return tagged(presentRole(role), { users: await stores.users.countWith(role.name) })
    },
  },
  {
    method: 'PATCH',
    path: '/admin/roles/{role}',
    scope: 'Identity/Admin',
    summary: 'Changes a role (JSON merge patch). The tokens of its holders change at once.',
    body: ROLE_SCHEMA,
    reply: 'The changed role.',
    async run(call, env) {
      const name = part(call, 'role')
      const patch = readObject(call.body)
      if (patch.name !== undefined && patch.name !== name)
        throw badBody([{ path: 'name', text: 'cannot be changed: create another role' }])
      if (patch.provisioned === true) await requireUpgraded(env)
      const role = await change(env, async (stores, { revocations }) => {
        const found = await findRole(stores, name)
        requireMatch(call, presentRole(found))
        const target = roleTarget(readRole(merged(presentRole(found), patch), await knownApis(env, stores)))
        // Removing the mark in a patch is saying false.
        await putRole(patch.provisioned === null ? { ...target, provisioned: false } : target, stores, revocations)
        await requireBreakGlass(env, stores)
        await revocations.limitRoles(stores, 'changed')
        return await findRole(stores, name)
      })
      record(env, call, {
        event: 'role.changed',
        target: name,
        details: { changed: Object.keys(patch), source: 'admin' },
      })
      return tagged(presentRole(role))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/roles/{role}',
    scope: 'Identity/Admin',
    summary: 'Deletes a role. Its holders lose its scopes at once.',
    async run(call, env) {
      const name = part(call, 'role')
      await change(env, async (stores, { revocations }) => {
        checkMatch(call, presentRole(await findRole(stores, name)))
        await stores.roles.remove(name)
        await requireBreakGlass(env, stores)
        await revocations.limitRoles(stores, 'changed')
      })
      record(env, call, { event: 'role.deleted', target: name, details: { source: 'admin' } })
    },
  },
  {
    method: 'GET',
    path: '/admin/scopes',
    scope: 'Identity/Admin',
    summary: 'Lists the scopes with the resource of each and the roles that give it.',
    reply: '{"items": […]}',
    async run(_call, env) {
      const { stores } = env
      const roles = await stores.roles.list()
      const { apis = [], ...options } = await knownApis(env, stores)
      const known = new KnownScopes(apis, options)
      return {
        body: {
          items: known.scopes().map((scope) => ({
            name: scope,
            resource: isRight(scope) ? known.audienceOf(scope) : null,
            roles: roles.filter(({ scopes }) => scopes.includes(scope)).map(({ name }) => name),
          })),
        },
      }
    },
  },
]

async function findRole({ roles }: Stores, name: string): Promise<Role> {
  const role = (await roles.list()).find((candidate) => candidate.name === name)
  if (role === undefined) throw notFound('role', name)
  return role
}

function presentRole({ name, scopes, description, requireSecondFactor, provisioned }: Role): JsonObject {
  return {
    name,
    scopes,
    ...(description === '' ? {} : { description }),
    require_second_factor: requireSecondFactor,
    ...(provisioned === true && { provisioned }),
  }
}
