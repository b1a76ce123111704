/** Routes for the column segments of tables: what there is, whether it is right, and writing it anew. */
import { Refusal } from 'gatehouse-protocol'
import type { ColumnSegments } from './ports.ts'
import { record } from './request/change.ts'
import { type AdminEnv, type AdminRoute, notFound, part } from './route.ts'

export const columnRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/columns',
    scope: 'Platform/Admin',
    summary:
      'Lists the tables with columns = on, and their segments: ready, marked (rows have changed), missing (not written yet).',
    reply: '{"items": [{"table", "ready", "marked", "missing", "rows", "bytes"}]}',
    async run(_call, env) {
      return { body: { items: await requireSegments(env).status() } }
    },
  },
  {
    method: 'POST',
    path: '/admin/columns/{table}/verify',
    scope: 'Platform/Admin',
    summary:
      'Compares all segments of a table with its rows, and what is computed from both: counts, extremes, sums and groups. Segments that differ are written again.',
    reply: '{"table", "equal", "different", "changed": segments whose rows have changed meanwhile}',
    async run(call, env) {
      const table = part(call, 'table')
      const verified = await requireSegments(env).verify(table, call.signal)
      if (verified === undefined) throw notFound('table with columns = on named', table)
      return { body: verified }
    },
  },
  {
    method: 'POST',
    path: '/admin/columns/{table}/rebuild',
    scope: 'Platform/Admin',
    summary: 'Writes all segments of a table anew. Meanwhile its rows are read.',
    async run(call, env) {
      const table = part(call, 'table')
      if (!(await requireSegments(env).rebuild(table))) throw notFound('table with columns = on named', table)
      record(env, call, { event: 'columns.rebuilt', target: table, details: { table } })
    },
  },
]

function requireSegments({ columns }: AdminEnv): ColumnSegments {
  if (columns !== undefined) return columns
  const text =
    'Only a node that runs the query service on the embedded engine has column segments: send the request to one (on the command line: --server URL)'
  throw new Refusal('admin.not_here', 409, text)
}
