/** Error replies of the query service: problem documents (RFC 9457) with its own codes and the request id. */

import { ERRORS } from 'gatehouse-iql'
import { type Problem, Refusal, toProblem } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { FAULT, logFailure, sendProblem } from '../../http/problem.ts'
import { bothSchemes } from '../../http/request/proof.ts'
import { QUERY_ERRORS, refuse } from '../errors.ts'
import { asUnavailable } from '../unavailable.ts'

export function replyToError(context: Context, error: unknown): void {
  const refusal = asQueryRefusal(asKnown(error))
  const problem = problemFor(refusal, context)
  if (refusal instanceof Refusal) context.setHeaders(refusal.details.headers ?? {})
  sendProblem(context, problem)
}

/** Logs details that the caller must not see. */
export function problemFor(error: unknown, context: Context) {
  const refusal = logFailure(context, asKnown(error))
  if (refusal === undefined) return { ...toProblem(FAULT), RequestId: context.id }
  return { ...problemOfQuery(refusal), RequestId: context.id }
}

/** The document of a refusal in a stream, where there is no reply with a status. */
export function problemOfQuery(refusal: Refusal): Problem {
  return toProblem(refusal, TITLES.get(refusal.code))
}

/** An outage of the database is logged once, when it begins. It is not an internal error of the server. */
export function asKnown(error: unknown): unknown {
  return asUnavailable(error) ?? error
}

/** The refusals of the pipeline under the codes of this service. */
function asQueryRefusal(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  switch (error.code) {
    case 'http.body_too_large':
      return refuse('Request.TooLarge', error.message, { headers: error.details.headers ?? {} })
    case 'http.busy':
      return refuse('Limit.Overload', error.message, { headers: error.details.headers ?? {} })
    case 'access.token_needed':
      return refuse('Auth.Required', 'The request has no access token', {
        headers: { 'www-authenticate': bothSchemes('Bearer') },
      })
    case 'access.invalid_token':
      return refuse('Auth.InvalidToken', 'The access token is not valid', { headers: invalidToken(error) })
    case 'access.invalid_dpop_proof':
      return refuse('Auth.InvalidProof', error.message, { headers: error.details.headers ?? {} })
    case 'access.use_dpop_nonce':
      return refuse('Auth.NonceNeeded', error.message, { headers: error.details.headers ?? {} })
    default:
      return error
  }
}

function invalidToken({ details: { headers = {} } }: Refusal): Readonly<Record<string, string>> {
  if (headers['www-authenticate']?.startsWith('DPoP ') === true) return headers
  return { 'www-authenticate': 'Bearer error="invalid_token", error_description="The access token is not valid"' }
}

/** Without those of the pipeline. */
const TITLES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(ERRORS).map(([name, { title }]) => [`IQL.${name}`, title] as const),
  ...Object.entries(QUERY_ERRORS).map(([code, { title }]) => [code, title] as const),
])
