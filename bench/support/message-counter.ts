/** Counts the messages that arrive on a WebSocket without reading them, so that thousands of clients cost little. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

const PING = 0x9
/** The text with which Socket.IO asks whether the client is there. */
const SOCKET_IO_PING = 0x32

/** Takes the connection over from the library. Counts only messages of at least this size. */
export function countMessages(socket: WebSocket, leastBytes: number, onMessage: () => void): void {
  const tcp: Socket = Reflect.get(socket, '_socket')
  /** Of the frame that has arrived in part: its header, or what is missing of its payload. */
  let header: Buffer = Buffer.alloc(0)
  let missing = 0
  let counts = false
  const onData = (chunk: Buffer): void => {
    let at = 0
    while (at < chunk.length) {
      if (missing === 0) {
        const data: Buffer = header.length === 0 ? chunk.subarray(at) : Buffer.concat([header, chunk.subarray(at)])
        const size = headerSize(data)
        if (size > data.length) {
          header = Buffer.from(data)
          return
        }
        at += size - header.length
        header = header.length === 0 ? header : Buffer.alloc(0)
        missing = payloadSize(data)
        counts = missing >= leastBytes
        if ((data[0] ?? 0) % 16 === PING) socket.pong()
        else if (missing === 1 && data[size] === SOCKET_IO_PING) socket.send('3')
      }
      const taken = Math.min(missing, chunk.length - at)
      missing -= taken
      at += taken
      if (missing === 0 && counts) onMessage()
    }
  }
  tcp.removeAllListeners('data')
  tcp.on('data', onData)
}

/** RFC 6455 §5.2; a server does not mask. */
function headerSize(data: Buffer): number {
  const length = (data[1] ?? 0) % 128
  return length < 126 ? 2 : length === 126 ? 4 : 10
}

function payloadSize(data: Buffer): number {
  const length = (data[1] ?? 0) % 128
  if (length < 126) return length
  return length === 126 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2))
}
