/** Decides what must happen before an authorization request can be answered. Pure, and called again after every page. */
import { IDENTITY_AUDIENCE, isRight } from 'gatehouse-protocol'
import type { User } from '../../store/accounts/user.ts'
import type { Session } from '../../store/authorizations/sessions.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import type { Consent } from '../../store/clients/consents.ts'
import type { AttributeClaims } from '../attributes/attribute-claims.ts'
import { deriveAcr, FEDERATED, MULTI_FACTOR, SINGLE_FACTOR } from '../tokens/claims.ts'
import type { AuthorizationError } from './authorization-error.ts'
import { essentialAcr, scopesOfClaims } from './claims.ts'
import { type AuthorizationRequest, gives } from './request.ts'

export type Step =
  /** `again`: there is a session, but the request needs a new authentication. */
  | { readonly kind: 'sign-in'; readonly again: boolean }
  | { readonly kind: 'second-factor' }
  | { readonly kind: 'set-up-factor' }
  | { readonly kind: 'change-password' }
  | { readonly kind: 'choose-account' }
  | { readonly kind: 'consent'; readonly scopes: readonly string[] }
  | { readonly kind: 'refuse'; readonly error: AuthorizationError; readonly text: string }
  | { readonly kind: 'respond'; readonly session: Session; readonly user: User; readonly scopes: readonly string[] }

/** What has happened on the pages of this request. */
export interface Progress {
  /** The session in which the user signed in for this request. */
  readonly signedIn?: string
  /** The session with which the user chose to continue. */
  readonly chosen?: string
  /** The user who consented. */
  readonly consented?: string
  /** The scopes that this user chose, on a page that lets them choose. */
  readonly allowed?: readonly string[]
}

export interface Situation {
  readonly request: AuthorizationRequest
  readonly client: Client
  readonly session: Session | undefined
  /** The user of the session; undefined when disabled or deleted. */
  readonly user: User | undefined
  readonly progress: Progress
  readonly consent: Consent | undefined
  readonly attributes: AttributeClaims
  /** Whether the request is for agents alone. */
  readonly isOfAgents: boolean
  readonly now: number
}

export function nextStep(situation: Situation): Step {
  const step = decide(situation)
  return situation.request.prompt.includes('none') ? withoutInteraction(step) : step
}

function decide(situation: Situation): Step {
  const { request, client, session, user, progress, attributes, now } = situation
  if (session === undefined || user === undefined) return { kind: 'sign-in', again: false }
  // A sign-in for this request stays fresh however long the user reads the consent page.
  const isFresh = progress.signedIn === session.id
  if (!isFresh && (request.prompt.includes('login') || isStale(request, client, session, now)))
    return { kind: 'sign-in', again: true }
  if (request.subjects?.includes(user.id) === false) {
    return isFresh
      ? { kind: 'refuse', error: 'login_required', text: 'A different user signed in than was requested' }
      : { kind: 'sign-in', again: true }
  }
  if (request.prompt.includes('select_account') && !isFresh && progress.chosen !== session.id)
    return { kind: 'choose-account' }
  const factor = factorStep(request, client, session, user)
  if (factor !== undefined) return factor
  // Who came through another provider has not used the password.
  if (user.mustChangePassword && !session.amr.includes(FEDERATED)) return { kind: 'change-password' }
  const scopes = grantableScopes(situation, user)
  if (lacksRight(request, scopes))
    return { kind: 'refuse', error: 'invalid_scope', text: 'The user holds no right for the requested resource' }
  // Agents get no claims: their pages show none.
  const ofClaims = situation.isOfAgents ? [] : scopesOfClaims(request.claims, attributes)
  const needed = [...new Set([...scopes, ...ofClaims])]
  if (needsConsent(situation, needed, progress.consented === user.id)) return { kind: 'consent', scopes: needed }
  return { kind: 'respond', session, user, scopes }
}

/** The client may require a newer sign-in than the request does. */
function isStale(
  { maxAge }: AuthorizationRequest,
  { requireAge }: Client,
  { authTime }: Session,
  now: number,
): boolean {
  if (maxAge === 0) return true
  const age = Math.min(maxAge ?? Number.POSITIVE_INFINITY, requireAge ?? Number.POSITIVE_INFINITY)
  return now - authTime > age * 1000
}

