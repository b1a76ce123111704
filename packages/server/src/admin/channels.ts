/** Routes for channels of alerts that follow from no definition: a delivery that tests one. */
import { Refusal } from 'gatehouse-protocol'
import { record } from './request/change.ts'
import { type AdminRoute, notFound, part } from './route.ts'

export const channelRoutes: readonly AdminRoute[] = [
  {
    method: 'POST',
    path: '/admin/channels/{channel}/test',
    scope: 'Platform/Admin',
    summary:
      'Sends a delivery of the type `test` to a channel at once, and says what came of it. It is not tried again.',
    reply: '{"delivered": whether it was accepted, "status": of the reply or null, "error": why not, or null}',
    async run(call, env) {
      const name = part(call, 'channel')
      if ((await env.stores.channels.find(name)) === undefined) throw notFound('channel', name)
      if (env.channels === undefined)
        throw new Refusal('admin.not_here', 409, 'Only a running server can send: use --server URL')
      const { status, error } = await (await env.channels()).test(name)
      record(env, call, { event: 'channel.tested', target: name, details: { delivered: String(error === undefined) } })
      return { body: { delivered: error === undefined, status: status ?? null, error: error ?? null } }
    },
  },
]
