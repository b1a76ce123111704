/** The groups of all segments: a number for each, by its keys. */
import type { RawValue } from './segment.ts'
import type { HeldBytes } from './states/state.ts'

/** About what a group takes, each of its keys, and each state: entries of maps and arrays. */
const [GROUP_BYTES, KEY_BYTES, STATE_BYTES] = [64, 32, 24]

/** The different values of one key. */
class KeyValues {
  readonly values: RawValue[] = []
  readonly #ids = new Map<RawValue, number>()

  add(value: RawValue): number {
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    const id = this.values.push(value) - 1
    this.#ids.set(value, id)
    return id
  }
}

type Level = Map<number, Level | number>

export class Groups {
  readonly #keys: readonly KeyValues[]
  /** The ids of the values of each group, one key after the other. */
  readonly #ids: number[] = []
  readonly #first: Level = new Map()
  readonly #held: HeldBytes
  readonly #bytes: number
  #count = 0

  constructor(keys: number, states: number, held: HeldBytes) {
    this.#held = held
    this.#bytes = GROUP_BYTES + STATE_BYTES * states + KEY_BYTES * keys
    this.#keys = Array.from({ length: keys }, () => new KeyValues())
  }

  get count(): number {
    return this.#count
  }

  addValue(key: number, value: RawValue): number {
    if (typeof value === 'string') this.#held.add(value.length)
    return this.#keys[key]?.add(value) ?? 0
  }

  /** The group with these values, by their ids. */
  find(ids: readonly number[]): number {
    let level = this.#first
    for (let key = 0; key < ids.length - 1; key++) {
      const id = ids[key] as number
      let next = level.get(id)
      if (next === undefined) {
        next = new Map()
        level.set(id, next)
      }
      level = next as Level
    }
    const last = ids.at(-1) ?? 0
    const known = level.get(last)
    if (known !== undefined) return known as number
    this.#held.add(this.#bytes)
    const group = this.#count++
    level.set(last, group)
    this.#ids.push(...ids)
    return group
  }

  keysOf(group: number): RawValue[] {
    return this.#keys.map(({ values }, key) => values[this.#ids[group * this.#keys.length + key] as number] ?? null)
  }
}
