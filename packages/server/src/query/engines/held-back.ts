/** Holds back the chunks of a result until it is allowed to run long, so that the read can still be postponed as if it had not begun. */
import { CHUNK_BYTES } from './bounded-rows.ts'
import type { Slot } from './fair-slots.ts'

/** A result of more bytes is long. */
const MAX_HELD_BYTES = 1024 * 1024

/** If the whole result was held back, it is one chunk. Throws when the slot is postponed. */
export async function* heldBack<Outcome>(
  slot: Slot,
  chunks: AsyncGenerator<Uint8Array, Outcome, void>,
): AsyncGenerator<Uint8Array, Outcome, void> {
  const held: Uint8Array[] = []
  let bytes = 0
  try {
    for (;;) {
      const next = await chunks.next()
      if (next.done) {
        yield held.length === 1 && held[0] !== undefined ? held[0] : Buffer.concat(held)
        return next.value
      }
      held.push(next.value)
      bytes += next.value.byteLength
      if (bytes < CHUNK_BYTES) continue
      if (slot.becomeLong()) break
      if (bytes <= MAX_HELD_BYTES) continue
      slot.putOff()
      throw new Error('The read is put off')
    }
    yield* held
    return yield* chunks
  } finally {
    await chunks[Symbol.asyncDispose]()
  }
}
