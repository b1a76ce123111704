/** What must still happen before a request can be answered: one pure decision, taken again after every page. */
import type { Client } from '../../store/client-metadata.ts'
import type { Consent } from '../../store/consents.ts'
import type { Session } from '../../store/sessions.ts'
import type { User } from '../../store/users.ts'
import { acrOf, MULTI_FACTOR } from '../acr.ts'
import { essentialAcr, scopesOfClaims } from './claims.ts'
import type { AuthorizationError } from './refuse.ts'
import type { AuthorizationRequest } from './request.ts'
import { grantableScopes } from './scope.ts'

export type Step =
  /** `again`: there is a session, but it does not do. */
  | { readonly kind: 'sign-in'; readonly again: boolean }
  | { readonly kind: 'second-factor' }
  | { readonly kind: 'set-up-factor' }
  | { readonly kind: 'choose-account' }
  | { readonly kind: 'consent'; readonly scopes: readonly string[] }
  | { readonly kind: 'refuse'; readonly error: AuthorizationError; readonly text: string }
  | { readonly kind: 'respond'; readonly session: Session; readonly user: User; readonly scopes: readonly string[] }

/** What has happened on the pages of this one request. */
export interface Progress {
  /** The session in which the person signed in for this request. */
  readonly signedIn?: string
  /** The person chose to go on with this session. */
  readonly chosen?: string
  /** The user who agreed. */
  readonly consented?: string
}

export interface Situation {
  readonly request: AuthorizationRequest
  readonly client: Client
  readonly session: Session | undefined
  /** Of the session; undefined too when the user was disabled or deleted. */
  readonly user: User | undefined
  readonly progress: Progress
  readonly consent: Consent | undefined
  readonly now: number
}

export function nextStep(situation: Situation): Step {
  const step = decide(situation)
  return situation.request.prompt.includes('none') ? silently(step) : step
}

function decide({ request, client, session, user, progress, consent, now }: Situation): Step {
  if (session === undefined || user === undefined) return { kind: 'sign-in', again: false }
  // A proof given for this very request is fresh, however long the person then reads the consent page.
  const fresh = progress.signedIn === session.id
  if (!fresh && (request.prompt.includes('login') || isStale(request, session, now)))
    return { kind: 'sign-in', again: true }
  if (request.subjects?.includes(user.id) === false) {
    return fresh
      ? { kind: 'refuse', error: 'login_required', text: 'Another person signed in than the one asked for' }
      : { kind: 'sign-in', again: true }
  }
  if (request.prompt.includes('select_account') && !fresh && progress.chosen !== session.id)
    return { kind: 'choose-account' }
  const factor = factorStep(request, client, session, user)
  if (factor !== undefined) return factor
  const scopes = grantableScopes(request, client, user)
  const asked = [...new Set([...scopes, ...scopesOfClaims(request.claims)])]
  if (needsConsent(request, client, asked, consent, progress.consented === user.id))
    return { kind: 'consent', scopes: asked }
  return { kind: 'respond', session, user, scopes }
}

function isStale({ maxAge }: AuthorizationRequest, { authTime }: Session, now: number): boolean {
  if (maxAge === undefined) return false
  return maxAge === 0 || now - authTime > maxAge * 1000
}

function factorStep(request: AuthorizationRequest, client: Client, session: Session, user: User): Step | undefined {
  const demanded = client.requireSecondFactor || user.roleRequiresSecondFactor
  const accepted = essentialAcr(request.claims)
  const reached = acrOf(session.amr)
  if ((accepted === undefined || accepted.includes(reached)) && (!demanded || reached === MULTI_FACTOR))
    return undefined
  if (accepted !== undefined && !accepted.includes(MULTI_FACTOR)) {
    return { kind: 'refuse', error: 'unmet_authentication_requirements', text: 'This acr cannot be reached here' }
  }
  if (user.hasSecondFactor) return { kind: 'second-factor' }
  if (demanded) return { kind: 'set-up-factor' }
  return { kind: 'refuse', error: 'unmet_authentication_requirements', text: 'The user has no second factor' }
}

/** What was agreed to just now is remembered like the rest, and can be withdrawn as soon. */
function needsConsent(
  request: AuthorizationRequest,
  client: Client,
  scopes: readonly string[],
  consent: Consent | undefined,
  agreedNow: boolean,
): boolean {
  if (request.prompt.includes('consent') && !agreedNow) return true
  if (client.skipConsent) return false
  if (!isProven(request, client) && !agreedNow) return true
  return !scopes.every((scope) => consent?.scopes.includes(scope) === true)
}

/** RFC 8252 §8.6: any program can listen on loopback or claim a scheme, so remembered consent says nothing of who asks. */
function isProven(request: AuthorizationRequest, client: Client): boolean {
  return !client.public || request.target.redirectUri.startsWith('https://')
}

/** OpenID Connect Core §3.1.2.6: with prompt=none each page becomes the error that names it. */
function silently(step: Step): Step {
  switch (step.kind) {
    case 'sign-in':
      return { kind: 'refuse', error: 'login_required', text: 'The person must sign in' }
    case 'choose-account':
      return { kind: 'refuse', error: 'account_selection_required', text: 'The person must choose an account' }
    case 'second-factor':
    case 'set-up-factor':
      return { kind: 'refuse', error: 'interaction_required', text: 'The person must give a second factor' }
    case 'consent':
      return { kind: 'refuse', error: 'consent_required', text: 'The person must agree' }
    case 'refuse':
    case 'respond':
      return step
  }
}
