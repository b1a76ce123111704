/** Refusals of the query service as RFC 9457 problem details. */
import type { Exchange } from '../http/exchange.ts'
import { FAULT, PROBLEM } from '../http/problem.ts'
import { problemOf } from '../protocol/problem.ts'
import { Refusal } from '../protocol/refusal.ts'
import { QUERY_ERRORS, refuse } from './errors.ts'
import { ERRORS } from './iql/errors.ts'

/** Refusals become problem details here and nowhere else. */
export function replyToError(exchange: Exchange, error: unknown): void {
  const headers = error instanceof Refusal ? (error.details.headers ?? {}) : {}
  const problem = problemFor(error, exchange)
  exchange.refuse(problem.status, headers, PROBLEM, JSON.stringify(problem))
}

/** Told to the log as well, where there is more to know than the caller may. */
export function problemFor(refusal: unknown, exchange: Exchange) {
  const { id } = exchange
  if (!(refusal instanceof Refusal)) {
    exchange.log.error({ err: refusal }, 'failed')
    return { ...problemOf(FAULT), RequestId: id }
  }
  if (refusal.cause !== undefined)
    exchange.log[refusal.status < 500 ? 'info' : 'error']({ err: refusal.cause, code: refusal.code }, 'refused')
  const told = translate(refusal)
  return { ...problemOf(told, titleOf(told.code)), RequestId: id }
}

/** What HTTP itself refuses, under the codes of this service. */
function translate(refusal: Refusal): Refusal {
  if (refusal.code === 'http.body_too_large') return refuse('Request.TooLarge', refusal.message)
  return refusal
}

/** Undefined for what is not this service's own. */
function titleOf(code: string): string | undefined {
  const own: Readonly<Record<string, { readonly title: string }>> = QUERY_ERRORS
  const iql: Readonly<Record<string, { readonly title: string }>> = ERRORS
  return (own[code] ?? iql[code.replace(/^IQL\./, '')])?.title
}
