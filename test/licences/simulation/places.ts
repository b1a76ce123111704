/** Programs that take places for their users on any node: of a product with two places, no user ever has three. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SimulatedPlace } from './simulation.ts'

const MOST = 2
const SECONDS = 3

export class Places {
  /** Until when each place is held for sure, by the reply that gave it. */
  readonly #until = new Map<string, number>()
  given = 0

  /** Takes a place, renews it some times, and leaves it, or is gone without a word. */
  async use(name: string, { server }: SimulatedPlace, random: (below: number) => number): Promise<void> {
    const place = `${name} ${random(1_000_000)}`
    const send = (seconds: number) =>
      server.send('POST', '/licences/places', {
        token: server.handler,
        body: { User: 'alice', Product: 'PLACES', Place: place, Seconds: seconds },
      })
    for (let renewals = random(4); renewals >= 0; renewals--) {
      const { status, body } = await send(SECONDS)
      if (status !== 200 && status !== 201) return void (await sleep(100 + random(400)))
      this.#hold(place, Date.parse(body.Until))
      await sleep(random(1_500))
    }
    if (random(3) === 0) return
    this.#until.delete(place)
    await send(0)
  }

  #hold(place: string, until: number): void {
    const now = Date.now()
    for (const [other, end] of this.#until) if (end <= now) this.#until.delete(other)
    if (until > now) this.#until.set(place, until)
    this.given++
    assert.ok(this.#until.size <= MOST, `${this.#until.size} places at once: ${[...this.#until.keys()]}`)
  }
}
