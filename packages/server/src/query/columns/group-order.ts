/** The order of groups by their keys, as SQLite sorts them. */
import type { Groups } from './groups.ts'
import type { KeyOrder } from './plan.ts'
import type { RawValue } from './segment.ts'

/** All groups in this order, in which every key is. */
export function sortGroups(groups: Groups, order: readonly KeyOrder[]): ArrayLike<number> {
  const { count } = groups
  const ranks = order.map((key) => rankGroups(groups, key))
  const size = ranks.reduce((product, { size }) => product * size, 1)
  if (size * count > Number.MAX_SAFE_INTEGER) return sortByRanks(ranks, count)
  // Numbers are sorted ten times as fast as with a function that compares: each has the ranks of a group, and the group.
  const sorted = new Float64Array(count)
  for (let group = 0; group < count; group++) {
    let combined = 0
    for (const { size, of } of ranks) combined = combined * size + (of[group] as number)
    sorted[group] = combined * count + group
  }
  sorted.sort()
  for (let at = 0; at < count; at++) {
    const combined = sorted[at] as number
    sorted[at] = combined - Math.floor(combined / count) * count
  }
  return sorted
}

interface Ranks {
  readonly of: Int32Array
  readonly size: number
}

function rankGroups(groups: Groups, { key, descending, nulls }: KeyOrder): Ranks {
  const { values, idOf } = groups.valuesOf(key)
  const bytes = new Map(values.flatMap((value) => (typeof value === 'string' ? [[value, Buffer.from(value)]] : [])))
  const compare = (one: RawValue, other: RawValue): number => {
    if (typeof one === 'string' && typeof other === 'string')
      return Buffer.compare(bytes.get(one) as Buffer, bytes.get(other) as Buffer)
    return Number(one) < Number(other) ? -1 : Number(one) > Number(other) ? 1 : 0
  }
  const sorted = Array.from(values.keys()).sort((one, other) => {
    const [left = null, right = null] = [values[one], values[other]]
    if (left === null || right === null) return left === right ? 0 : (left === null) === (nulls === 'first') ? -1 : 1
    return descending ? compare(right, left) : compare(left, right)
  })
  const ranks = new Int32Array(values.length)
  for (const [rank, id] of sorted.entries()) ranks[id] = rank
  const of = new Int32Array(groups.count)
  for (let group = 0; group < of.length; group++) of[group] = ranks[idOf(group)] as number
  return { of, size: Math.max(1, values.length) }
}

function sortByRanks(ranks: readonly Ranks[], count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, group) => group).sort((one, other) => {
    for (const { of } of ranks) if (of[one] !== of[other]) return (of[one] as number) - (of[other] as number)
    return 0
  })
}
