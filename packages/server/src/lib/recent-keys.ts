/** Texts that were added in the last ten seconds, such as statements that turned out to be slow. */
import { LruMap } from './lru-map.ts'

const REMEMBERED_MS = 10_000
/** The most characters of all texts, because statements can be long. */
const MAX_LENGTH = 2_000_000
/** The least weight of a text. */
const LEAST_LENGTH = 1000

export class RecentKeys {
  readonly #until = new LruMap<number>(MAX_LENGTH, (_until, key) => Math.max(key.length, LEAST_LENGTH))

  has(key: string): boolean {
    const until = this.#until.get(key)
    return until !== undefined && performance.now() < until
  }

  add(key: string): void {
    this.#until.set(key, performance.now() + REMEMBERED_MS)
  }

  delete(key: string): void {
    this.#until.delete(key)
  }
}
