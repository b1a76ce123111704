/** Why a connection is refused before it is open, and the error that the client gets. */
import { Refusal } from 'gatehouse-protocol'
import type { Limit } from '../listener/admission.ts'
import { ProtocolViolation } from '../protocol/messages.ts'
import type { ErrorFields } from '../protocol/replies.ts'
import type { SignInResult } from './sign-in.ts'
import { StartUpRefused } from './start-up.ts'

export const TOO_MANY = { sqlstate: '53300', message: 'Too many connections: try again later' }

export class Limited extends Error {
  readonly limit: Limit

  constructor(limit: Limit) {
    super(limit)
    this.limit = limit
  }
}

export class NotAccepted extends Error {
  readonly result: Exclude<SignInResult, { outcome: 'good' }>

  constructor(result: Exclude<SignInResult, { outcome: 'good' }>) {
    super(result.outcome)
    this.result = result
  }
}

export interface SignInRefusal {
  readonly fields: Omit<ErrorFields, 'severity'>
  /** For metrics. */
  readonly reason: string
  /** For the audit log. */
  readonly detail: string
}

/** Undefined for an internal error. */
export function toSignInRefusal(error: unknown): SignInRefusal | undefined {
  if (error instanceof NotAccepted) return notAccepted(error.result)
  if (error instanceof Limited)
    return { fields: TOO_MANY, reason: error.limit, detail: `too many connections: ${error.limit}` }
  if (error instanceof StartUpRefused) {
    const { sqlstate, message, hint } = error
    return { fields: { sqlstate, message, hint }, reason: 'start-up', detail: message }
  }
  if (error instanceof ProtocolViolation)
    return { fields: { sqlstate: '08P01', message: error.message }, reason: 'protocol', detail: error.message }
  if (error instanceof Refusal && error.status === 429) return notAccepted({ outcome: 'delayed' })
  return undefined
}

/** By what the client sent, never by what the server knows of it. */
const HINTS = {
  token:
    'The access token is expired or revoked, or it is for another server, another user or bound to a key: get a new one with "gatehouse token"',
  'no token': 'The password of the user "token" is an access token: "gatehouse token" prints one',
  secret:
    'Check the name and the password, or use the user "token" with an access token as the password: "gatehouse token" prints one',
} as const

/** One reply for every cause: wrong, unknown, disabled, second factor, password to be changed. */
function notAccepted(result: NotAccepted['result']): SignInRefusal {
  switch (result.outcome) {
    case 'wrong':
      return {
        fields: {
          sqlstate: '28P01',
          message: 'The sign-in failed',
          hint: HINTS[result.given ?? 'secret'],
        },
        reason: 'signin',
        detail: result.reason,
      }
    case 'delayed':
      return {
        fields: { sqlstate: '53300', message: 'Too many sign-ins: try again later' },
        reason: 'delayed',
        detail: 'delayed',
      }
    case 'discovery':
      return {
        fields: { sqlstate: '28P01', message: 'An access token is needed' },
        reason: 'discovery',
        detail: 'discovery',
      }
  }
}
