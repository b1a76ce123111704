/** Step-up authentication (RFC 9470): what a resource demands of the sign-in behind an access token, and whether a token meets it. */
import { HTTP_ERRORS } from './http-errors.ts'
import type { Principal } from './principal.ts'
import { Refusal } from './refusal.ts'

/** The values of `acr`, the weakest first: one factor, two factors. */
export const ACR_LEVELS = [1, 2] as const
export type AcrLevel = (typeof ACR_LEVELS)[number]

/** At most a year. */
export const LONGEST_AGE = 31_536_000

/** A missing member demands nothing. */
export interface StepUpNeed {
  readonly acr?: AcrLevel | undefined
  /** Seconds since the user signed in (`auth_time`). */
  readonly age?: number | undefined
}

/** What reading and what writing demand. A writer must meet both. */
export interface StepUpRules {
  readonly read?: StepUpNeed | undefined
  readonly write?: StepUpNeed | undefined
}

/** The stricter level and the smaller age of both. */
export function strictest(one: StepUpNeed | undefined, other: StepUpNeed | undefined): StepUpNeed | undefined {
  if (one === undefined || other === undefined) return one ?? other
  const acr = [one.acr, other.acr].filter((level) => level !== undefined).sort()
  const ages = [one.age, other.age].filter((age) => age !== undefined)
  return readStepUpNeed(acr.at(-1), ages.length === 0 ? undefined : Math.min(...ages))
}

/** Undefined if nothing is demanded. */
export function readStepUpNeed(
  acr: AcrLevel | null | undefined,
  age: number | null | undefined,
): StepUpNeed | undefined {
  const level = acr ?? undefined
  const seconds = age ?? undefined
  if (level === undefined && seconds === undefined) return undefined
  return { ...(level && { acr: level }), ...(seconds !== undefined && { age: seconds }) }
}

export function sameNeed(one: StepUpNeed | undefined, other: StepUpNeed | undefined): boolean {
  return one === other || (one?.acr === other?.acr && one?.age === other?.age)
}

/** `now` in milliseconds. */
export function meets({ kind, acr, authTime }: Principal, need: StepUpNeed, now: number): boolean {
  if (kind !== 'user') return false
  if (need.acr !== undefined && !(Number(acr) >= need.acr)) return false
  return need.age === undefined || (authTime !== undefined && Math.floor(now / 1000) - authTime <= need.age)
}

/** The refusal of a token that does not meet the need. It names everything that is needed, so that one sign-in is enough. */
export function stepUpRefusal({ kind, boundKey }: Principal, need: StepUpNeed): Refusal {
  if (kind !== 'user') {
    const text = 'This needs a user who has signed in; the access token has none'
    return new Refusal('Auth.UserNeeded', HTTP_ERRORS['Auth.UserNeeded'].status, text)
  }
  const text = `The sign-in behind the access token is not enough: this needs ${inWords(need)}`
  const parts = ['error="insufficient_user_authentication"']
  if (need.acr !== undefined) parts.push(`acr_values="${need.acr}"`)
  if (need.age !== undefined) parts.push(`max_age="${need.age}"`)
  return new Refusal('Auth.StepUp', HTTP_ERRORS['Auth.StepUp'].status, text, {
    headers: { 'www-authenticate': `${boundKey === undefined ? 'Bearer' : 'DPoP'} ${parts.join(', ')}` },
    members: {
      ...(need.acr !== undefined && { AcrValues: String(need.acr) }),
      ...(need.age !== undefined && { MaxAge: need.age }),
    },
  })
}

function inWords({ acr, age }: StepUpNeed): string {
  return [
    ...(acr === undefined ? [] : [acr === 2 ? 'two factors' : 'a sign-in']),
    ...(age === undefined ? [] : [`a sign-in at most ${age} seconds ago`]),
  ].join(' and ')
}

/** As streams say it after `Authority`; empty for any other refusal. */
export function stepUpContext({ code, details: { members = {} } }: Refusal): string {
  if (code !== 'Auth.StepUp') return ''
  return [
    ...(members.AcrValues === undefined ? [] : [`acr=${members.AcrValues}`]),
    ...(members.MaxAge === undefined ? [] : [`max_age=${members.MaxAge}`]),
  ].join(' ')
}
