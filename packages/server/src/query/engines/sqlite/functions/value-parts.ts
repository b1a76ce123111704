/**
 * The different values of a part of the rows as a text, and what is computed from such parts: count(DISTINCT x), medians and percentiles.
 * Numbers are written with how many rows have them, `5:2,7:1`; texts as an array of JSON. The executor of column segments writes numbers
 * as bytes, or refers to them (columns/states/value-run.ts, run-references.ts).
 */
import { findRun } from '../../../columns/states/run-references.ts'
import { countValues, expandRun, mergeRuns, type Run, valueInRun } from '../../../columns/states/value-run.ts'
import { aggregate, type Raw, type Value } from './aggregate.ts'
import type { FunctionHost } from './function-host.ts'
import { storedDouble } from './number.ts'
import {
  findSorted,
  refuseBadFraction,
  refuseMany,
  type SortedValues,
  sortedBetween,
  sortedDoubleBetween,
} from './percentile.ts'

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
    start: (): DistinctValues => ({ runs: [], texts: new Set() }),
    step: ({ runs, texts }, part = null) => {
      if (part instanceof Uint8Array) runs.push(findRun(part))
      else if (typeof part === 'string') for (const value of readDistinct(part)) texts.add(value)
    },
    result: countDistinct,
  })
  registerPercentile(database, 'gh_percentile_cont_parts', BigInt, (values, fraction, shift) =>
    sortedBetween(values, fraction, shift),
  )
  registerPercentile(database, 'gh_percentile_disc_parts', BigInt, (values, fraction) => findSorted(values, fraction))
  registerPercentile(database, 'gh_percentile_cont_parts_double', Number, (values, fraction) =>
    sortedDoubleBetween(values, fraction),
  )
  registerPercentile(database, 'gh_percentile_disc_parts_double', Number, (values, fraction) =>
    storedDouble(findSorted(values, fraction)),
  )
}

/** A text begins with a bracket, and a number does not. */
function readDistinct(part: string): readonly string[] {
  return part.startsWith('[') ? JSON.parse(part) : part.split(',').map((entry) => entry.slice(0, entry.indexOf(':')))
}

interface DistinctValues {
  readonly runs: Run[]
  readonly texts: Set<string>
}

function countDistinct({ runs, texts }: DistinctValues): bigint {
  const run = mergeLazily(runs)
  if (texts.size === 0) return BigInt(countValues(run))
  for (const value of expandRun(run).values) texts.add(String(value))
  return BigInt(texts.size)
}

/** One run is mostly all: it is read as it is. */
function mergeLazily(runs: readonly Run[]): Run {
  const [run, ...others] = runs
  return run === undefined || others.length > 0 ? mergeRuns(runs) : run
}

interface Merged<Item> {
  readonly counts: Map<Item, number>
  readonly runs: Run[]
  fraction: bigint | null
  shift: bigint
  rows: number
}

/** The arguments are the part, the fraction, the number of values that are allowed, and by how many digits the result is longer. */
function registerPercentile<Item extends bigint | number>(
  database: FunctionHost,
  name: string,
  read: (value: string | number) => Item,
  result: (values: SortedValues<Item>, fraction: bigint, shift: bigint) => Raw,
): void {
  aggregate(database, name, {
    start: (): Merged<Item> => ({ counts: new Map(), runs: [], fraction: null, shift: 0n, rows: 0 }),
    step: (state, part = null, fraction = null, most = null, shift = null) => {
      if (part === null || typeof fraction !== 'bigint') return
      refuseBadFraction(fraction)
      state.fraction = fraction
      state.shift = typeof shift === 'bigint' ? shift : 0n
      if (part instanceof Uint8Array) {
        const run = findRun(part)
        state.runs.push(run)
        state.rows += run.rows
      } else
        for (const entry of String(part).split(',')) {
          const [text = '', count] = entry.split(':')
          addCount(state.counts, read(text), Number(count))
          state.rows += Number(count)
        }
      refuseMany(state.rows, Number(most))
    },
    result: (state) => (state.fraction === null ? null : result(sortValues(state, read), state.fraction, state.shift)),
  })
}

function sortValues<Item extends bigint | number>(
  { counts, runs, rows }: Merged<Item>,
  read: (value: number) => Item,
): SortedValues<Item> {
  const run = mergeLazily(runs)
  if (counts.size === 0) return { count: rows, at: (index) => read(valueInRun(run, index)) }
  const added = expandRun(run)
  for (const [at, value] of added.values.entries()) addCount(counts, read(value), added.counts?.[at] ?? 1)
  const sorted = [...counts].sort(([one], [other]) => compareLastNaN(one, other))
  return { count: rows, at: (index) => findAt(sorted, index) }
}

function addCount<Item>(counts: Map<Item, number>, value: Item, count: number): void {
  counts.set(value, (counts.get(value) ?? 0) + count)
}

function compareLastNaN(one: bigint | number, other: bigint | number): number {
  return Number.isNaN(one) ? 1 : Number.isNaN(other) ? -1 : one < other ? -1 : one > other ? 1 : 0
}

function findAt<Item>(sorted: readonly (readonly [value: Item, count: number])[], index: number): Item {
  let left = index
  for (const [value, count] of sorted) {
    if (left < count) return value
    left -= count
  }
  throw new Error('An index beyond the last value')
}
