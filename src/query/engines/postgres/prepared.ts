/** The statements that one connection keeps prepared: equal texts are parsed and planned once. */
import type { Wire } from './wire.ts'

/** Each takes memory of the database for as long as the connection lives. */
const MOST_PREPARED = 500

interface Entry {
  readonly name: string
  /** `unsure`: a journey failed on which it was to be prepared, or its table has become another one. */
  state: 'new' | 'sent' | 'ready' | 'unsure'
}

export class Prepared {
  readonly #wire: Wire
  /** By text, the least recently used first. */
  readonly #entries = new Map<string, Entry>()
  /** Those of a journey that has not ended. */
  #sent: Entry[] = []
  /** Names that are no longer of use, until a journey on which they were given up has ended well. */
  #closing: string[] = []
  #made = 0

  constructor(wire: Wire) {
    this.#wire = wire
  }

  /** The name of the statement; what prepares it is sent where it must be. */
  use(text: string): string {
    const entry = this.#entries.get(text) ?? { name: `gh_${this.#made++}`, state: 'new' }
    this.#entries.delete(text)
    this.#entries.set(text, entry)
    if (entry.state === 'ready' || entry.state === 'sent') return entry.name
    if (entry.state === 'unsure') this.#wire.close({ type: 'S', name: entry.name })
    this.#wire.parse({ name: entry.name, text })
    entry.state = 'sent'
    this.#sent.push(entry)
    this.#evict()
    return entry.name
  }

  /** The end of a journey: what was sent is prepared, or may be. */
  settle(isGood: boolean): void {
    if (this.#sent.length === 0) return
    for (const entry of this.#sent) entry.state = isGood ? 'ready' : 'unsure'
    this.#sent = []
    if (isGood) this.#closing = []
  }

  /** The statement has to be prepared anew. */
  forget(text: string): void {
    const entry = this.#entries.get(text)
    if (entry !== undefined) entry.state = 'unsure'
  }

  #evict(): void {
    if (this.#entries.size > MOST_PREPARED) {
      const [oldest] = this.#entries
      if (oldest === undefined) return
      this.#entries.delete(oldest[0])
      this.#closing.push(oldest[1].name)
    }
    for (const name of this.#closing) this.#wire.close({ type: 'S', name })
  }
}
