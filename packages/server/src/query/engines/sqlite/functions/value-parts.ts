/**
 * The different values of a part of the rows as a text, and what is computed from such texts: count(DISTINCT x), medians and percentiles.
 * Numbers are written with how many rows have them, `5:2,7:1`; texts as an array of JSON. The executor of column segments writes them too.
 */
import { aggregate, type Raw, type Value } from './aggregate.ts'
import type { FunctionHost } from './function-host.ts'
import { storedDouble } from './number.ts'
import { countedBetween, countedDoubleBetween, findCounted, refuseBadFraction, refuseMany } from './percentile.ts'

/** Parts with more are not held: then the usual plan is taken. */
const MAX_VALUES = 2 ** 20

export function registerValueParts(database: FunctionHost): void {
  const register = (name: string, write: (counts: Map<Value, number>) => string): void =>
    aggregate(database, name, {
      start: () => new Map<Value, number>(),
      step: (counts, value = null) => {
        if (value === null) return
        counts.set(value, (counts.get(value) ?? 0) + 1)
        if (counts.size > MAX_VALUES) throw new Error('Too many values for a part')
      },
      result: (counts) => (counts.size === 0 ? null : write(counts)),
    })
  register('gh_values_part', (counts) => Array.from(counts, ([value, count]) => `${value}:${count}`).join(','))
  register('gh_texts_part', (counts) => JSON.stringify([...counts.keys()]))
  aggregate(database, 'gh_distinct_parts', {
    start: () => new Set<string>(),
    step: (values, part = null) => {
      if (typeof part === 'string') for (const value of readDistinct(part)) values.add(value)
    },
    result: (values) => BigInt(values.size),
  })
  registerPercentile(database, 'gh_percentile_cont_parts', BigInt, (values, fraction, shift) =>
    countedBetween(values, fraction, shift),
  )
  registerPercentile(database, 'gh_percentile_disc_parts', BigInt, (values, fraction) => findCounted(values, fraction))
  registerPercentile(database, 'gh_percentile_cont_parts_double', Number, (values, fraction) =>
    countedDoubleBetween(values, fraction),
  )
  registerPercentile(database, 'gh_percentile_disc_parts_double', Number, (values, fraction) =>
    storedDouble(findCounted(values, fraction)),
  )
}

/** A text begins with a bracket, and a number does not. */
function readDistinct(part: string): readonly string[] {
  return part.startsWith('[') ? JSON.parse(part) : part.split(',').map((entry) => entry.slice(0, entry.indexOf(':')))
}

interface Merged<Item> {
  readonly counts: Map<Item, number>
  fraction: bigint | null
  shift: bigint
  rows: number
}

/** The arguments are the part, the fraction, the number of values that are allowed, and by how many digits the result is longer. */
function registerPercentile<Item extends bigint | number>(
  database: FunctionHost,
  name: string,
  read: (text: string) => Item,
  result: (values: readonly (readonly [Item, number])[], fraction: bigint, shift: bigint) => Raw,
): void {
  aggregate(database, name, {
    start: (): Merged<Item> => ({ counts: new Map(), fraction: null, shift: 0n, rows: 0 }),
    step: (state, part = null, fraction = null, most = null, shift = null) => {
      if (typeof part !== 'string' || typeof fraction !== 'bigint') return
      refuseBadFraction(fraction)
      state.fraction = fraction
      state.shift = typeof shift === 'bigint' ? shift : 0n
      for (const entry of part.split(',')) {
        const [text = '', count] = entry.split(':')
        const value = read(text)
        state.rows += Number(count)
        state.counts.set(value, (state.counts.get(value) ?? 0) + Number(count))
      }
      refuseMany(state.rows, Number(most))
    },
    result: ({ counts, fraction, shift }) => (fraction === null ? null : result(sorted(counts), fraction, shift)),
  })
}

/** NaN comes last. */
function sorted<Item extends bigint | number>(counts: ReadonlyMap<Item, number>): (readonly [Item, number])[] {
  return [...counts].sort(([one], [other]) =>
    Number.isNaN(one) ? 1 : Number.isNaN(other) ? -1 : one < other ? -1 : one > other ? 1 : 0,
  )
}
