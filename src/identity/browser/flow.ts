/** What a browser is in the middle of with us, and the steps that lead out of it. */
import { Refusal } from '../../protocol/refusal.ts'
import type { Interaction, Interactions } from '../../store/interactions.ts'
import type { Progress } from '../authorize/next-step.ts'
import type { AuthorizationRequest } from '../authorize/request.ts'
import type { Visit } from './visit.ts'

/** A first factor was proven and a second is awaited; there is no session yet, or one that is to be raised. */
export interface HalfSignedIn {
  readonly userId: string
  readonly amr: readonly string[]
  /** When; it does not keep for long. */
  readonly at: number
}

export interface SignInProgress extends Progress {
  readonly half?: HalfSignedIn | undefined
  /** The WebAuthn challenge that the page showed last. */
  readonly challenge?: string | undefined
  /** The user whom the consent page named: nobody else can answer it (C-117). */
  readonly asked?: string
}

export interface LogoutRequest {
  readonly clientId: string | undefined
  /** Checked; where to go once signed out. */
  readonly next: string | undefined
  /** Whom the ID token names that came as a hint. */
  readonly hinted?: { readonly subject: string; readonly sessionId: string | undefined }
  readonly uiLocales: string | undefined
}

export type Flow = {
  /** The browser that it belongs to; undefined until a browser comes for it (a request posted from another site brings no cookies). */
  readonly browser?: string
  readonly progress: SignInProgress
} & (
  | { readonly kind: 'authorize'; readonly request: AuthorizationRequest }
  /** One of our own pages, to which the person returns; never an address from a request. */
  | { readonly kind: 'own'; readonly page: OwnPage; readonly needs?: OwnNeeds }
  | { readonly kind: 'sign-out'; readonly request: LogoutRequest }
)

export type OwnPage =
  | { readonly name: 'account' | 'password' | 'authenticator' | 'passkey' }
  | { readonly name: 'device'; readonly userCode: string | undefined }

/** What one of our pages wants beside a session. */
export interface OwnNeeds {
  /** A proof given just now. */
  readonly fresh?: boolean
  readonly secondFactor?: boolean
}

export type FlowInteraction = Interaction<Flow>
export type Flows = Interactions<Flow>

/** The interaction that a page or form names, if it is alive and of this browser. */
export async function claimFlow(handle: string | undefined, visit: Visit, flows: Flows): Promise<FlowInteraction> {
  const flow = handle === undefined ? undefined : await flows.find(handle)
  if (flow === undefined) throw expired()
  if (flow.details.browser === undefined) {
    const claimed = { ...flow, details: { ...flow.details, browser: visit.browser() } }
    return (await flows.replace(flow, claimed.details)) ? claimed : claimFlow(handle, visit, flows)
  }
  if (flow.details.browser !== visit.browser()) throw expired()
  return flow
}

export function expired(): Refusal {
  return new Refusal('page.expired', 400, 'The page belongs to an interaction that is over or was never this browser’s')
}

/** Adds to what stands there by now: what another request noted or spent meanwhile stays so. */
export async function noteProgress<F extends Pick<FlowInteraction, 'handle' | 'details'>>(
  flow: F,
  progress: SignInProgress,
  flows: Flows,
): Promise<F> {
  const noted = withProgress(flow, progress)
  if (await flows.replace(flow, noted.details)) return noted
  const latest = await flows.find(flow.handle)
  // Over; whoever is to finish it is told so.
  if (latest === undefined) return noted
  return noteProgress({ ...flow, details: latest.details }, progress, flows)
}

/** A challenge is good for one answer: of several that come at once, one is given it to check against. */
export async function spendChallenge(
  flow: FlowInteraction,
  flows: Flows,
): Promise<{ readonly challenge: string | undefined; readonly flow: FlowInteraction }> {
  const spent = withProgress(flow, { challenge: undefined })
  const isFirst = await flows.replace(flow, spent.details)
  return { challenge: isFirst ? flow.details.progress.challenge : undefined, flow: spent }
}

function withProgress<F extends Pick<FlowInteraction, 'details'>>(flow: F, progress: SignInProgress): F {
  return { ...flow, details: { ...flow.details, progress: { ...flow.details.progress, ...progress } } }
}

/** Which path each own page has. */
export function pathOf(page: OwnPage): string {
  switch (page.name) {
    case 'account':
      return '/account'
    case 'password':
    case 'authenticator':
    case 'passkey':
      return `/account/${page.name}`
    case 'device':
      return page.userCode === undefined ? '/device' : `/device?user_code=${encodeURIComponent(page.userCode)}`
  }
}
