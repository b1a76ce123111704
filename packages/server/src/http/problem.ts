/** Error replies as problem documents (RFC 9457). */

import { type Problem, Refusal, toProblem } from 'gatehouse-protocol'
import { isNatsOutage, RETRY_SECONDS, unavailableReason } from '../lib/unavailable.ts'
import type { Context } from './context.ts'
import { prefersHtml } from './request/accept.ts'

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** The reply to an internal error. It reveals no details. */
export const FAULT = new Refusal(
  'server.fault',
  500,
  'The server failed to answer; the log has the error under the request id',
)

/** The database is unavailable: the caller learns why and when to retry; the log has one line about it, not one per request. */
export function outageRefusal(error: unknown): Refusal | undefined {
  const reason = unavailableReason(error)
  if (reason === undefined) return undefined
  const headers = { 'retry-after': RETRY_SECONDS }
  return new Refusal(
    'server.unavailable',
    503,
    `${isNatsOutage(error) ? 'The feeds are' : 'The database is'} not available: ${reason}`,
    { headers },
  )
}

export function replyWithProblem(context: Context, error: unknown): void {
  const refusal = logFailure(context, error) ?? FAULT
  context.setHeaders(refusal.details.headers ?? {})
  sendProblem(context, toProblem(refusal))
}

/** The one writer of problem documents: a person who opened the address in a browser gets them as a page. */
export function sendProblem(context: Context, problem: Problem): void {
  if (context.problemPage !== undefined) {
    context.addVary('accept')
    if (prefersHtml(context)) {
      context.problemPage(context, problem)
      return
    }
  }
  context.send(PROBLEM_TYPE, JSON.stringify(problem), problem.status)
}

/** Returns the error if it is a Refusal, and the refusal for an outage of the database. Anything else is a bug: it is logged in full. */
export function logFailure(context: Context, error: unknown): Refusal | undefined {
  const outage = outageRefusal(error)
  if (outage !== undefined) {
    context.log.debug({ reason: outage.message }, 'refused')
    return outage
  }
  if (!(error instanceof Refusal)) {
    context.log.error({ err: error }, 'failed')
    return undefined
  }
  if (error.cause !== undefined)
    context.log[error.status < 500 ? 'info' : 'error']({ err: error.cause, code: error.code }, 'refused')
  return error
}
