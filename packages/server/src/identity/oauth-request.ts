/** What the OAuth endpoints share: forms in, JSON out, never cached, one error reply. */

import { Refusal } from 'gatehouse-protocol'
import type { Context, Headers } from '../http/context.ts'
import { outageOf } from '../http/problem.ts'
import { isForm, type Parameters, readParameters } from '../http/request/form.ts'
import type { Caller } from './clients/client-auth.ts'
import { isOAuthError, printable, refuse } from './oauth-error.ts'

/** Exactly what the contract shows on token responses. */
export const OAUTH_HEADERS: Headers = { 'cache-control': 'no-store, no-cache, max-age=0', pragma: 'no-cache' }

/** RFC 6750 §3.1: a request without a token gets a challenge without an error code. */
export const TOKEN_NEEDED = 'token_needed'

/** C-41, C-43: the body is a form, and each parameter occurs once. */
export function formOf(context: Context): Parameters {
  if (!isForm(context)) throw refuse('invalid_request', 'The body must be application/x-www-form-urlencoded')
  const form = readParameters(String(context.body))
  if (form.repeated.size > 0) throw refuse('invalid_request', 'A parameter is repeated')
  return form
}

export function required(form: Parameters, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw refuse('invalid_request', `The parameter ${name} is missing`)
  return value
}

export function clientCaller(context: Context): Caller {
  const { address, id, headers } = context
  return {
    address,
    requestId: id,
    authorization: headers.authorization,
    identify: (caller) => context.identify(caller),
  }
}

/** RFC 6749 §5.2. */
export function replyWithOAuthError(context: Context, error: unknown): void {
  const outage = outageOf(error)
  if (outage !== undefined) {
    context.log.debug({ reason: outage.message }, 'refused')
    context.setHeaders(outage.details.headers ?? {})
    context.json({ error: 'temporarily_unavailable', error_description: printable(outage.message) }, outage.status)
    return
  }
  if (!(error instanceof Refusal)) {
    context.log.error({ err: error }, 'failed')
    context.json({ error: 'server_error', error_description: 'The server failed to answer' }, 500)
    return
  }
  if (error.cause !== undefined) context.log.info({ code: error.code, why: String(error.cause) }, 'refused')
  const { code, status } = isOAuthError(error.code) ? error : translated(error)
  context.setHeaders(error.details.headers ?? {})
  context.json(error.code === TOKEN_NEEDED ? {} : { error: code, error_description: printable(error.message) }, status)
}

/** Refusals of the pipeline: the body is too large or not a form, there were too many requests, the server takes none. */
function translated({ status }: Refusal): { code: string; status: number } {
  if (status === 429 || status === 503) return { code: 'temporarily_unavailable', status }
  // C-41: a body that is not a form is an invalid request.
  return { code: 'invalid_request', status: status === 415 ? 400 : status }
}
