/** Signing out at a provider after a sign-out here (OpenID Connect RP-Initiated Logout), and the way back. */
import type { FormParameters } from '../../http/request/body.ts'
import type { Session } from '../../store/authorizations/sessions.ts'
import { unseal } from '../../store/keys/opaque.ts'
import { addParameters } from '../authorize/response.ts'
import type { BrowserContext } from '../browser/browser-context.ts'
import type { LogoutRequest } from '../browser/flow.ts'
import { signOut } from '../browser/sign-out/end-session.ts'
import type { ProvidersEnv } from './env.ts'

/** What the sealed part of a session's origin is sealed for. */
export const LOGOUT_SEAL = 'sign-out at a provider'

/** Where the browser goes on to; undefined if the provider is not notified. This sends no request to the provider. */
export async function signOutThere(
  { http }: Pick<BrowserContext, 'http'>,
  session: Session,
  request: LogoutRequest,
  env: Pick<ProvidersEnv, 'providerSignIns' | 'providers' | 'providerKey' | 'flows' | 'issuer'>,
): Promise<{ url: string; name: string } | undefined> {
  const origin = await env.providerSignIns.findOrigin(session.id)
  const provider = origin && env.providers.find(origin.provider)
  if (origin?.logout === undefined || provider?.logout !== true) return undefined
  const opened: unknown = JSON.parse(unseal(origin.logout, env.providerKey, LOGOUT_SEAL).toString())
  const { endpoint, idToken } = readSealed(opened)
  // Without a browser: its cookies end with the session.
  const { handle: state } = await env.flows.begin({ kind: 'sign-out', request, progress: {} }, http)
  const url = addParameters(
    endpoint,
    {
      id_token_hint: idToken,
      client_id: provider.clientId,
      post_logout_redirect_uri: `${env.issuer.name}/external/${encodeURIComponent(provider.id)}/signed-out`,
      state,
    },
    'query',
  )
  return { url, name: provider.name }
}

function readSealed(value: unknown): { endpoint: string; idToken: string } {
  if (typeof value === 'object' && value !== null && 'endpoint' in value && 'idToken' in value)
    return { endpoint: String(value.endpoint), idToken: String(value.idToken) }
  throw new Error('The origin of a session has been altered')
}

/** `/external/{id}/signed-out`: continues to the application that asked for the sign-out. */
export async function backFromSignOut(
  context: BrowserContext,
  query: FormParameters,
  env: ProvidersEnv,
): Promise<void> {
  const handle = query.get('state')
  const flow = handle === undefined ? undefined : await env.flows.find(handle)
  const isFirst = handle !== undefined && (await env.flows.finish(handle))
  // Somebody has signed in again meanwhile: nothing more ends.
  if (context.session !== undefined) return context.http.redirect(`${env.pages.base}/account`)
  const none: LogoutRequest = { clientId: undefined, next: undefined, uiLocales: undefined }
  return signOut(context, isFirst && flow?.details.kind === 'sign-out' ? flow.details.request : none, env)
}
