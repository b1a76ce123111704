/** The messages of feeds, as far as an administrator has to do with them. */
import { Refusal } from 'gatehouse-protocol'
import type { FeedDefinition } from '../store/feeds/feeds.ts'
import type { JsonObject } from './request/body.ts'
import { record } from './request/change.ts'
import { type AdminEnv, type AdminRoute, notFound, part } from './route.ts'

export async function showUsage({ name }: FeedDefinition, { feeds }: AdminEnv): Promise<JsonObject> {
  return { usage: (await feeds?.usage(name)) ?? null }
}

export const feedRoutes: readonly AdminRoute[] = [
  {
    method: 'POST',
    path: '/admin/feeds/{feed}/purge',
    scope: 'Platform/Admin',
    summary: 'Deletes all messages of a feed: states and history. The feed and its subscriptions stay.',
    async run(call, env) {
      const name = part(call, 'feed')
      if ((await env.stores.feeds.find(name)) === undefined) throw notFound('feed', name)
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
