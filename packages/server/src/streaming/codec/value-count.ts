/**
 * Counts the values of a message before it is decoded. Decoding costs by values rather than by bytes: a million empty arrays of
 * MessagePack, which compress to a thousand bytes, take a hundred times as long as a text of that length.
 */

/** The values of a shorter message cost less than the message itself. */
const MIN_BYTES = 1024
/** What a value costs beyond its bytes, as a number of bytes: by default a connection may send 128,000 values per second. */
const BYTES_PER_VALUE = 32

/**
 * The most values of a MessagePack message that have to be created: decoding them takes up to 50 ms, in one turn of the event loop.
 * Numbers take a tenth of the time, and so do the values of JSON: the size of a message limits these.
 */
export const MAX_CREATED_VALUES = 65_536

/** What decoding a message costs besides its bytes, as a number of bytes. Undefined if it has more values than are decoded. */
export function weighValues(payload: Buffer, isMessagePack: boolean): number | undefined {
  if (payload.length < MIN_BYTES) return 0
  const count = isMessagePack ? countPacked(payload) : countJson(payload)
  return count === undefined ? undefined : BYTES_PER_VALUE * count
}

/** About as many values and names as there are commas, colons and brackets, of which some may be in texts. */
function countJson(payload: Buffer): number {
  let count = 0
  for (let at = 0; at < payload.length; at++) {
    const byte = payload[at]
    if (byte === COMMA || byte === COLON || byte === OPEN_BRACKET || byte === OPEN_BRACE) count++
  }
  return count
}

const [COMMA, COLON, OPEN_BRACKET, OPEN_BRACE] = [0x2c, 0x3a, 0x5b, 0x7b] as const

/** Each value has a head; arrays and maps are only heads before their items. Undefined if too many have to be created. */
function countPacked(payload: Buffer): number | undefined {
  let count = 0
  let created = 0
  for (let at = 0; at < payload.length; count++) {
    if (isCreated(payload[at] ?? 0) && ++created > MAX_CREATED_VALUES) return undefined
    at += 1 + bodyBytes(payload, at)
  }
  return count
}

/** Whether the value of a head is a text, an array, a map or bytes. */
function isCreated(head: number): boolean {
  if (head < 0xc4) return head >= 0x80 && head < 0xc0
  return head <= 0xc6 || (head >= 0xd9 && head <= 0xdf)
}

/** The bytes of a value after its first one. Those of an invalid value do not matter: the decoder stops there. */
function bodyBytes(payload: Buffer, at: number): number {
  const head = payload[at] ?? 0
  if (head < 0xa0 || head >= 0xe0) return 0
  if (head < 0xc0) return head & 0x1f
  const size = SIZES[head - 0xc0] ?? 0
  if (size >= 0) return size
  return -size + readLength(payload, at + 1, -size)
}

/** From 0xc0 to 0xdf: the bytes after the head; negative where they are a length that is followed by as many bytes. */
const SIZES = Int8Array.of(
  ...[0, 0, 0, 0, -1, -2, -4, 0, 0, 0, 4, 8, 1, 2, 4, 8],
  ...[1, 2, 4, 8, 0, 0, 0, 0, 0, -1, -2, -4, 2, 4, 2, 4],
)

function readLength(payload: Buffer, at: number, bytes: number): number {
  let length = 0
  for (let index = 0; index < bytes; index++) length = length * 256 + (payload[at + index] ?? 0)
  return length
}
