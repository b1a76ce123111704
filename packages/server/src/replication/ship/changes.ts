/** Pages that have changed since the last segment, in memory: each once, as it is now. */
import type { Pages } from '../objects/segment.ts'

export class Changes {
  #pages = new Map<string, Map<number, Buffer>>()
  #least = new Map<string, number>()
  #bytes = 0
  #since: number | undefined

  get pages(): Pages {
    return this.#pages
  }

  get bytes(): number {
    return this.#bytes
  }

  /** When the first of them was noticed. */
  get since(): number | undefined {
    return this.#since
  }

  least(database: string): number | undefined {
    return this.#least.get(database)
  }

  /** The content is copied. */
  add(database: string, page: number, content: Buffer): void {
    this.#since ??= Date.now()
    const own = this.#pages.get(database) ?? new Map<number, Buffer>()
    this.#pages.set(database, own)
    const known = own.get(page)
    if (known?.length === content.length) content.copy(known)
    else {
      own.set(page, Buffer.from(content))
      this.#bytes += content.length
    }
  }

  /** The database has no more than this number of pages now. */
  shrink(database: string, pages: number): void {
    this.#since ??= Date.now()
    this.#least.set(database, Math.min(pages, this.#least.get(database) ?? pages))
    const own = this.#pages.get(database)
    for (const [page, content] of own ?? []) {
      if (page <= pages) continue
      own?.delete(page)
      this.#bytes -= content.length
    }
  }

  /** Something else has changed, such as the size of a database that grew. */
  touch(): void {
    this.#since ??= Date.now()
  }

  /** Forgets the pages, but not that a database was smaller. */
  drop(): void {
    this.#pages = new Map()
    this.#bytes = 0
  }

  clear(): void {
    this.drop()
    this.#least = new Map()
    this.#since = undefined
  }
}
