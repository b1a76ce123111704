/** Writes a whole message as one frame (RFC 6455 §5.2): from a server it is not masked, so that many sockets can share it. */
const TEXT = 0x81
const BINARY = 0x82

export function frameMessage(payload: string | Buffer): Buffer {
  const length = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(head + length)
  frame[0] = typeof payload === 'string' ? TEXT : BINARY
  if (head === 2) frame[1] = length
  else if (head === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  if (typeof payload === 'string') frame.write(payload, head)
  else payload.copy(frame, head)
  return frame
}
