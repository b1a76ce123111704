/** Bytes that are not a request: answered with a problem document, logged and counted like one (RFC 9110 §15.5). */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { Refusal, toProblem } from 'gatehouse-protocol'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { nodeHttp } from './node-http.ts'
import { pendingReply } from './pending-reply.ts'
import { PROBLEM_TYPE } from './problem.ts'

const MALFORMED = new Refusal('http.bad_request', 400, 'The request is not HTTP/1.1')
/** By the code of Node's error. */
const REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  ['HPE_HEADER_OVERFLOW', new Refusal('http.headers_too_large', 431, 'The header fields are too large')],
  ['ERR_HTTP_REQUEST_TIMEOUT', new Refusal('http.timeout', 408, 'The request took too long to arrive')],
])

/** For the server's `clientError` event. */
export function createClientErrorHandler(logger: Logger, metrics: Metrics) {
  return (error: Error & { readonly code?: string }, socket: Duplex): void => {
    const pending = pendingReply(socket)
    // Nothing may be written into the middle of a reply.
    if (error.code === 'ECONNRESET' || !socket.writable || (pending?.headersSent && !pending.writableEnded)) {
      socket.destroy()
      return
    }
    if (pending?.req.complete) {
      closeAfter(pending, socket)
      return
    }
    const refusal = REFUSALS.get(error.code ?? '') ?? MALFORMED
    const id = randomUUID()
    logger.info({ reqId: id, err: error, code: refusal.code }, 'refused')
    metrics.count('gatehouse_http_requests_total', { method: 'none', route: 'none', status: String(refusal.status) })
    // Nothing can be sent before the handshake: a reply would wait for it and keep the connection open.
    if (socket instanceof TLSSocket && isShakingHands(socket)) socket.destroy()
    else endSoon(socket, formatReply(refusal, id))
  }
}

/** Time for the reply to be read. */
const LINGER_MS = 1000

/** Discards what the client still sends, and closes the connection if the client does not. */
function endSoon(socket: Duplex, reply: string): void {
  socket.end(reply)
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** A property that Node's type declarations lack on the side of the server. */
function isShakingHands(socket: TLSSocket): boolean {
  return 'secureConnecting' in socket && socket.secureConnecting === true
}

function formatReply(refusal: Refusal, id: string): string {
  const body = JSON.stringify(toProblem(refusal))
  return [
    `HTTP/1.1 ${refusal.status} ${nodeHttp.STATUS_CODES[refusal.status]}`,
    'strict-transport-security: max-age=31536000',
    'x-content-type-options: nosniff',
    `request-id: ${id}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

/** What follows a complete request is malformed: a refusal would be read as the reply to that request (RFC 9112 §9.3.2). */
function closeAfter(pending: ServerResponse, socket: Duplex): void {
  pending.once('close', () => {
    const next = pendingReply(socket)
    if (next === undefined) socket.destroy()
    else closeAfter(next, socket)
  })
}
