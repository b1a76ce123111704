/** Refusals of the query service as RFC 9457 problem details. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { asRefusal } from '../http/app.ts'
import { FAULT } from '../http/problem.ts'
import { problemOf } from '../protocol/problem.ts'
import type { Refusal } from '../protocol/refusal.ts'
import { QUERY_ERRORS, refuse } from './errors.ts'
import { ERRORS } from './iql/errors.ts'

/** Refusals become problem details here and nowhere else. */
export function replyToError(
  error: FastifyError | Refusal | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = asRefusal(error)
  reply.headers(refusal?.details.headers ?? {}).removeHeader('content-encoding')
  const problem = problemFor(error, request)
  return reply
    .code(problem.status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(JSON.stringify(problem))
}

/** Told to the log as well, where there is more to know than the caller may. */
export function problemFor(error: unknown, request: FastifyRequest) {
  const refusal = error instanceof Error ? asRefusal(error) : undefined
  if (refusal === undefined) {
    request.log.error({ err: error }, 'failed')
    return { ...problemOf(FAULT), RequestId: request.id }
  }
  if (refusal.cause !== undefined)
    request.log[refusal.status < 500 ? 'info' : 'error']({ err: refusal.cause, code: refusal.code }, 'refused')
  const told = translate(refusal)
  return { ...problemOf(told, titleOf(told.code)), RequestId: request.id }
}

/** What HTTP itself refuses, under the codes of this service. */
function translate(refusal: Refusal): Refusal {
  if (refusal.code === 'http.body_too_large') return refuse('Request.TooLarge', refusal.message)
  if (refusal.code === 'http.unsupported_media_type') return refuse('Request.Unsupported', refusal.message)
  return refusal
}

/** Undefined for what is not this service's own. */
function titleOf(code: string): string | undefined {
  const own: Readonly<Record<string, { readonly title: string }>> = QUERY_ERRORS
  const iql: Readonly<Record<string, { readonly title: string }>> = ERRORS
  return (own[code] ?? iql[code.replace(/^IQL\./, '')])?.title
}
