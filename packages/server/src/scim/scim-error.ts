/** Errors of SCIM (RFC 7644 §3.12), written in one place. */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../http/context.ts'
import { FAULT, logFailure } from '../http/problem.ts'

export const SCIM_TYPE = 'application/scim+json'
const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error'

/** The detail error keywords of RFC 7644 §3.12 and RFC 9865 §2.1. */
export type ScimErrorType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'
  | 'invalidCursor'
  | 'invalidCount'

export function badRequest(scimType: ScimErrorType, text: string): Refusal {
  return new Refusal('scim.bad_request', 400, text, { members: { scimType } })
}

export function conflict(text: string): Refusal {
  return new Refusal('scim.conflict', 409, text, { members: { scimType: 'uniqueness' } })
}

export function forbidden(text: string): Refusal {
  return new Refusal('scim.forbidden', 403, text)
}

export function notFound(what: string): Refusal {
  return new Refusal('scim.not_found', 404, what)
}

export function replyWithScimError(context: Context, error: unknown): void {
  const refusal = logFailure(context, error) ?? FAULT
  context.setHeaders(refusal.details.headers ?? {})
  const { scimType } = { scimType: undefined, ...refusal.details.members }
  const body = { schemas: [ERROR_SCHEMA], status: String(refusal.status), scimType, detail: refusal.message }
  context.send(SCIM_TYPE, JSON.stringify(body), refusal.status)
}
