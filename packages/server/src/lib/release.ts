/** Frees the memory of bytes that were sent. */

/**
 * Frees the memory of a chunk that has been written. Left to the garbage collector, the chunks of a long result cause
 * several full collections a second, each of which stalls the event loop. The bytes must not be used afterwards, and no
 * write of them may be pending.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  // Small chunks share a pooled buffer with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
