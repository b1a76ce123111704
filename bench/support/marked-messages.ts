/** Counts messages by a mark in their data, on the bare connection: however a server groups them into frames, and at little cost. */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

const MARK = Buffer.from('|~')

/** Data with the mark and the time at which it is published, 100 bytes in all. */
export function markedData(): string {
  return `"|~${performance.now().toFixed(3).padStart(14, '0')}${'x'.repeat(82)}"`
}

const TIME_BYTES = 14

/** Takes the connection over from the library. `onLatency` gets the milliseconds since a message was published. */
export function countMarks(socket: WebSocket, onMessage: () => void, onLatency?: (milliseconds: number) => void): void {
  const tcp: Socket = Reflect.get(socket, '_socket')
  let endsWithHalf = false
  tcp.removeAllListeners('data')
  tcp.on('data', (chunk: Buffer) => {
    if (endsWithHalf && chunk[0] === MARK[1]) onMessage()
    for (let at = chunk.indexOf(MARK); at >= 0; at = chunk.indexOf(MARK, at + MARK.length)) {
      onMessage()
      const end = at + MARK.length + TIME_BYTES
      if (onLatency !== undefined && end <= chunk.length)
        onLatency(performance.now() - Number(chunk.toString('latin1', at + MARK.length, end)))
    }
    endsWithHalf = chunk.at(-1) === MARK[0]
  })
}
