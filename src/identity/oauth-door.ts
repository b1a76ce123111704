/** What the OAuth endpoints share: forms in, JSON out, never cached, one face for every refusal. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { asRefusal } from '../http/app.ts'
import { acceptForms, type Parameters } from '../http/form.ts'
import type { Refusal } from '../protocol/refusal.ts'
import { isUnavailable } from '../store/unavailable.ts'
import { isOAuthError, printable, refuse } from './oauth-error.ts'

/** Exactly what the contract shows on token responses. */
const NEVER_CACHED = { 'cache-control': 'no-store, no-cache, max-age=0', pragma: 'no-cache' } as const

export const JSON_TYPE = 'application/json; charset=utf-8'

/** RFC 6750 §3.1: who brings no token is asked for one, and told of no error. */
export const TOKEN_NEEDED = 'token_needed'

/** Gives the routes of this scope forms, the headers and the error replies of OAuth. */
export function openOAuthDoor(app: FastifyInstance): void {
  acceptForms(app)
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(NEVER_CACHED)
    done()
  })
  app.setErrorHandler(replyWithOAuthError)
}

/** C-41, C-43: the body is a form, and each parameter came once. */
export function formOf(request: FastifyRequest): Parameters {
  const { body } = request
  if (!isParameters(body)) throw refuse('invalid_request', 'The body must be application/x-www-form-urlencoded')
  const [repeated] = body.repeated
  if (repeated !== undefined) throw refuse('invalid_request', 'A parameter came more than once')
  // C-44: no value of ours holds a NUL, and a database may choke on it.
  for (const name of body.names()) {
    if (body.get(name)?.includes('\0')) throw refuse('invalid_request', 'A parameter holds a NUL character')
  }
  return body
}

export function required(form: Parameters, name: string): string {
  const value = form.get(name)
  if (value === undefined) throw refuse('invalid_request', `The parameter ${name} is missing`)
  return value
}

function isParameters(body: unknown): body is Parameters {
  return typeof body === 'object' && body !== null && 'repeated' in body && 'get' in body
}

export function replyWithOAuthError(
  error: FastifyError | Refusal | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = asRefusal(error)
  if (refusal === undefined) {
    request.log.error({ err: error }, 'failed')
    // What failed is not what the caller did, and a moment later it may not fail.
    if (isUnavailable(error))
      return reply
        .code(503)
        .header('retry-after', '1')
        .send({ error: 'temporarily_unavailable', error_description: 'The server is too busy to answer' })
    return reply.code(500).send({ error: 'server_error', error_description: 'The server failed to answer' })
  }
  if (refusal.cause !== undefined) request.log.info({ code: refusal.code, why: String(refusal.cause) }, 'refused')
  const { code, status } = isOAuthError(refusal.code) ? refusal : translated(refusal)
  return reply
    .code(status)
    .headers(refusal.details.headers ?? {})
    .send(refusal.code === TOKEN_NEEDED ? {} : { error: code, error_description: printable(refusal.message) })
}

/** What was refused before OAuth was asked: too large, too often, no form. */
function translated({ status }: Refusal): { code: string; status: number } {
  if (status === 429) return { code: 'temporarily_unavailable', status }
  // C-41: a body that is no form is an invalid request like any other.
  return { code: 'invalid_request', status: status === 415 ? 400 : status }
}
