/** Administration of roles, which give people their scopes, and a look at the scopes themselves. */
import { roleTarget } from '../declarative/targets.ts'
import { audiencesOf, isRight, SCOPES } from '../protocol/scopes.ts'
import type { Role } from '../store/roles.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, type JsonObject, merged, readObject, readRole } from './body.ts'
import { change, record } from './change.ts'
import { checkMatch, created, requireMatch, tagged } from './etag.ts'
import { type AdminEnv, type AdminRoute, conflict, notFound, part } from './route.ts'
import { ROLE_SCHEMA } from './schemas.ts'
import { takeBack } from './users.ts'

export const roleRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/roles',
    scope: 'Identity/Admin',
    summary: 'Lists roles by name.',
    reply: '{"items": […]}',
    async run(_call, { stores }) {
      return { body: { items: (await stores.roles.list()).map(presentRole) } }
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
      const target = roleTarget(readRole(readObject(call.body)))
      const role = await change(env, async (stores) => {
        if ((await stores.roles.list()).some(({ name }) => name === target.name))
          throw conflict(`There is already a role ${target.name}`)
        await stores.roles.put(target)
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
    summary: 'Shows a role.',
    reply: 'The role.',
    async run(call, { stores }) {
      return tagged(presentRole(await findRole(stores, part(call, 'role'))))
    },
  },
  {
    method: 'PATCH',
    path: '/admin/roles/{role}',
    scope: 'Identity/Admin',
    summary: 'Changes a role (JSON merge patch); whoever holds it feels it at once.',
    body: ROLE_SCHEMA,
    reply: 'The role as it is now.',
    async run(call, env) {
      const name = part(call, 'role')
      const patch = readObject(call.body)
      if (patch.name !== undefined && patch.name !== name)
        throw badBody([{ path: 'name', text: 'cannot be changed: create another role' }])
      const role = await change(env, async (stores) => {
        const found = await findRole(stores, name)
        requireMatch(call, presentRole(found))
        await stores.roles.put(roleTarget(readRole(merged(presentRole(found), patch))))
        return await findRole(stores, name)
      })
      await tellHolders(env, await env.stores.roles.holders(name))
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
    summary: 'Deletes a role; whoever held it loses what it gave.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const name = part(call, 'role')
      const holders = await change(env, async (stores) => {
        checkMatch(call, presentRole(await findRole(stores, name)))
        const found = await stores.roles.holders(name)
        await stores.roles.remove(name)
        return found
      })
      await tellHolders(env, holders)
      record(env, call, { event: 'role.deleted', target: name, details: { source: 'admin' } })
      return { status: 204 }
    },
  },
  {
    method: 'GET',
    path: '/admin/scopes',
    scope: 'Identity/Admin',
    summary: 'Lists the scopes, the resource that each opens, and the roles that give it.',
    reply: '{"items": […]}',
    async run(_call, { stores }) {
      const roles = await stores.roles.list()
      return {
        body: {
          items: SCOPES.map((scope) => ({
            name: scope,
            resource: isRight(scope) ? (audiencesOf([scope])[0] ?? null) : null,
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

function presentRole({ name, scopes, description, requireSecondFactor }: Role): JsonObject {
  return {
    name,
    scopes,
    ...(description === '' ? {} : { description }),
    require_second_factor: requireSecondFactor,
  }
}

async function tellHolders(env: AdminEnv, holders: readonly string[]): Promise<void> {
  for (const id of holders) {
    const user = await env.stores.users.findById(id)
    if (user !== undefined) await takeBack(env).rights(user)
  }
}
