/** Statements that turned out to be unfit for company: for a while they go alone, without trying again. */

const REMEMBERED_MS = 10_000
const MOST_REMEMBERED = 500

export class Strays {
  readonly #until = new Map<string, number>()

  has(sql: string): boolean {
    if (this.#until.size === 0) return false
    const until = this.#until.get(sql)
    if (until === undefined) return false
    if (performance.now() < until) return true
    this.#until.delete(sql)
    return false
  }

  add(sql: string): void {
    this.#until.delete(sql)
    this.#until.set(sql, performance.now() + REMEMBERED_MS)
    const [oldest] = this.#until.keys()
    if (this.#until.size > MOST_REMEMBERED && oldest !== undefined) this.#until.delete(oldest)
  }
}
