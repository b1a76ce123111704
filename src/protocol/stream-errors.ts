/** The error codes of the streaming connection; the guide for client developers is made from this table. */

export interface StreamError {
  /** What follows the code in `Data`, if anything does. */
  readonly context: string
  readonly when: string
  readonly advice: string
}

export const STREAM_ERRORS = {
  Authority: {
    context: '',
    when: 'The connection does not hold the right that the topic needs, or no longer holds it.',
    advice: 'Authenticate, or authenticate again with a token that carries the scope; then repeat the request.',
  },
  Controller: {
    context: 'the name that was asked for',
    when: 'No controller of that name exists here.',
    advice: 'Mend the name; names are case-sensitive.',
  },
  'Operation.Unknown': {
    context: 'the topic that was asked for',
    when: 'The controller has no such topic, or the topic does not take this action.',
    advice: 'Mend the topic or the action.',
  },
  'Operation.NoResult': {
    context: '',
    when: 'The request carried no TransactionID and its topic is not subscribed to, so that its result has nowhere to go.',
    advice: 'Send a TransactionID, or subscribe first. The operation itself was carried out.',
  },
  'Operation.Timeout': {
    context: '',
    when: 'The operation took longer than the ActionTimeout (or SubscriptionTimeout) in force.',
    advice: 'Repeat it, or allow it more time with Configure.',
  },
  'Operation.Abort': {
    context: '',
    when: 'The operation was ended by Cancel.',
    advice: 'Nothing; this is the answer to the cancelled request.',
  },
  Data: {
    context: 'the member at fault',
    when: 'A member is missing, or its value is out of range.',
    advice: 'Mend the request.',
  },
  'Data.Deserialise': {
    context: 'the member at fault, if one is known',
    when: 'The message is not readable, or a member has the wrong type.',
    advice: 'Mend the request. Several unreadable messages in a row close the connection with 1007.',
  },
  Limited: {
    context: 'the limit that was met',
    when: 'A limit was met: messages per second, subscriptions of a connection, connections of a user, rejected sign-ins of an address.',
    advice: 'Wait a second, then go on more slowly.',
  },
  Session: {
    context: '',
    when: 'The session that the request belongs to has ended.',
    advice: 'Sign in again on a new connection.',
  },
  Fault: {
    context: '',
    when: 'The server failed; the cause is in its log.',
    advice: 'Repeat the request later; report it if it stays.',
  },
} as const satisfies Record<string, StreamError>

export type StreamErrorCode = keyof typeof STREAM_ERRORS

export function isStreamErrorCode(code: string): code is StreamErrorCode {
  return Object.hasOwn(STREAM_ERRORS, code)
}
