/** `/connect/authorize`: who asks, where the answer may go, what is asked for; then the person is taken on from page to page. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Client } from '../../store/client-metadata.ts'
import type { BrowserEnv } from '../browser/env.ts'
import { answerFault, proceed, refuseToClient } from '../browser/proceed.ts'
import { openStrangersVisit, openVisit } from '../browser/visit.ts'
import { checkRequest } from './checks.ts'
import { type AuthorizationError, isAuthorizationError } from './refuse.ts'
import type { AuthorizationRequest, Target } from './request.ts'
import { openRequestObject } from './request-object.ts'
import { readClient, readTarget, registeredTarget } from './target.ts'

export function registerAuthorize(app: FastifyInstance, env: BrowserEnv): void {
  // To ask what an answer would be like is to be answered: there is no HEAD.
  app.get('/connect/authorize', { exposeHeadRoute: false }, (request, reply) =>
    authorize(request, reply, queryParameters(request), env),
  )
  app.post('/connect/authorize', (request, reply) => authorize(request, reply, formParameters(request), env))
}

async function authorize(
  request: FastifyRequest,
  reply: FastifyReply,
  parameters: Parameters,
  env: BrowserEnv,
): Promise<FastifyReply> {
  const client = await readClient(parameters, env.clients)
  env.doors.admit('pages', request.ip, { client: client.id })
  const checked = await check(parameters, client, env)
  try {
    const visit = await openVisit(request, reply, env)
    if ('refusal' in checked) {
      const { error, text, ...asked } = checked.refusal
      return await refuseToClient(visit, client, asked, error, text, env)
    }
    const details = { kind: 'authorize', request: checked.request, progress: {} } as const
    if (request.method === 'GET') return await proceed(visit, { handle: undefined, details }, env)
    // A form posted from another site brings no Lax cookie; the redirect that follows does (B-08).
    const { handle } = await env.flows.begin(details)
    return reply.redirect(`${env.pages.base}/continue?flow=${encodeURIComponent(handle)}`, 303)
  } catch (error) {
    const asked = 'refusal' in checked ? checked.refusal : checked.request
    return answerFault(error, openStrangersVisit(request, reply, env), client, asked, env)
  }
}

type Checked = { readonly request: AuthorizationRequest } | { readonly refusal: ToldRefusal }

interface ToldRefusal {
  readonly error: AuthorizationError
  readonly text: string
  readonly target: Target
  readonly uiLocales: string | undefined
  readonly responseType: string | undefined
}

/** What is thrown here ends on a page of ours; what is returned as a refusal goes back to the client. */
async function check(outer: Parameters, client: Client, env: BrowserEnv): Promise<Checked> {
  const told = (refusal: Refusal, target: Target): Checked => {
    if (!isAuthorizationError(refusal.code)) throw refusal
    const { code: error, message: text } = refusal
    return {
      refusal: {
        error,
        text,
        target,
        uiLocales: outer.get('ui_locales'),
        responseType: outer.get('response_type')?.slice(0, 100),
      },
    }
  }
  const surroundings = { issuer: env.issuer.name, clock: env.clock, readHint: hintReader(env) }
  const parameters = await orRefusal(openRequestObject(outer, client, surroundings))
  if (parameters instanceof Refusal) {
    const target = registeredTarget(outer, client)
    if (target === undefined) throw parameters
    return told(parameters, target)
  }
  const target = readTarget(parameters, client)
  const request = await orRefusal(checkRequest({ parameters, client }, target, surroundings))
  return request instanceof Refusal ? told(request, target) : { request }
}

/** An ID token of ours; its expiry does not matter, and no other kind of token passes for one (C-103). */
export function hintReader({ signer, issuer }: Pick<BrowserEnv, 'signer' | 'issuer'>) {
  return async (idToken: string) => {
    const claims = (await signer.verify('JWT', idToken))?.claims
    if (claims === undefined || claims.iss !== issuer.name || typeof claims.sub !== 'string') return undefined
    return {
      subject: claims.sub,
      clientId: typeof claims.aud === 'string' ? claims.aud : undefined,
      sessionId: typeof claims.sid === 'string' ? claims.sid : undefined,
    }
  }
}

async function orRefusal<T>(work: Promise<T>): Promise<T | Refusal> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}
