/** Requests whose reply waits for something to happen, counted by caller. */
import { type Principal, Refusal } from 'gatehouse-protocol'

/** Each costs two reads of the database twice a second; a person has a few pages open. */
const MAX_HELD = 8

export class HeldRequests {
  readonly #byCaller = new Map<string, number>()

  /** Refuses the request if too many of its caller are held already. */
  async hold<T>({ subject }: Principal, act: () => Promise<T>): Promise<T> {
    const held = this.#byCaller.get(subject) ?? 0
    if (held >= MAX_HELD)
      throw new Refusal('admin.too_many_waiting', 429, `${MAX_HELD} requests of this caller are waiting already`, {
        headers: { 'retry-after': '1' },
      })
    this.#byCaller.set(subject, held + 1)
    try {
      return await act()
    } finally {
      const left = (this.#byCaller.get(subject) ?? 1) - 1
      if (left > 0) this.#byCaller.set(subject, left)
      else this.#byCaller.delete(subject)
    }
  }
}
