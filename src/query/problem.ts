/** Refusals of the query service as RFC 9457 problem details. */
import type { Refusal } from '../protocol/refusal.ts'
import { QUERY_ERRORS } from './errors.ts'
import { ERRORS } from './iql/errors.ts'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly Code: string
  readonly [member: string]: unknown
}

export function problemOf(refusal: Refusal): Problem {
  const { code, status, message, details } = refusal
  return {
    type: `urn:gatehouse:error:${code}`,
    title: titleOf(code),
    status,
    detail: message,
    Code: code,
    ...details.members,
  }
}

/** A fault of our own, of which the caller learns no more than that. */
export const FAULT: Problem = {
  type: 'urn:gatehouse:error:server.fault',
  title: 'The server failed',
  status: 500,
  detail: 'The server failed to answer; the fault is logged under the request id',
  Code: 'server.fault',
}

function titleOf(code: string): string {
  const own: Readonly<Record<string, { readonly title: string }>> = QUERY_ERRORS
  const iql: Readonly<Record<string, { readonly title: string }>> = ERRORS
  return (own[code] ?? iql[code.replace(/^IQL\./, '')])?.title ?? code
}
