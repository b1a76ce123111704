/** The messages of the stream and its close codes, as docs/streaming.md describes them. */
import { AuthError, type ErrorInit, GatehouseError, LicenceNeeded, problemError, StepUpNeeded } from '../errors.ts'

/** One message. */
export interface Message {
  readonly Controller?: string
  readonly Topic?: string
  readonly Action?: 'Publish' | 'Sub' | 'Unsub' | 'Cancel' | 'Error'
  readonly TransactionID?: number
  readonly Data?: unknown
  readonly Confirm?: boolean
  readonly Problem?: unknown
  /** Of a message of a feed, as docs/feeds.md describes it. */
  readonly Pattern?: string
  readonly Position?: string
  readonly Recovered?: boolean
  readonly Removed?: boolean
  /** Of licensed market data, as docs/licences.md describes it. */
  readonly Delay?: number
  readonly Licence?: unknown
}

/** The states of a connection. */
export type State =
  /** Getting a token, opening the socket, authenticating. */
  | 'connecting'
  /** Authenticated: messages flow. */
  | 'online'
  /** The token has expired or was revoked, and a fresh one is being fetched. */
  | 'lapsed'
  /** No connection; the library reconnects automatically. */
  | 'offline'
  /** No connection, and the library does not reconnect: signed out, ended by an operator, or closed. */
  | 'ended'

/** Passed to listeners of `on('state', …)`. */
export interface StateChange {
  readonly state: State
  /** The close code of the socket, or the code of an error. */
  readonly code: number | string | undefined
  readonly reason: string
  /** Milliseconds until the next attempt, when offline. */
  readonly retryIn: number | undefined
}

/** Reported when the server is reachable but no WebSocket can be opened. */
export const NO_WEBSOCKET = 'client.no_websocket'

/** What a client does after a close, or after an error with a specific code: stop, get a fresh token, or reconnect later. */
export function afterClose(code: number | string): 'end' | 'renew' | 'retry' {
  // 1002, 1003, 1007 and 1009 say that this client is at fault: the same bytes would fail again.
  if ([1002, 1003, 1007, 1009, 4000].includes(code as number)) return 'end'
  return code === 1008 ? 'renew' : 'retry'
}

const LICENCE_CODES = new Map([
  ['places', 'Places'],
  ['displaced', 'Displaced'],
  ['not_ready', 'NotReady'],
])

/** The error that a message with the action `Error` carries. */
export function errorOfMessage({ Data, Problem, Controller, Topic }: Message, statement?: string): GatehouseError {
  if (Problem !== undefined) return problemError(Problem, { statement })
  const [code = '', ...context] = String(Data).split(' ')
  const init: ErrorInit = {
    code,
    retryable: ['Limited', 'Fault', 'Operation.Timeout', 'Session'].includes(code),
    details: { Controller, Topic },
  }
  const message = `${Controller}/${Topic} was refused: ${String(Data)}`
  if (code === 'Authority' && context[0]) {
    const { acr, max_age: age, licence, reason } = Object.fromEntries(context.map((need) => need.split('=')))
    if (licence !== undefined) {
      const code = `Licence.${LICENCE_CODES.get(reason) ?? 'Needed'}`
      const products = licence.split(',').filter(Boolean)
      return new LicenceNeeded(message, { ...init, code, products, reason, retryable: reason === 'not_ready' })
    }
    return new StepUpNeeded(message, { ...init, code: 'Auth.StepUp', acrValues: acr, maxAge: age && Number(age) })
  }
  return code === 'Authority' || code === 'Session'
    ? new AuthError(message, init)
    : new GatehouseError(message, context[0] === 'rows' ? { ...init, retryable: false } : init)
}

/** `[d.]hh:mm:ss[.f]` in milliseconds. */
export function readTimeSpan(text: unknown): number | undefined {
  const [, days = '0', hours, minutes, seconds] = /^(?:(\d+)\.)?(\d+):(\d+):(\d+(?:\.\d+)?)$/.exec(String(text)) ?? []
  if (seconds === undefined) return undefined
  return (((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
}
