/** The groups of all segments: a number for each, by its keys. */
import type { RawValue } from './segment.ts'
import type { HeldBytes } from './states/state.ts'

/** About what a group takes, each of its keys, and each state: entries of tables and arrays. */
const [GROUP_BYTES, KEY_BYTES, STATE_BYTES] = [32, 16, 24]
/** What an entry of a map takes. */
const VALUE_BYTES = 48

/** The different values of one key. */
class KeyValues {
  readonly values: RawValue[] = []
  readonly #ids = new Map<RawValue, number>()
  readonly #held: HeldBytes

  constructor(held: HeldBytes) {
    this.#held = held
  }

  add(value: RawValue): number {
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    this.#held.add(VALUE_BYTES + (typeof value === 'string' ? value.length : 0))
    const id = this.values.push(value) - 1
    this.#ids.set(value, id)
    return id
  }
}

const LEAST_GROUPS = 64

export class Groups {
  readonly #keys: readonly KeyValues[]
  /** The ids of the values of each group, one key after the other. */
  #ids: Int32Array
  /** A hash table with open addressing: numbers of groups, more by one; 0 is free. It has twice as many places as there are groups. */
  #table = new Int32Array(2 * LEAST_GROUPS)
  readonly #held: HeldBytes
  readonly #bytes: number
  #count = 0

  constructor(keys: number, states: number, held: HeldBytes) {
    this.#held = held
    this.#bytes = GROUP_BYTES + STATE_BYTES * states + KEY_BYTES * keys
    this.#keys = Array.from({ length: keys }, () => new KeyValues(held))
    this.#ids = new Int32Array(LEAST_GROUPS * keys)
  }

  get count(): number {
    return this.#count
  }

  addValue(key: number, value: RawValue): number {
    return this.#keys[key]?.add(value) ?? 0
  }

  /** The group with these values, by their ids. */
  find(ids: readonly number[]): number {
    const mask = this.#table.length - 1
    for (let place = hash(ids) & mask; ; place = (place + 1) & mask) {
      const group = (this.#table[place] as number) - 1
      if (group < 0) return this.#create(ids, place)
      if (this.#hasIds(group, ids)) return group
    }
  }

  #hasIds(group: number, ids: readonly number[]): boolean {
    const start = group * ids.length
    for (let key = 0; key < ids.length; key++) if (this.#ids[start + key] !== ids[key]) return false
    return true
  }

  #create(ids: readonly number[], place: number): number {
    this.#held.add(this.#bytes)
    const group = this.#count++
    this.#table[place] = this.#count
    const start = group * ids.length
    if (start + ids.length > this.#ids.length) this.#ids = enlarge(this.#ids)
    for (let key = 0; key < ids.length; key++) this.#ids[start + key] = ids[key] as number
    if (2 * this.#count > this.#table.length) this.#rehash(ids.length)
    return group
  }

  #rehash(keys: number): void {
    const table = new Int32Array(2 * this.#table.length)
    const mask = table.length - 1
    for (let group = 0; group < this.#count; group++) {
      let place = hash(this.#ids.subarray(group * keys, (group + 1) * keys)) & mask
      while (table[place] !== 0) place = (place + 1) & mask
      table[place] = group + 1
    }
    this.#table = table
  }

  keysOf(group: number): RawValue[] {
    return this.#keys.map(({ values }, key) => values[this.#ids[group * this.#keys.length + key] as number] ?? null)
  }

  /** The different values of a key, and the place of a group's value among them. */
  valuesOf(key: number): { readonly values: readonly RawValue[]; readonly idOf: (group: number) => number } {
    const [ids, keys] = [this.#ids, this.#keys.length]
    return { values: this.#keys[key]?.values ?? [], idOf: (group) => ids[group * keys + key] as number }
  }
}

function hash(ids: ArrayLike<number>): number {
  let hash = 0
  for (let key = 0; key < ids.length; key++) hash = Math.imul(hash ^ (ids[key] as number), 0x9e3779b1) ^ (hash >>> 15)
  return hash ^ (hash >>> 13)
}

function enlarge(array: Int32Array): Int32Array {
  const larger = new Int32Array(Math.max(LEAST_GROUPS, 2 * array.length))
  larger.set(array)
  return larger
}
