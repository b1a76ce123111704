/**
 * A time zone: its transitions and offsets, and the local clock that follows from them. Times are microseconds since 1970; those of
 * the local clock count from 1970-01-01T00:00 on that clock. engines/postgres/setup/functions-zones.ts has the same in PL/pgSQL.
 */
import { floorDivide, MICROS_PER_DAY } from 'gatehouse-iql'

const MICROS = 1_000_000n

export class Zone {
  readonly name: string
  /** The instants of the transitions. */
  readonly transitions: readonly bigint[]
  /** Microseconds east of UTC: before, between and after the transitions. */
  readonly offsets: readonly bigint[]
  /** All in seconds, since these are exact as numbers and every transition is at a whole second. */
  readonly #at: readonly number[]
  /** What the local clock reads when the later offset begins. */
  readonly #begins: readonly number[]
  /** What it would read at that instant with the earlier offset: the end of what it has read. */
  readonly #ends: readonly number[]
  #lastSegment = 0

  constructor(name: string, at: readonly number[], offsets: readonly number[]) {
    this.name = name
    this.transitions = at.map((second) => BigInt(second) * MICROS)
    this.offsets = offsets.map((offset) => BigInt(offset) * MICROS)
    this.#at = at
    this.#begins = at.map((second, index) => second + (offsets[index + 1] ?? 0))
    this.#ends = at.map((second, index) => second + (offsets[index] ?? 0))
  }

  /** What the local clock reads. */
  toLocal(instant: bigint): bigint {
    return instant + this.#offset(this.findSegment(instant))
  }

  /** As in PostgreSQL: a time that the clock skips has the offset before, and one that it repeats the offset after. */
  toInstant(local: bigint): bigint {
    return local - this.#offset(countUpTo(this.#begins, toSecond(local)))
  }

  /** The first instant at which the clock reads this time or a later one. */
  firstInstant(local: bigint): bigint {
    const segment = countUpTo(this.#ends, toSecond(local))
    const instant = local - this.#offset(segment)
    const begin = this.transitions[segment - 1]
    return begin === undefined || instant > begin ? instant : begin
  }

  /** The latest time that the clock has read so far: after it was set back, more than it reads. */
  latestRead(instant: bigint): bigint {
    const segment = this.findSegment(instant)
    const local = instant + this.#offset(segment)
    const end = this.#ends[segment - 1]
    const before = end === undefined ? local : BigInt(end) * MICROS - 1n
    return before > local ? before : local
  }

  /**
   * The latest instant, not after the given one, at which the clock reads a multiple of the width since midnight, or skips one. The
   * width is at most a day.
   */
  tickBefore(instant: bigint, width: bigint): bigint {
    let [at, segment] = [instant, this.findSegment(instant)]
    for (;;) {
      const offset = this.#offset(segment)
      const local = at + offset
      const midnight = floorDivide(local, MICROS_PER_DAY) * MICROS_PER_DAY
      const read = midnight + ((local - midnight) / width) * width
      const begin = this.transitions[segment - 1]
      if (begin === undefined || read - offset >= begin) return read - offset
      segment--
      if (read >= begin + this.#offset(segment)) return begin
      at = begin - 1n
    }
  }

  /** The next such instant. */
  tickAfter(instant: bigint, width: bigint): bigint {
    let [at, segment] = [instant, this.findSegment(instant)]
    for (;;) {
      const offset = this.#offset(segment)
      const local = at + offset
      const midnight = floorDivide(local, MICROS_PER_DAY) * MICROS_PER_DAY
      const multiple = midnight + ((local - midnight) / width + 1n) * width
      const next = (multiple > midnight + MICROS_PER_DAY ? midnight + MICROS_PER_DAY : multiple) - offset
      const end = this.transitions[segment]
      if (end === undefined || next < end) return next
      if (this.tickBefore(end, width) === end) return end
      at = end
      segment++
    }
  }

  /** How many transitions are not after the instant. Rows are often in the order of time, so that the last answer is tried first. */
  findSegment(instant: bigint): number {
    const second = toSecond(instant)
    const last = this.#lastSegment
    const [begin, end] = [this.#at[last - 1], this.#at[last]]
    if ((begin === undefined || second >= begin) && (end === undefined || second < end)) return last
    this.#lastSegment = countUpTo(this.#at, second)
    return this.#lastSegment
  }

  #offset(segment: number): bigint {
    return this.offsets[segment] ?? 0n
  }
}

function toSecond(micros: bigint): number {
  return Number(floorDivide(micros, MICROS))
}

/** How many of the ascending numbers are not greater. */
function countUpTo(numbers: readonly number[], value: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low
}
