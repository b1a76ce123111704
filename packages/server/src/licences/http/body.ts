/** The JSON body of a request about licences, and what is wrong with it. */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'

export function readBody({ body }: Context): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = body.length === 0 ? {} : JSON.parse(String(body))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new Map(Object.entries(value))
  } catch {
    // Answered below.
  }
  throw badBody('', 'a JSON object is required')
}

export function badBody(path: string, text: string): Refusal {
  return new Refusal('licence.bad_body', 422, path === '' ? text : `${path}: ${text}`, {
    members: { Faults: [{ path, text }] },
  })
}
