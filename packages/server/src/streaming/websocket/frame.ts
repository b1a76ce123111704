/** Writes WebSocket frames (RFC 6455 §5.2). A server does not mask frames, so connections can share them. */

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const FIN = 0x80
/** Marks a compressed message (RFC 7692 §6). */
const RSV1 = 0x40

/** Writes a message as a single frame: text if the payload is a string. */
export function frameMessage(payload: string | Buffer): Buffer {
  const isText = typeof payload === 'string'
  const length = isText ? Buffer.byteLength(payload) : payload.length
  const frame = openFrame(FIN | (isText ? OPCODE.text : OPCODE.binary), length)
  if (isText) frame.write(payload, frame.length - length)
  else payload.copy(frame, frame.length - length)
  return frame
}

export function frameCompressed(deflated: Buffer, isText: boolean): Buffer {
  const frame = openFrame(FIN | RSV1 | (isText ? OPCODE.text : OPCODE.binary), deflated.length)
  deflated.copy(frame, frame.length - deflated.length)
  return frame
}

export function framePing(): Buffer {
  return openFrame(FIN | OPCODE.ping, 0)
}

/** `payload` is that of a ping, so it fits (§5.5). */
export function framePong(payload: Buffer): Buffer {
  const frame = openFrame(FIN | OPCODE.pong, payload.length)
  payload.copy(frame, 2)
  return frame
}

/** The payload of a control frame is at most 125 bytes (§5.5), of which two are the code. */
const MAX_REASON_BYTES = 123
const reasonRoom = Buffer.alloc(MAX_REASON_BYTES)

/** A longer reason is cut between two characters. 1005 means "no code", so none is sent. */
export function frameClose(code: number, reason = ''): Buffer {
  if (code === 1005) return openFrame(FIN | OPCODE.close, 0)
  // Writes whole characters only.
  const length = reasonRoom.write(reason)
  const frame = openFrame(FIN | OPCODE.close, 2 + length)
  frame.writeUInt16BE(code, 2)
  reasonRoom.copy(frame, 4, 0, length)
  return frame
}

/** A frame with its header; the payload is still to be written. */
function openFrame(first: number, length: number): Buffer {
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(head + length)
  frame[0] = first
  if (head === 2) frame[1] = length
  else if (head === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  return frame
}
