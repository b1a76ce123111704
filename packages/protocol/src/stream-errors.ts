/** The error codes of streaming messages. The guide for client developers is generated from this table. */

export interface StreamError {
  /** What follows the code in `Data`; empty if nothing does. */
  readonly context: string
  readonly when: string
  readonly advice: string
}

export const STREAM_ERRORS = {
  Authority: {
    context: 'what the sign-in of the user lacks, such as `acr=2 max_age=300`; nothing if a scope is missing',
    when: 'The connection does not have the scope that the topic needs, or no longer has it; or the sign-in of the user is too weak or too old for it ([step-up](step-up.md)).',
    advice:
      'Authenticate with a token that has the scope, or with one from a new sign-in with these `acr_values` and `max_age`; then repeat the request.',
  },
  Controller: {
    context: 'the requested name',
    when: 'There is no controller with that name.',
    advice: 'Correct the name; names are case-sensitive.',
  },
  'Operation.Unknown': {
    context: 'the requested topic',
    when: 'The controller has no such topic, or the topic does not support this action.',
    advice: 'Correct the topic or the action.',
  },
  'Operation.NoResult': {
    context: '',
    when: 'The request has no TransactionID and its topic is not subscribed to, so the result cannot be delivered.',
    advice: 'Send a TransactionID, or subscribe first. The operation itself was executed.',
  },
  'Operation.Timeout': {
    context: '',
    when: 'The operation took longer than the ActionTimeout (or SubscriptionTimeout), a remote controller did not reply in time, or a live statement repeatedly took longer than a query may.',
    advice:
      'Repeat it, or set a longer timeout with Configure. A remote controller may have acted on the request. Narrow a live statement.',
  },
  'Operation.Abort': {
    context: '',
    when: 'The client cancelled the operation, or an operator ended a live statement.',
    advice: 'Nothing; this is the reply to the cancelled request, or the end of the live statement.',
  },
  Data: {
    context: 'the invalid member, or the words of a remote controller',
    when: 'A member is missing, its value is out of range, the statement in it is refused (see Problem), or a remote controller refuses the request.',
    advice: 'Correct the request.',
  },
  'Data.Deserialise': {
    context: 'the invalid member, if known',
    when: 'The message cannot be decoded, or a member has the wrong type.',
    advice: 'Correct the request. Several unreadable messages in a row close the connection with 1007.',
  },
  Limited: {
    context: 'the limit that was reached',
    when: 'A limit was reached: messages per second, subscriptions of a connection, connections of a user, rejected sign-ins of an address, messages during a snapshot, live statements, rows or memory of live results, queries at once, requests to a remote controller; of feeds: patterns of a connection, message size, topics, bytes or rate of the feed, rate of the publisher.',
    advice:
      'Wait a second, then continue more slowly. A size, or a bound of what a feed keeps, stays until something changes: see [feeds](feeds.md#bounds).',
  },
  Session: {
    context: '',
    when: 'The session ended before the request was answered.',
    advice: 'Sign in again on a new connection.',
  },
  Fault: {
    context: '',
    when: 'The server failed, or the program behind a remote controller; the cause is in the log of the server.',
    advice:
      'Repeat the request later; report the error if it persists. A remote controller may have acted on the request.',
  },
} as const satisfies Record<string, StreamError>

export type StreamErrorCode = keyof typeof STREAM_ERRORS

export function isStreamErrorCode(code: string): code is StreamErrorCode {
  return Object.hasOwn(STREAM_ERRORS, code)
}
