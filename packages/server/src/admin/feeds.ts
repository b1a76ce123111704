/** Administration of feeds: their definitions, and how to delete their messages. */
import { Refusal } from 'gatehouse-protocol'
import { feedTarget, presentFeed } from '../declarative/declared-feed.ts'
import { takenNames } from '../resources/controller-names.ts'
import type { Feed, FeedDefinition } from '../store/feeds/feeds.ts'
import type { Stores } from '../store/stores.ts'
import type { FeedUsage } from './ports.ts'
import { badBody, FEED_SCHEMA, type JsonObject, merged, readFeed, readObject } from './request/body.ts'
import { change, record } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { PAGE_REPLY, pageQuery, pageReply, readPage } from './request/page.ts'
import { type AdminEnv, type AdminRoute, conflict, knownApis, notFound, part } from './route.ts'

export const feedRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/feeds',
    scope: 'Platform/Admin',
    summary: 'Lists feeds page by page, ordered by name, each with its usage as for one feed.',
    query: pageQuery('Feeds', 'name'),
    reply: PAGE_REPLY,
    async run(call, env) {
      const page = readPage(call)
      const found = await env.stores.feeds.list(page)
      const items = await Promise.all(found.map(async (feed) => ({ feed, usage: await usageOf(feed, env) })))
      return pageReply('/admin/feeds', call, page, items, {
        keyOf: ({ feed }) => feed.name,
        present: ({ feed, usage }) => ({ ...presentFeed(feed), usage }),
      })
    },
  },
  {
    method: 'POST',
    path: '/admin/feeds',
    scope: 'Platform/Admin',
    summary: 'Declares a feed. All nodes have it at once.',
    body: FEED_SCHEMA,
    reply: 'The feed, with its defaults.',
    status: 201,
    async run(call, env) {
      const feed = await readDefinition(readObject(call.body), env)
      await change(env, async ({ feeds, controllers }, { publish }) => {
        if ((await feeds.find(feed.name)) !== undefined) throw conflict(`The feed ${feed.name} exists already`)
        if ((await controllers.find(feed.name)) !== undefined)
          throw conflict(`${feed.name} is the name of a remote controller: choose another`)
        await feeds.put(feed)
        await publish({ kind: 'feeds-changed' })
      })
      record(env, call, { event: 'feed.created', target: feed.name, details: { source: 'admin' } })
      await env.reload('feeds')
      return created(presentFeed(feed), `/admin/feeds/${encodeURIComponent(feed.name)}`)
    },
  },
  {
    method: 'GET',
    path: '/admin/feeds/{feed}',
    scope: 'Platform/Admin',
    summary: 'Shows a feed, and how much of it is kept.',
    reply: 'The feed, with usage: {"topics", "bytes"}, which is null where this node does not know it.',
    async run(call, env) {
      const feed = await findFeed(env.stores, part(call, 'feed'))
      return tagged(presentFeed(feed), { usage: await usageOf(feed, env) })
    },
  },
  {
    method: 'PATCH',
    path: '/admin/feeds/{feed}',
    scope: 'Platform/Admin',
    summary:
      'Changes a feed (JSON merge patch). Callers that may no longer read it lose their subscriptions, and what exceeds its bounds is deleted, at once.',
    body: FEED_SCHEMA,
    reply: 'The changed feed.',
    async run(call, env) {
      const name = part(call, 'feed')
      const patch = readObject(call.body)
      if (patch.name !== undefined && patch.name !== name)
        throw badBody([{ path: 'name', text: 'cannot be changed: declare another feed' }])
      // A null removes a member, so that the check of the result would not see it.
      const unknown = Object.keys(patch).filter((member) => !Object.hasOwn(FEED_SCHEMA.properties ?? {}, member))
      if (unknown.length > 0) throw badBody(unknown.map((path) => ({ path, text: 'is unknown' })))
      const feed = await change(env, async (stores, { publish }) => {
        const before = presentFeed(await findFeed(stores, name))
        requireMatch(call, before)
        const after = await readDefinition(merged(before, patch), { ...env, stores })
        await stores.feeds.put(after)
        await publish({ kind: 'feeds-changed' })
        return after
      })
      record(env, call, {
        event: 'feed.changed',
        target: name,
        details: { changed: Object.keys(patch), source: 'admin' },
      })
      await env.reload('feeds')
      return tagged(presentFeed(feed))
    },
  },
  {
    method: 'DELETE',
    path: '/admin/feeds/{feed}',
    scope: 'Platform/Admin',
    summary: 'Deletes a feed with all its messages. Its subscriptions end at once.',
    async run(call, env) {
      const name = part(call, 'feed')
      await change(env, async (stores, { publish }) => {
        checkMatch(call, presentFeed(await findFeed(stores, name)))
        await stores.feeds.remove(name)
        await publish({ kind: 'feeds-changed' })
      })
      record(env, call, { event: 'feed.deleted', target: name, details: { source: 'admin' } })
      await env.reload('feeds')
    },
  },
  {
    method: 'POST',
    path: '/admin/feeds/{feed}/purge',
    scope: 'Platform/Admin',
    summary: 'Deletes all messages of a feed: states and history. The feed and its subscriptions stay.',
    async run(call, env) {
      const { name } = await findFeed(env.stores, part(call, 'feed'))
      if (env.feeds === undefined)
        throw new Refusal(
          'admin.not_here',
          409,
          'Only a node that runs the streaming service can delete messages: send the request to one (on the command line: --server URL)',
        )
      await env.feeds.purge(name)
      record(env, call, { event: 'feed.purged', target: name, details: { source: 'admin' } })
    },
  },
]

async function readDefinition(declared: JsonObject, env: AdminEnv): Promise<FeedDefinition> {
  return feedTarget(readFeed(declared, takenNames(env.loadedControllers), await knownApis(env, env.stores)))
}

async function usageOf({ name }: Feed, { feeds }: AdminEnv): Promise<FeedUsage | null> {
  return (await feeds?.usage(name)) ?? null
}

async function findFeed({ feeds }: Stores, name: string): Promise<Feed> {
  const feed = await feeds.find(name)
  if (feed === undefined) throw notFound('feed', name)
  return feed
}
