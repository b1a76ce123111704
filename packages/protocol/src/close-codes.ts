/** The close codes of a streaming connection. The guide for client developers is generated from this table. */

export interface CloseCode {
  readonly code: number
  readonly when: string
  /** Whether and how a client may reconnect without its user. */
  readonly client: string
}

const BACK_OFF = 'Reconnect with exponential backoff and jitter.'
const FIX = 'Do not send the same bytes again: this is a bug in the client.'

export const CLOSE_CODES = {
  normal: { code: 1000, when: 'The client closed the connection.', client: 'Nothing.' },
  goingAway: {
    code: 1001,
    when: 'The client is going away, for example because the user left the page; the server echoes the code.',
    client: 'Nothing.',
  },
  protocolError: {
    code: 1002,
    when: 'A frame violates RFC 6455: reserved bits, no mask, an invalid fragment, an unknown opcode.',
    client: FIX,
  },
  unsupportedData: {
    code: 1003,
    when: 'A binary frame on PlatformJson, or a text frame on PlatformMsgPack.',
    client: FIX,
  },
  invalidData: {
    code: 1007,
    when: 'Text that is not UTF-8, invalid compressed data, or too many unreadable messages in a row.',
    client: FIX,
  },
  policy: {
    code: 1008,
    when: 'No authentication within the deadline, no renewal within the grace period after expiry, or no frame for a minute.',
    client: 'Get a fresh access token, then reconnect.',
  },
  tooBig: {
    code: 1009,
    when: 'A message exceeds the size limit, before or after decompression, or has more than 65,536 fragments, or in MessagePack more than 65,536 texts, arrays, maps and binary values. The size limit is lower before the first sign-in.',
    client: FIX,
  },
  internalError: { code: 1011, when: 'The server failed; the cause is in its log.', client: BACK_OFF },
  restart: {
    code: 1012,
    when: 'The server is stopping or restarting; closes are spread over the drain time.',
    client: 'Reconnect soon; another node may accept the connection at once.',
  },
  overload: {
    code: 1013,
    when: 'The client reads too slowly: its send queue, or those of its address or of the node, are full. Or the incomplete messages and unanswered requests of its address or of the node are too large.',
    client: BACK_OFF,
  },
  sessionEnded: {
    code: 4000,
    when: 'The session was displaced by a newer one, signed out, revoked or ended by an operator.',
    client: 'Do not reconnect; the user must sign in again.',
  },
} as const satisfies Record<string, CloseCode>

export type CloseName = keyof typeof CLOSE_CODES
