/** Gives the memory of bytes back at the moment they are done with. */

/**
 * Left to the collector, the bytes of a long result make it walk the whole heap several times a second, and everybody waits
 * meanwhile. Only for bytes that nobody will look at again, no write that is under way either: they are empty from then on.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  // Small ones share their memory with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
