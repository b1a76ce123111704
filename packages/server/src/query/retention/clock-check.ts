/** Whether the clocks can be trusted: a wrong time would delete rows that should be kept. */
import type { Clock } from 'gatehouse-protocol'

const MAX_DIFFERENCE_MS = 60_000
const MAX_JUMP_MS = 3_600_000

export class ClockCheck {
  readonly #clock: Clock
  readonly #monotonic: () => number
  /** At the last time that was trusted. */
  #last: { readonly wall: number; readonly monotonic: number } | undefined

  constructor(clock: Clock, monotonic: () => number = () => performance.now()) {
    this.#clock = clock
    this.#monotonic = monotonic
  }

  /** Undefined if all is well. The time of the database is in microseconds since the epoch. */
  findFault(database: bigint): string | undefined {
    const wall = this.#clock()
    const monotonic = this.#monotonic()
    const difference = Math.abs(wall - Number(database / 1000n))
    if (difference > MAX_DIFFERENCE_MS)
      return `The clocks of the node and of the database differ by ${Math.round(difference / 1000)} s`
    const jump = this.#last === undefined ? 0 : Math.abs(wall - this.#last.wall - (monotonic - this.#last.monotonic))
    if (jump > MAX_JUMP_MS)
      return `The clock was set by ${Math.round(jump / 60_000)} minutes: if it is right now, run gatehouse retention run`
    this.#last = { wall, monotonic }
    return undefined
  }

  /** An operator says that the clock is right. */
  trust(): void {
    this.#last = undefined
  }
}
