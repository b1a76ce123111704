/** The rows to show, filtered and sorted, as their indexes: worked out in slices, so that no frame waits for it. */
import { type ValueOrder, valueOrder } from './compare.ts'
import type { Test } from './filter.ts'
import type { Rows } from './rows.ts'

export interface Arrangement {
  readonly sort: { readonly column: number; readonly type: string; readonly descending: boolean } | undefined
  readonly tests: readonly (readonly [column: number, test: Test])[]
}

/** Yields whenever it can be interrupted. Takes the rows from `from` to `to` into `before`, an arrangement of those before. */
export type Work = Generator<void, ArrayLike<number>, void>

/** Rows between two chances to interrupt: well below a millisecond. */
const STEP = 2048

export class Arranger {
  readonly #arrangement: Arrangement
  readonly #order: ValueOrder | undefined
  /** The sort keys of the rows, by index; of the sorted column only. */
  #keys = new Float64Array(0)

  constructor(arrangement: Arrangement) {
    this.#arrangement = arrangement
    this.#order = arrangement.sort && valueOrder(arrangement.sort.type)
  }

  *arrange(rows: Rows, from: number, to: number, before: ArrayLike<number>): Work {
    const added = yield* this.#pick(rows, from, to)
    const { sort } = this.#arrangement
    if (sort === undefined || this.#order === undefined) return yield* concat(before, added)
    yield* this.#computeKeys(rows, added, to, sort.column, this.#order)
    const compare = this.#comparison(rows, sort.column, sort.descending, this.#order)
    return yield* merge(before, yield* sorted(added, compare), compare)
  }

  *#pick(rows: Rows, from: number, to: number): Generator<void, Uint32Array, void> {
    const picked = new Uint32Array(to - from)
    const { tests } = this.#arrangement
    let size = 0
    for (let index = from; index < to; index++) {
      if (tests.every(([column, test]) => test(rows.value(index, column)))) picked[size++] = index
      if (index % STEP === 0) yield
    }
    return picked.subarray(0, size)
  }

  *#computeKeys(rows: Rows, added: Uint32Array, to: number, column: number, order: ValueOrder) {
    if (this.#keys.length < to) {
      const grown = new Float64Array(Math.max(to, this.#keys.length * 2))
      grown.set(this.#keys)
      this.#keys = grown
    }
    for (let at = 0; at < added.length; at++) {
      const index = added[at] as number
      const value = rows.value(index, column)
      this.#keys[index] = value === null || value === undefined ? Number.NaN : order.key(value)
      if (at % STEP === 0) yield
    }
  }

  /** Equal rows stay in the order in which they came, also when descending. */
  #comparison(rows: Rows, column: number, descending: boolean, order: ValueOrder) {
    const keys = this.#keys
    const sign = descending ? -1 : 1
    return (a: number, b: number): number => {
      const [x, y] = [keys[a] as number, keys[b] as number]
      if (x < y) return -sign
      if (x > y) return sign
      if (x !== y && Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? sign : -sign
      return sign * order.compare(rows.value(a, column), rows.value(b, column)) || a - b
    }
  }
}

function* concat(before: ArrayLike<number>, added: Uint32Array): Work {
  if (before.length === 0) return added
  const all = new Uint32Array(before.length + added.length)
  all.set(before)
  yield
  all.set(added, before.length)
  return all
}

type Compare = (a: number, b: number) => number

/** Merge sort: runs that the engine sorts at once, then pairs of runs. */
function* sorted(indexes: Uint32Array, compare: Compare): Generator<void, Uint32Array, void> {
  for (let at = 0; at < indexes.length; at += STEP) {
    indexes.subarray(at, at + STEP).sort(compare)
    yield
  }
  let source = indexes
  let target: Uint32Array = new Uint32Array(indexes.length)
  for (let width = STEP; width < indexes.length; width *= 2) {
    for (let at = 0; at < indexes.length; at += 2 * width)
      yield* mergeInto(
        target,
        at,
        source.subarray(at, at + width),
        source.subarray(at + width, at + 2 * width),
        compare,
      )
    ;[source, target] = [target, source]
  }
  return source
}

function* merge(before: ArrayLike<number>, added: Uint32Array, compare: Compare): Work {
  if (before.length === 0) return added
  const all = new Uint32Array(before.length + added.length)
  yield* mergeInto(all, 0, before, added, compare)
  return all
}

function* mergeInto(target: Uint32Array, at: number, a: ArrayLike<number>, b: ArrayLike<number>, compare: Compare) {
  let [i, j, to] = [0, 0, at]
  while (i < a.length || j < b.length) {
    const takeA = j >= b.length || (i < a.length && compare(a[i] as number, b[j] as number) <= 0)
    target[to++] = (takeA ? a[i++] : b[j++]) as number
    if (to % STEP === 0) yield
  }
}
