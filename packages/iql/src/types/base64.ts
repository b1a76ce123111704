/** Base-64, also in browsers, where the console reads values as the server does. The Buffer of Node is much faster. */

interface NodeBuffer {
  from(text: string, encoding: 'base64'): Uint8Array
  from(buffer: ArrayBufferLike, offset: number, length: number): { toString(encoding: 'base64'): string }
}

const { Buffer: node } = globalThis as { readonly Buffer?: NodeBuffer }

/** Returns too few bytes for text that is not Base-64. */
export function readBase64(text: string): Uint8Array {
  if (node !== undefined) return node.from(text, 'base64')
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array(0)
  }
}

export function writeBase64(bytes: Uint8Array): string {
  if (node !== undefined) return node.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}
