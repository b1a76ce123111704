/** Administration of remote controllers, to whose programs requests of streams are posted. */

import { controllerTarget, declaredTopic } from '../declarative/targets.ts'
import { writeDuration } from '../lib/duration.ts'
import { takenNames } from '../resources/controller-names.ts'
import type { RemoteController } from '../store/controllers/controllers.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, CONTROLLER_SCHEMA, type JsonObject, readController, readObject } from './request/body.ts'
import { change, record } from './request/change.ts'
import { checkMatch, created, tagged } from './request/etag.ts'
import { type AdminRoute, conflict, knownApis, notFound, part } from './route.ts'

export const controllerRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/controllers',
    scope: 'Platform/Admin',
    summary: 'Lists the remote controllers, ordered by name.',
    reply: '{"items": […]}',
    async run(_call, { stores }) {
      return { body: { items: (await stores.controllers.list()).map(presentController) } }
    },
  },
  {
    method: 'GET',
    path: '/admin/controllers/{controller}',
    scope: 'Platform/Admin',
    summary: 'Shows a remote controller.',
    reply: 'The controller.',
    async run(call, { stores }) {
      return tagged(presentController(await findController(stores, part(call, 'controller'))))
    },
  },
  {
    method: 'PUT',
    path: '/admin/controllers/{controller}',
    scope: 'Platform/Admin',
    summary:
      'Declares a remote controller, or replaces its definition; with If-Match only the version that was read. All nodes use it at once.',
    body: CONTROLLER_SCHEMA,
    reply: 'The controller; 201 if it is new.',
    async run(call, env) {
      const name = part(call, 'controller')
      const body = readObject(call.body)
      if (body.name !== undefined && body.name !== name)
        throw badBody([{ path: 'name', text: 'must be the name in the address' }])
      const target = controllerTarget(
        readController({ ...body, name }, takenNames(env.loadedControllers), await knownApis(env, env.stores)),
      )
      const before = await change(env, async (stores, { publish }) => {
        const found = await stores.controllers.find(name)
        if ((await stores.feeds.find(name)) !== undefined)
          throw conflict(`${name} is the name of a feed: choose another`)
        if (call.ifMatch !== undefined)
          checkMatch(call, presentController(found ?? (await findController(stores, name))))
        await stores.controllers.put(target)
        await publish({ kind: 'controllers-changed' })
        return found
      })
      const after = presentController(target)
      if (before === undefined) {
        record(env, call, { event: 'controller.created', target: name, details: { url: target.url, source: 'admin' } })
        return created(after, `/admin/controllers/${encodeURIComponent(name)}`)
      }
      const changed = changedMembers(presentController(before), after)
      const details = { url: target.url, changed, source: 'admin' }
      if (changed.length > 0) record(env, call, { event: 'controller.changed', target: name, details })
      return tagged(after)
    },
  },
  {
    method: 'DELETE',
    path: '/admin/controllers/{controller}',
    scope: 'Platform/Admin',
    summary: 'Removes a remote controller. Requests that run already are still answered.',
    async run(call, env) {
      const name = part(call, 'controller')
      await change(env, async (stores, { publish }) => {
        checkMatch(call, presentController(await findController(stores, name)))
        await stores.controllers.remove(name)
        await publish({ kind: 'controllers-changed' })
      })
      record(env, call, { event: 'controller.deleted', target: name, details: { source: 'admin' } })
    },
  },
]

async function findController({ controllers }: Stores, name: string): Promise<RemoteController> {
  const controller = await controllers.find(name)
  if (controller === undefined) throw notFound('remote controller', name)
  return controller
}

/** With the defaults, in the members of the declarative file. */
function presentController({ name, feedClass, url, topics, timeoutMs, concurrency }: RemoteController): JsonObject {
  return {
    name,
    class: feedClass,
    url,
    topics: topics.map(declaredTopic),
    timeout: writeDuration(timeoutMs),
    concurrency,
  }
}

function changedMembers(before: JsonObject, after: JsonObject): string[] {
  const former = new Map(Object.entries(before))
  return Object.entries(after).flatMap(([member, value]) =>
    JSON.stringify(former.get(member)) === JSON.stringify(value) ? [] : [member],
  )
}
