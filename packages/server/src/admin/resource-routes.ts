/** The administration routes that follow from a resource definition: list, create, show, change, remove, and its actions. */
import { keyMembers, type Resource, readKey, resourceTitle } from '../resources/define-resource.ts'
import { tagged } from './request/etag.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import { bodySchema, calledKey } from './request/resource-body.ts'
import { changeItem, createItem, removeOne, replaceItem, runAction } from './resource-changes.ts'
import { chooseStore, findItem, type Kind, type ResourceSpecials } from './resource-kind.ts'
import type { AdminCall, AdminEnv, AdminReply, AdminRoute } from './route.ts'

export function resourceRoutes<Item extends object, Declared extends object>(
  definition: Resource<Item, Declared>,
  specials: ResourceSpecials<Item> = {},
): readonly AdminRoute[] {
  const { noun, section, scope, routes, release, actions = [] } = definition
  const query = release && { [release.flag]: release.help }
  const { pages, replies = {} } = routes
  const parameters = typeof definition.key === 'string' ? [noun] : definition.key
  const collection = `/admin/${section}` as const
  const one = `${collection}/${parameters.map((name) => `{${name}}`).join('/')}` as const
  const title = resourceTitle(definition)
  const body = bodySchema(definition)
  const kind = { definition, specials }
  return [
    {
      method: 'GET',
      path: collection,
      scope,
      summary: routes.list,
      ...(pages && {
        query: {
          ...pageQuery(pages.things, parameters === definition.key ? 'key' : String(definition.key)),
          ...(pages.after !== undefined && { after: pages.after }),
          ...pages.filters,
        },
      }),
      reply: pages === undefined ? '{"items": […]}' : PAGE_REPLY,
      run: async (call, env) => specials.find?.(call, env) ?? listItems(kind, call, env),
    },
    ...only(routes.create, (summary) => ({
      method: 'POST',
      path: collection,
      scope,
      summary,
      body,
      reply: replies.create ?? `The ${title}.`,
      status: 201,
      run: (call, env) => createItem(kind, call, env),
    })),
    {
      method: 'GET',
      path: one,
      scope,
      summary: routes.show,
      reply: replies.show ?? `The ${title}.`,
      run: (call, env) => showItem(kind, call, env),
    },
    ...only(routes.replace, (summary) => ({
      method: 'PUT',
      path: one,
      scope,
      summary,
      body: {
        ...body,
        required: definition.list.items.required.filter((member) => !keyMembers(definition).includes(member)),
      },
      reply: replies.replace ?? `The ${title}; 201 if it is new.`,
      run: (call, env) => replaceItem(kind, call, env),
    })),
    ...only(routes.change, (summary) => ({
      method: 'PATCH',
      path: one,
      scope,
      summary,
      ...(query && { query }),
      body,
      reply: replies.change ?? `The changed ${title}.`,
      run: (call, env) => changeItem(kind, call, env),
    })),
    {
      method: 'DELETE',
      path: one,
      scope,
      summary: routes.remove,
      ...(query && { query }),
      run: (call, env) => removeOne(kind, call, env),
    },
    ...actions.map(
      (action): AdminRoute => ({
        method: 'POST',
        path: `${one}/${action.name}`,
        scope,
        summary: action.summary,
        ...(action.body && { body: { ...action.body } }),
        reply: action.reply,
        run: (call, env) => runAction(kind, action, call, env),
      }),
    ),
  ]
}

/** The route, if there is a text for it. */
function only(summary: string | undefined, route: (summary: string) => AdminRoute): readonly AdminRoute[] {
  return summary === undefined ? [] : [route(summary)]
}

async function listItems<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<AdminReply> {
  const { definition, specials } = kind
  const store = chooseStore(kind, env, env.stores)
  const { pages } = definition.routes
  const page = readPage(call)
  const { after: _, limit: __, ...filter } = call.query
  const items = await store.list(pages && { ...page, ...(pages.filters && { filter }) })
  const details = await specials.listDetails?.(items, env)
  const listed = items.map((item, index) => ({
    key: readKey(definition, item),
    shown: { ...definition.present(item, env), ...details?.[index] },
  }))
  if (pages === undefined) return { body: { items: listed.map(({ shown }) => shown) } }
  return pageReply(`/admin/${definition.section}`, call, page, listed, {
    cursorKey: ({ key }) => key,
    present: ({ shown }) => shown,
  })
}

async function showItem<Item extends object>(kind: Kind<Item>, call: AdminCall, env: AdminEnv): Promise<AdminReply> {
  const { definition, specials } = kind
  const item = await findItem(kind, calledKey(definition, call), env, env.stores)
  return tagged(definition.present(item, env), await specials.details?.(item, env))
}
