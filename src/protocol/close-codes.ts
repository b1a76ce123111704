/** The codes with which a streaming connection is closed; the guide for client developers is made from this table. */

export interface CloseCode {
  readonly code: number
  readonly when: string
  /** Whether a client may come back by itself, and how. */
  readonly client: string
}

const BACK_OFF = 'Reconnect, after a pause that grows with each failure and has a random part.'
const MEND = 'Do not repeat the same bytes; this is a fault of the client.'

export const CLOSE_CODES = {
  normal: { code: 1000, when: 'The client closed and the server agreed.', client: 'Nothing.' },
  goingAway: { code: 1001, when: 'The client goes away (a page is left); the server echoes it.', client: 'Nothing.' },
  protocolError: {
    code: 1002,
    when: 'A frame breaks RFC 6455: reserved bits, unmasked, a broken fragment, an unknown opcode.',
    client: MEND,
  },
  unsupportedData: {
    code: 1003,
    when: 'A binary frame on PlatformJson, or a text frame on PlatformMsgPack.',
    client: MEND,
  },
  invalidData: {
    code: 1007,
    when: 'Text that is not UTF-8, bad compressed data, or too many unreadable messages in a row.',
    client: MEND,
  },
  policy: {
    code: 1008,
    when: 'No authentication within the deadline, no renewal within the grace after expiry, no frame for a minute, or a message in thousands of fragments.',
    client: 'Get a fresh access token, then reconnect.',
  },
  tooBig: { code: 1009, when: 'A message is larger than the limit, also after inflating it.', client: MEND },
  internalError: { code: 1011, when: 'The server failed; the cause is in its log.', client: BACK_OFF },
  restart: {
    code: 1012,
    when: 'The server stops or restarts; closes are spread over the drain time.',
    client: 'Reconnect soon; another node may answer at once.',
  },
  overload: {
    code: 1013,
    when: 'The client reads too slowly: what waits for it has outgrown the send queue.',
    client: BACK_OFF,
  },
  sessionEnded: {
    code: 4000,
    when: 'The session was displaced by a newer one, signed out, revoked or ended by an operator.',
    client: 'Never reconnect by itself; the user must sign in again.',
  },
} as const satisfies Record<string, CloseCode>

export type CloseName = keyof typeof CLOSE_CODES
