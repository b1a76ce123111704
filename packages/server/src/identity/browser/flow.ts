/** The state of an interaction with a browser: a sign-in for a client, one of our own pages, a sign-out. */
import { Refusal } from 'gatehouse-protocol'
import type { Interaction, Interactions } from '../../store/authorizations/interactions.ts'
import type { SessionOrigin } from '../../store/providers/provider-sign-ins.ts'
import type { Progress } from '../authorize/next-step.ts'
import type { AuthorizationRequest } from '../authorize/request.ts'
import type { BrowserContext } from './browser-context.ts'

/** A sign-in through another provider, and what it means for the session that comes of it. */
export interface ExternalSignIn extends SessionOrigin {
  /** When the person authenticated there, if the provider says so. */
  readonly authTime: number | undefined
  readonly boundedUntil: number | undefined
}

/** An identity that is not linked yet, proven in this flow: it is linked once the person has signed in here and confirms. */
export interface PendingIdentity {
  readonly provider: string
  readonly issuer: string
  readonly subject: string
  readonly label: string
  /** When it was proven. */
  readonly at: number
  /** The session whose user asked for it on the account page. */
  readonly session?: string
}

/** The first factor is proven and the second is pending; there is no session yet, or one with a single factor. */
export interface HalfSignedIn {
  readonly userId: string
  readonly amr: readonly string[]
  /** When the first factor was proven; it expires soon. */
  readonly at: number
  /** Of the session that the second factor is added to: the sign-in is as old as its oldest factor. */
  readonly authTime?: number | undefined
  readonly external?: ExternalSignIn | undefined
}

export interface SignInProgress extends Progress {
  readonly half?: HalfSignedIn | undefined
  /** The latest WebAuthn challenge of the page. */
  readonly challenge?: string | undefined
  /** The user named on the consent page: only this user can answer it (C-117). */
  readonly asked?: string
  readonly identity?: PendingIdentity | undefined
  /** The session whose user wants to link an identity. */
  readonly linking?: string | undefined
}

export interface LogoutRequest {
  readonly clientId: string | undefined
  /** The validated redirect target. */
  readonly next: string | undefined
  /** From the ID token hint. */
  readonly hinted?: { readonly subject: string; readonly sessionId: string | undefined }
  readonly uiLocales: string | undefined
}

export type Flow = {
  readonly progress: SignInProgress
} & (
  | { readonly kind: 'authorize'; readonly request: AuthorizationRequest }
  /** One of our own pages to return to; never an address from a request. */
  | { readonly kind: 'own'; readonly page: OwnPage; readonly needs?: OwnNeeds }
  | { readonly kind: 'sign-out'; readonly request: LogoutRequest }
)

export type OwnPage =
  | {
      readonly name:
        | 'account'
        | 'security'
        | 'sessions'
        | 'applications'
        | 'data'
        | 'password'
        | 'authenticator'
        | 'passkey'
        | 'console'
    }
  | { readonly name: 'device'; readonly userCode: string | undefined }
  /** For one that is not allowed. */
  | { readonly name: 'agent'; readonly clientId: string }

/** What one of our pages needs besides a session. */
export interface OwnNeeds {
  /** A recent sign-in. */
  readonly fresh?: boolean
  readonly secondFactor?: boolean
  /** How old the sign-in may be, in seconds. */
  readonly age?: number | undefined
}

export type FlowInteraction = Interaction<Flow>
export type Flows = Interactions<Flow>

export function beginFlow(details: Flow, context: BrowserContext, flows: Flows): Promise<FlowInteraction> {
  return flows.begin(details, { address: context.http.address, browser: context.browser() })
}

/** The interaction with this handle, if it is alive and belongs to this browser. */
export async function claimFlow(
  handle: string | undefined,
  context: BrowserContext,
  flows: Flows,
): Promise<FlowInteraction> {
  const flow = handle === undefined ? undefined : await flows.find(handle)
  if (flow === undefined) throw expired()
  if (flow.browser === undefined) {
    await flows.claim(flow.handle, context.browser())
    return claimFlow(handle, context, flows)
  }
  if (flow.browser !== context.browser()) throw expired()
  return flow
}

export function expired(): Refusal {
  return new Refusal('page.expired', 400, 'The interaction has expired or belongs to another browser')
}

/** Merges into the latest state: changes by concurrent requests are kept. */
export async function noteProgress<F extends Pick<FlowInteraction, 'handle' | 'details'>>(
  flow: F,
  progress: SignInProgress,
  flows: Flows,
): Promise<F> {
  const noted = withProgress(flow, progress)
  if (await flows.replace(flow, noted.details)) return noted
  const latest = await flows.find(flow.handle)
  // The interaction has ended; finishing it will fail.
  if (latest === undefined) return noted
  return noteProgress({ ...flow, details: latest.details }, progress, flows)
}

/** A challenge can be used once: of concurrent requests only one gets it. */
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

/** The path of each of our own pages. */
export function ownPagePath(page: OwnPage): string {
  switch (page.name) {
    case 'account':
    case 'console':
      return `/${page.name}`
    case 'security':
    case 'sessions':
    case 'applications':
    case 'data':
    case 'password':
    case 'authenticator':
    case 'passkey':
      return `/account/${page.name}`
    case 'agent':
      return `/agent?client_id=${encodeURIComponent(page.clientId)}`
    case 'device':
      return page.userCode === undefined ? '/device' : `/device?user_code=${encodeURIComponent(page.userCode)}`
  }
}
