/** Holds back the chunks of a result until its slot may be held for long, so that the read can be put off as if it had not begun. */
import { CHUNK_BYTES } from './bounded-rows.ts'
import type { Slot } from './fair-slots.ts'

/** A result of more bytes is long. */
const MAX_HELD_BYTES = 1024 * 1024

/** What was held back is one chunk if it is the whole result. Throws when the slot is put off. */
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
