/**
 * Bytes in memory of their own. Small buffers share a pool of Node, and each of them keeps all of that pool (64 KiB in Node 24) in memory:
 * what is kept for longer than a turn of the event loop, such as a frame for many subscribers, is copied.
 */
export function ownBytes(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength < 2 * bytes.length) return bytes
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}
