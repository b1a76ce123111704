/** Messages that subscribers have not been sent yet because they read slowly. Their memory counts like that of results. */
import type { LiveMessage } from './live-query.ts'

/** A subscriber that has begun to send the messages. */
export interface SlowReader {
  /** It is not sent the rest, but starts anew when it reads again. */
  overflow(): void
}

interface Held {
  readonly bytes: number
  readonly readers: Set<SlowReader>
}

/** A character of the text, and a byte of what transports encode once for all subscribers. */
const BYTES_PER_CHARACTER = 2

export class UnsentMessages {
  /** Subscribers at the same version share the messages. Those that have waited longest are first. */
  readonly #held = new Map<readonly LiveMessage[], Held>()
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(messages: readonly LiveMessage[], reader: SlowReader): void {
    const held = this.#held.get(messages) ?? { bytes: sizeOf(messages), readers: new Set() }
    if (held.readers.size === 0) {
      this.#held.set(messages, held)
      this.#bytes += held.bytes
    }
    held.readers.add(reader)
  }

  remove(messages: readonly LiveMessage[], reader: SlowReader): void {
    const held = this.#held.get(messages)
    if (held === undefined || !held.readers.delete(reader) || held.readers.size > 0) return
    this.#held.delete(messages)
    this.#bytes -= held.bytes
  }

  /** Takes those away that have waited longest; false if there are none. */
  dropOldest(): boolean {
    for (const { readers } of this.#held.values()) {
      for (const reader of [...readers]) reader.overflow()
      return true
    }
    return false
  }
}

function sizeOf(messages: readonly LiveMessage[]): number {
  return messages.reduce((sum, { text }) => sum + BYTES_PER_CHARACTER * text.length, 0)
}
