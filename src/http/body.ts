/** Reads the body of a request whole, up to a limit. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../protocol/refusal.ts'

const NOTHING = Buffer.alloc(0)

/** Gives the body to `then`, or a refusal; neither where the client goes before it has sent all. */
export function readBody(request: IncomingMessage, most: number, then: (read: Buffer | Refusal) => void): void {
  const { 'content-length': said, 'transfer-encoding': coding } = request.headers
  const length = Number(said ?? 0)
  if (length > most) {
    then(tooLarge())
    return
  }
  // What came together with the head has been parsed by then: a small body is there in one piece, without an event to wait for.
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
  // Who goes too early gets no answer; unheard the error would end the process.
  request.on('error', () => {})
  request.on('data', take).on('end', end)
}

/** The rest is not waited for: the connection ends with the answer. */
function tooLarge(): Refusal {
  return new Refusal('http.body_too_large', 413, 'The body is too large', { headers: { connection: 'close' } })
}
