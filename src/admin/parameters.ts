/** The query of an administration address: the parameters that its route names, each once. */
import { queryOf, readParameters } from '../http/form.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { AdminRoute } from './route.ts'

export function readQuery(url: string, route: AdminRoute): Record<string, string> {
  const parameters = readParameters(queryOf(url))
  const query: Record<string, string> = {}
  for (const name of parameters.names()) {
    if (route.query?.[name] === undefined)
      throw new Refusal(
        'admin.bad_parameter',
        400,
        `Unknown parameter ${name}; there are ${Object.keys(route.query ?? {}).join(', ') || 'none'}`,
      )
    if (parameters.repeated.has(name)) throw new Refusal('admin.bad_parameter', 400, `${name} stands there twice`)
    const value = parameters.get(name)
    if (value !== undefined) query[name] = value
  }
  return query
}
