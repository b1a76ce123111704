/** The recent changes of a live result, for subscribers that are behind and clients that reconnect. */
import type { Changes } from './difference.ts'

/** The bytes of changes that even a small result may keep. */
const MIN_KEYS = 1000
const MIN_BYTES = 64 * 1024

export class ResultHistory {
  /** The last of them led to `#version`. */
  readonly #batches: Changes[] = []
  #version: number
  #keys = 0
  #bytes = 0

  constructor(version: number) {
    this.#version = version
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether the changes since this version are known. */
  covers(version: number): boolean {
    return version <= this.#version && version >= this.#version - this.#batches.length
  }

  /** A new version. The last changes are always kept: a subscriber with the version before is not slow. */
  add(changes: Changes, limits: { readonly keys: number; readonly bytes: number }): void {
    this.#version++
    this.#batches.push(changes)
    this.#keys += changes.size
    this.#bytes += changes.bytes
    const maxKeys = Math.max(limits.keys, MIN_KEYS)
    const maxBytes = Math.max(limits.bytes, MIN_BYTES)
    while (this.#batches.length > 1 && (this.#keys > maxKeys || this.#bytes > maxBytes)) this.#dropOldest()
  }

  shorten(kept: 'last' | 'none'): void {
    while (this.#batches.length > (kept === 'last' ? 1 : 0)) this.#dropOldest()
  }

  /** A new version that no changes lead to. */
  clear(): void {
    this.#version++
    while (this.#batches.length > 0) this.#dropOldest()
  }

  /** All changes since a version that is covered, the oldest first. */
  since(version: number): Changes[] {
    return this.#batches.slice(this.#batches.length - (this.#version - version))
  }

  #dropOldest(): void {
    const oldest = this.#batches.shift()
    if (oldest === undefined) return
    this.#keys -= oldest.size
    this.#bytes -= oldest.bytes
  }
}
