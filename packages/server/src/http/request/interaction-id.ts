/**
 * `x-fapi-interaction-id`, by which both sides of a request to a resource find it in their logs (FAPI 1.0 Baseline §6.2.1): the client's, or a
 * new one. Programs that are not made for FAPI do not send it, and get none; those of FAPI 2.0 have tokens that are bound to a key.
 */
import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'

const NAME = 'x-fapi-interaction-id'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const BOUND = /^DPoP /i

export function setInteractionId(context: Context): void {
  const { headers } = context
  const given = headers[NAME]
  if (given === undefined && !BOUND.test(headers.authorization ?? '')) return
  context.setHeader(NAME, typeof given === 'string' && UUID.test(given) ? given : randomUUID())
}
