/** `/connect/authorize`: checks the client, its redirect URI and the request, then continues with the pages. */

import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { FORM, formParameters, type Parameters, queryParameters } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { type AuthorizationError, isAuthorizationError } from '../authorize/authorization-error.ts'
import { checkRequest } from '../authorize/checks.ts'
import type { AuthorizationRequest, Target } from '../authorize/request.ts'
import { openRequestObject } from '../authorize/request-object.ts'
import { readClient, readTarget, registeredTarget } from '../authorize/target.ts'
import { openAnonymousContext, openBrowserContext } from './browser-context.ts'
import type { BrowserEnv } from './env.ts'
import { answerHead } from './page-reply.ts'
import { answerFault, proceed, refuseToClient } from './proceed.ts'

export function authorizeRoutes(env: BrowserEnv): readonly Route[] {
  const path = '/connect/authorize'
  return [
    { method: 'GET', path, head: answerHead, handle: (http) => authorize(http, queryParameters(http), env) },
    { method: 'POST', path, body: FORM, handle: (http) => authorize(http, formParameters(http), env) },
  ]
}

async function authorize(http: Context, parameters: Parameters, env: BrowserEnv): Promise<void> {
  const client = await readClient(parameters, env.clients)
  http.identify({ client: client.id })
  env.rateLimits.countCaller('pages', http.address, { client: client.id })
  const checked = await check(parameters, client, env)
  try {
    const context = await openBrowserContext(http, env)
    if ('refusal' in checked) {
      const { error, text, ...asked } = checked.refusal
      return await refuseToClient(context, client, asked, error, text, env)
    }
    const details = { kind: 'authorize', request: checked.request, progress: {} } as const
    if (http.method === 'GET') return await proceed(context, { handle: undefined, details }, env)
    // A form posted from another site brings no Lax cookie; the redirect that follows does (B-08).
    const { handle } = await env.flows.begin(details, http)
    return http.redirect(`${env.pages.base}/continue?flow=${encodeURIComponent(handle)}`)
  } catch (error) {
    const asked = 'refusal' in checked ? checked.refusal : checked.request
    return answerFault(error, openAnonymousContext(http, env), client, asked, env)
  }
}

type Checked = { readonly request: AuthorizationRequest } | { readonly refusal: ClientRefusal }

interface ClientRefusal {
  readonly error: AuthorizationError
  readonly text: string
  readonly target: Target
  readonly uiLocales: string | undefined
  readonly responseType: string | undefined
}

/** Throws errors that are shown on an error page; returns refusals that go to the client. */
async function check(outer: Parameters, client: Client, env: BrowserEnv): Promise<Checked> {
  const refuse = (refusal: Refusal, target: Target): Checked => {
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
  const checkEnv = {
    issuer: env.issuer.name,
    clock: env.clock,
    clientKeys: env.clientKeys,
    known: env.apis.known(),
    attributes: env.attributes.claims(),
    readHint: hintReader(env),
  }
  const parameters = await orRefusal(openRequestObject(outer, client, checkEnv))
  if (parameters instanceof Refusal) {
    const target = registeredTarget(outer, client)
    if (target === undefined) throw parameters
    return refuse(parameters, target)
  }
  const target = readTarget(parameters, client)
  const request = await orRefusal(checkRequest({ parameters, client }, target, checkEnv))
  return request instanceof Refusal ? refuse(request, target) : { request }
}

/** An ID token that this server issued; its expiry does not matter, and no other kind of token passes for one (C-103). */
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
