/** The administration routes without HTTP, for the command line on the same machine. */
import type { Principal } from 'gatehouse-protocol'
import { readQuery } from './request/parameters.ts'
import type { AdminEnv, AdminReply, AdminRoute } from './route.ts'
import { ADMIN_ROUTES } from './routes.ts'

export interface InProcessCall {
  readonly method: AdminRoute['method']
  /** Path and query of the request. */
  readonly target: string
  readonly body?: unknown
  readonly ifMatch?: string | undefined
  readonly caller: Principal
}

export async function callInProcess(
  env: AdminEnv,
  { method, target, body, ifMatch, caller }: InProcessCall,
  routes: readonly AdminRoute[] = ADMIN_ROUTES,
): Promise<AdminReply> {
  const path = target.split('?', 1)[0] ?? ''
  for (const route of routes) {
    const params = route.method === method ? match(route.path, path) : undefined
    if (params === undefined) continue
    const query = readQuery(target, route)
    const reply = await route.run(
      {
        params,
        query,
        body,
        ifMatch,
        caller,
        address: 'local',
        requestId: `local-${process.pid}`,
        signal: env.stopping,
        requireAccess: async () => {},
        hold: (act) => act(),
      },
      env,
    )
    if (method !== 'GET') await env.activity.settle()
    return reply ?? {}
  }
  throw new Error(`There is no administration route ${method} ${path}`)
}

function match(template: string, path: string): Record<string, string> | undefined {
  const parts = template.split('/')
  const given = path.split('/')
  if (parts.length !== given.length) return undefined
  const params: [name: string, value: string][] = []
  for (const [index, part] of parts.entries()) {
    const value = given[index] ?? ''
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name === undefined && part !== value) return undefined
    if (name !== undefined) params.push([name, decodeURIComponent(value)])
  }
  return Object.fromEntries(params)
}
