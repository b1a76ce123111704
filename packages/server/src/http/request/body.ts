/** Reads the whole body of a request, up to a limit. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../context.ts'

const NOTHING = Buffer.alloc(0)

/** RFC 9112 §6: the header fields tell whether there is a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Calls `then` with the body or a refusal; not at all if the client closes before the end. */
export function readBody(context: Context, most: number, then: (read: Buffer | Refusal) => void): void {
  const { request } = context
  const { 'content-length': said, 'transfer-encoding': coding, expect } = request.headers
  const length = Number(said ?? 0)
  if (length > most) {
    then(tooLarge())
    return
  }
  // RFC 9110 §10.1.1: the client waits for this; Node has answered every other expectation. HTTP/1.0 has none.
  if (expect !== undefined && request.httpVersionMinor > 0) context.response.writeContinue()
  // A small body usually arrives with the headers, so it can be read on the next tick.
  process.nextTick(() => {
    const first: Buffer = request.read() ?? NOTHING
    if (coding === undefined && first.length === length) then(first)
    else readOn(request, first, most, then)
  })
}

function readOn(request: IncomingMessage, first: Buffer, most: number, then: (read: Buffer | Refusal) => void): void {
  const parts = [first]
  let length = first.length
  const take = (part: Buffer): void => {
    length += part.length
    if (length > most) leave(tooLarge())
    else parts.push(part)
  }
  const end = (): void => leave(Buffer.concat(parts, length))
  const leave = (read: Buffer | Refusal): void => {
    request.off('data', take).off('end', end)
    then(read)
  }
  // Without a listener the error would end the process.
  request.on('error', () => {})
  request.on('data', take).on('end', end)
}

/** The rest of the body is not read: the connection is closed after the reply. */
function tooLarge(): Refusal {
  return new Refusal('http.body_too_large', 413, 'The body is too large', { headers: { connection: 'close' } })
}
