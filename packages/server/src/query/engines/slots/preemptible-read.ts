/** A read that can still be preempted, as if it had not begun: its chunks are kept until it may run long. */
import { CHUNK_BYTES } from '../bounded-rows.ts'
import type { Slot } from './fair-slots.ts'

/** A result of more bytes is long. */
const MAX_HELD_BYTES = 1024 * 1024

/** If the whole result was kept, it is one chunk. Throws when the slot is preempted. */
export async function* preemptible<Outcome>(
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
      slot.preempt()
      throw new Error('The read is preempted')
    }
    yield* held
    return yield* chunks
  } finally {
    await chunks[Symbol.asyncDispose]()
  }
}
