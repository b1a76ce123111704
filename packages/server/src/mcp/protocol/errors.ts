/** The errors of JSON-RPC 2.0 and of the Model Context Protocol, with the status of their replies. */

const ERRORS = {
  parse: { code: -32700, status: 400 },
  invalidRequest: { code: -32600, status: 400 },
  /** Of the envelope of a modern request. */
  badMeta: { code: -32602, status: 400 },
  /** Of a request that could be read: an unknown tool, for example. */
  badParams: { code: -32602, status: 200 },
  headerMismatch: { code: -32020, status: 400 },
  missingCapability: { code: -32021, status: 400 },
  badVersion: { code: -32022, status: 400 },
  notAcceptable: { code: -32600, status: 406 },
  busy: { code: -32603, status: 429 },
  revoked: { code: -32603, status: 401 },
  unknownMethod: { code: -32601, status: 404 },
  /** What another part of the server refuses; with its own status. */
  refused: { code: -32603, status: 503 },
  internal: { code: -32603, status: 500 },
} as const

export type ErrorKind = keyof typeof ERRORS

export class ProtocolError extends Error {
  readonly kind: ErrorKind
  readonly code: number
  readonly status: number
  readonly data: unknown

  constructor(kind: ErrorKind, message: string, data?: unknown, status: number = ERRORS[kind].status) {
    super(message)
    this.kind = kind
    this.code = ERRORS[kind].code
    this.status = status
    this.data = data
  }
}
