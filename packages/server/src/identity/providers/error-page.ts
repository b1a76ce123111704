/** The pages of failed sign-ins: what happened, the code, the request id, and a way on. What the provider says goes to the log. */
import type { Refusal } from 'gatehouse-protocol'
import type { StoredProvider } from '../../store/providers/providers.ts'
import type { BrowserContext } from '../browser/browser-context.ts'
import { frameFor, sendPage } from '../browser/page-reply.ts'
import { type ErrorData, errorPage } from '../pages/error.ts'
import { providerErrorText } from '../pages/identities.ts'
import type { ProvidersEnv } from './env.ts'
import { isProviderFault } from './faults.ts'

/** Shows faults of the sign-in as pages; other errors are thrown. */
export async function answeringFaults(
  context: BrowserContext,
  provider: StoredProvider,
  /** The interaction to return to; undefined where it is not known, or has ended. */
  flow: string | undefined,
  env: ProvidersEnv,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isProviderFault(error)) throw error
    recordFault(context, provider, error, env)
    showFault(context, error, wayOn(flow, error, context, env), env)
  }
}

function recordFault(
  { http, user }: BrowserContext,
  provider: StoredProvider,
  error: Refusal,
  env: ProvidersEnv,
): void {
  const { cause } = error.details
  const reason = cause instanceof Error ? cause.message : undefined
  http.log.warn({ provider: provider.id, code: error.code, reason }, 'a sign-in through a provider failed')
  env.metrics.count('gatehouse_provider_signins_total', { provider: provider.id, outcome: error.code })
  env.audit.record({
    event: 'provider.refused',
    actor: user?.id,
    address: http.address,
    requestId: http.id,
    details: { provider: provider.id, reason: error.code },
  })
}

export function showFault(context: BrowserContext, error: Refusal, way: ErrorData['way'], env: ProvidersEnv): void {
  const frame = frameFor(env.pages, context)
  const { messages } = frame.language
  const { title, lead } = providerErrorText(messages, error.code) ?? {
    title: messages.error,
    lead: messages.serverFault,
  }
  context.http.setHeaders(error.details.headers ?? {})
  const data = { title, lead, code: error.code, requestId: context.http.id, way }
  sendPage(context.http, errorPage(frame, data), { status: error.status })
}

/** Back to the sign-in page, where the name does not lead to the provider again. */
function wayOn(
  flow: string | undefined,
  { code }: Refusal,
  context: BrowserContext,
  env: ProvidersEnv,
): ErrorData['way'] {
  if (flow === undefined) return 'sign-in'
  const { messages } = frameFor(env.pages, context).language
  const path = `/sign-in?${new URLSearchParams({ flow, local: '1' })}`
  return { path, text: code === 'identity.not_linked' ? messages.signInToLink : messages.signIn }
}
