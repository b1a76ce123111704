/** The length of values in bytes. */

export function isLonger(value: unknown, bytes: number): boolean {
  if (value instanceof Uint8Array) return value.length > bytes
  // A character of JavaScript has one to three bytes.
  if (typeof value !== 'string' || 3 * value.length <= bytes) return false
  return value.length > bytes || Buffer.byteLength(value) > bytes
}