function factorStep(request: AuthorizationRequest, client: Client, session: Session, user: User): Step | undefined {
  const isRequired = client.requireSecondFactor || user.requiresSecondFactor || asksForTwoFactors(request)
  const accepted = essentialAcr(request.claims)
  const reached = deriveAcr(session.amr)
  if ((accepted === undefined || accepted.includes(reached)) && (!isRequired || reached === MULTI_FACTOR))
    return undefined
  if (accepted !== undefined && !accepted.includes(MULTI_FACTOR)) {
    return {
      kind: 'refuse',
      error: 'unmet_authentication_requirements',
      text: 'This server cannot satisfy the requested acr',
    }
  }
  if (user.hasSecondFactor) return { kind: 'second-factor' }
  if (isRequired) return { kind: 'set-up-factor' }
  return { kind: 'refuse', error: 'unmet_authentication_requirements', text: 'The user has no second factor' }
}

/**
 * RFC 9470 §5: a resource wants two factors. `acr_values` is voluntary (OpenID Connect Core §3.1.2.1): it shows pages, but causes no error. A list that
 * one factor satisfies too, and values that are not ours, ask for nothing.
 */
function asksForTwoFactors({ acrValues = [], prompt }: AuthorizationRequest): boolean {
  if (prompt.includes('none')) return false
  return acrValues.includes(MULTI_FACTOR) && !acrValues.includes(SINGLE_FACTOR)
}

/** Consent given just now is stored like any other, and can be withdrawn just as quickly. */
function needsConsent(
  { request, client, consent, isOfAgents }: Situation,
  scopes: readonly string[],
  consentedNow: boolean,
): boolean {
  if (request.prompt.includes('consent') && !consentedNow) return true
  if (client.skipConsent) return false
  // Each connection of an agent is one of its own, and its user chooses what it may read.
  if ((isOfAgents || !isAuthenticClient(request, client)) && !consentedNow) return true
  // What a person allows to an agent, which changes nothing, is not stored for what the same client may do otherwise.
  if (isOfAgents && !client.agent) return false
  return !scopes.every((scope) => consent?.scopes.includes(scope) === true)
}

/** RFC 8252 §8.6: any program can listen on loopback or claim a scheme, so stored consent does not cover such a client. */
function isAuthenticClient(request: AuthorizationRequest, client: Client): boolean {
  return !client.public || request.target.redirectUri.startsWith('https://')
}

/** OpenID Connect Core §3.1.2.6: with prompt=none each page becomes its error. */
function withoutInteraction(step: Step): Step {
  switch (step.kind) {
    case 'sign-in':
      return { kind: 'refuse', error: 'login_required', text: 'The user must sign in' }
    case 'choose-account':
      return { kind: 'refuse', error: 'account_selection_required', text: 'The user must choose an account' }
    case 'second-factor':
    case 'set-up-factor':
      return { kind: 'refuse', error: 'interaction_required', text: 'The user must present a second factor' }
    case 'change-password':
      return { kind: 'refuse', error: 'interaction_required', text: 'The user must change the password' }
    case 'consent':
      return { kind: 'refuse', error: 'consent_required', text: 'The user must consent' }
    case 'refuse':
    case 'respond':
      return step
  }
}

/** A token for a declared API, or for the platform if it is named, has a right there. */
function lacksRight({ audiences }: AuthorizationRequest, scopes: readonly string[]): boolean {
  return audiences !== undefined && !audiences.includes(IDENTITY_AUDIENCE) && !scopes.some(isRight)
}

/** Rights come from roles; offline access needs a code and a client with the refresh_token grant. */
function grantableScopes({ request, client, progress }: Situation, user: User): string[] {
  const chosen = progress.consented === user.id ? progress.allowed : undefined
  return request.scopes.filter((scope) => {
    if (scope === 'offline_access') return gives(request.responseType, 'code') && client.grantTypes.has('refresh_token')
    return !isRight(scope) || (user.rights.has(scope) && chosen?.includes(scope) !== false)
  })
}
