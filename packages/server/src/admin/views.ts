/** Routes for materialized views: what there is, how far each is, and bringing one up to date. */
import { Refusal } from 'gatehouse-protocol'
import type { KeptViews } from './ports.ts'
import { record } from './request/change.ts'
import { type AdminEnv, type AdminRoute, notFound, part } from './route.ts'

export const viewRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/views',
    scope: 'Platform/Admin',
    summary:
      'Lists the materialized views: state building, ready or failed; behind in seconds, on the node that keeps them.',
    reply: '{"items": [{"name", "base", "query", "state", "progress", "behind", "rows", "builds", "error"}]}',
    async run(_call, env) {
      return { body: { items: await requireViews(env).list() } }
    },
  },
  {
    method: 'GET',
    path: '/admin/views/{view}',
    scope: 'Platform/Admin',
    summary: 'Shows a materialized view.',
    reply: '{"name", "base", "query", "state", "progress", "behind", "rows", "builds", "error"}',
    async run(call, env) {
      return { body: await requireView(part(call, 'view'), env) }
    },
  },
  {
    method: 'POST',
    path: '/admin/views/{view}/refresh',
    scope: 'Platform/Admin',
    summary:
      'Waits until all that was committed before is in the view. With full, evaluates all of it and corrects what differs.',
    query: { full: 'true: evaluate all of it.' },
    reply: '{"view", "wrong": rows that were wrong}',
    async run(call, env) {
      const { name } = await requireView(part(call, 'view'), env)
      const isFull = call.query.full === 'true'
      const wrong = await call.hold(() => requireViews(env).refresh(name, isFull, call.signal))
      if (isFull) record(env, call, { event: 'view.rebuilt', target: name, details: { view: name, wrong } })
      return { body: { view: name, wrong } }
    },
  },
]

async function requireView(name: string, env: AdminEnv) {
  const view = await requireViews(env).find(name)
  if (view === undefined) throw notFound('materialized view named', name)
  return view
}

function requireViews({ views }: AdminEnv): KeptViews {
  if (views !== undefined) return views
  throw new Refusal(
    'admin.not_here',
    409,
    'Only a node that runs the query service has materialized views: send the request to one (on the command line: --server URL)',
  )
}
