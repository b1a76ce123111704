/** The query of an administration address: the parameters that its route names, each once. */

import { Refusal } from 'gatehouse-protocol'
import { readParameters } from '../../http/request/body.ts'
import { targetQuery } from '../../http/request/request-head.ts'
import type { AdminRoute } from '../route.ts'

export function readQuery(url: string, route: AdminRoute): Record<string, string> {
  const parameters = readParameters(targetQuery(url))
  const query: [name: string, value: string][] = []
  for (const name of parameters.names()) {
    if (route.query === undefined || !Object.hasOwn(route.query, name))
      throw new Refusal(
        'admin.bad_parameter',
        400,
        `Unknown parameter ${name}; the known ones are ${Object.keys(route.query ?? {}).join(', ') || 'none'}`,
      )
    if (parameters.repeated.has(name)) throw new Refusal('admin.bad_parameter', 400, `${name} is repeated`)
    const value = parameters.get(name)
    if (value !== undefined) query.push([name, value])
  }
  return Object.fromEntries(query)
}

export function readCount(text: string | undefined, name: string, fallback: number, most: number): number {
  if (text === undefined) return fallback
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1 || Number(text) > most)
    throw new Refusal('admin.bad_parameter', 400, `${name} must be a number from 1 to ${most}`)
  return Number(text)
}

export function readFlag(text: string | undefined, name: string): boolean {
  if (text === undefined || text === 'true' || text === 'false') return text === 'true'
  throw new Refusal('admin.bad_parameter', 400, `${name} must be true or false`)
}

export function readTime(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time))
    throw new Refusal('admin.bad_parameter', 400, `${name} must be a time such as 2026-11-15T00:26:00Z`)
  return time
}
