/** Signing out at a provider after a sign-out here and the way back; and sign-outs there, which end sessions here. */
import type { Context } from '../../http/context.ts'
import type { FormParameters } from '../../http/request/body.ts'
import type { Session } from '../../store/authorizations/sessions.ts'
import { unseal } from '../../store/keys/opaque.ts'
import type { StoredProvider } from '../../store/providers/providers.ts'
import type { BrowserContext } from '../browser/browser-context.ts'
import type { LogoutRequest } from '../browser/flow.ts'
import { signOut } from '../browser/sign-out/end-session.ts'
import { type EndedSession, endInside, recordEnd } from '../browser/sign-out/session-end.ts'
import type { ConnectorEnv, ProviderLogout } from './connector.ts'
import { openConnector } from './connectors.ts'
import type { ProvidersEnv } from './env.ts'
import { badAnswer } from './faults.ts'

/** What the sealed part of a session's origin is sealed for. */
export const LOGOUT_SEAL = 'sign-out at a provider'

/** Where the browser goes on to; undefined if the provider is not notified. This sends no request to the provider. */
export async function signOutThere(
  { http }: Pick<BrowserContext, 'http'>,
  session: Session,
  request: LogoutRequest,
  env: ConnectorEnv & Pick<ProvidersEnv, 'providerSignIns' | 'providers' | 'flows'>,
): Promise<{ url: string; name: string } | undefined> {
  const origin = await env.providerSignIns.findOrigin(session.id)
  const provider = origin && env.providers.find(origin.provider)
  if (origin?.logout === undefined || provider?.logout !== true) return undefined
  const kept = unseal(origin.logout, env.providerKey, LOGOUT_SEAL).toString()
  // Without a browser: its cookies end with the session.
  const { handle: state } = await env.flows.begin({ kind: 'sign-out', request, progress: {} }, http)
  return { url: openConnector(provider, env).signOutUrl(kept, state), name: provider.name }
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

/** For a person who has signed out there. */
export async function endProviderSessions(
  http: Context,
  provider: StoredProvider,
  notice: ProviderLogout,
  env: ProvidersEnv,
): Promise<void> {
  const ended = await spendAndEnd(provider, notice, env)
  for (const session of ended) recordEnd(session, 'signed out at its provider', env)
  env.audit.record({
    event: 'provider.logout',
    address: http.address,
    requestId: http.id,
    details: { provider: provider.id, sessions: ended.length },
  })
}

/** In one transaction: a notice whose sessions could not be ended is not spent, so that the provider can send it again. */
function spendAndEnd(
  { id: provider }: StoredProvider,
  { issuer, jti, sid, subject, keptMs }: ProviderLogout,
  { revocations }: ProvidersEnv,
): Promise<EndedSession[]> {
  return revocations.inTransaction(async (revocations, stores) => {
    const { providerSignIns } = stores
    if (!(await providerSignIns.spendLogout(provider, jti, keptMs))) throw badAnswer('The logout token was used before')
    const ended: EndedSession[] = []
    for (const id of await providerSignIns.findSessions(provider, issuer, { sid, subject })) {
      const one = await endInside(id, revocations, stores)
      if (one !== undefined) ended.push(one)
    }
    return ended
  })
}
