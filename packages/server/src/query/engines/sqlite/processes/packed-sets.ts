/** Parameter sets by column, for another process: numbers as bytes take a fraction of the time to copy (`npm run bench -- columns-ingest`). */
import type { Bindable } from '../../emit/slots.ts'
import type { WriteStep } from '../../engine.ts'

/** A step whose sets may be packed. */
export interface JobStep extends WriteStep {
  /** The values of each parameter, instead of `parameterSets`. */
  readonly columns?: readonly Column[]
}

type Column = BigInt64Array | Float64Array | readonly Bindable[]

/** For fewer sets it is not worth it. */
const MANY_SETS = 100

export function packSets(step: WriteStep): JobStep {
  const { parameterSets } = step
  const width = parameterSets[0]?.length ?? 0
  if (width === 0 || parameterSets.length < MANY_SETS) return step
  const columns = Array.from({ length: width }, (_, index) => packColumn(parameterSets, index))
  return { ...step, parameterSets: [], columns }
}

function packColumn(sets: WriteStep['parameterSets'], index: number): Column {
  const first = sets[0]?.[index]
  return (
    (typeof first === 'bigint' ? packIntegers(sets, index) : undefined) ??
    (typeof first === 'number' ? packDoubles(sets, index) : undefined) ??
    sets.map((set) => set[index] ?? null)
  )
}

/** Undefined if a value is not an integer of 64 bits. */
function packIntegers(sets: WriteStep['parameterSets'], index: number): BigInt64Array | undefined {
  const column = new BigInt64Array(sets.length)
  for (let row = 0; row < sets.length; row++) {
    const value = sets[row]?.[index]
    if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) return undefined
    column[row] = value
  }
  return column
}

function packDoubles(sets: WriteStep['parameterSets'], index: number): Float64Array | undefined {
  const column = new Float64Array(sets.length)
  for (let row = 0; row < sets.length; row++) {
    const value = sets[row]?.[index]
    if (typeof value !== 'number') return undefined
    column[row] = value
  }
  return column
}

export function setCount({ columns, parameterSets }: JobStep): number {
  return columns?.[0]?.length ?? parameterSets.length
}

export function setWidth({ columns, parameterSets }: JobStep): number {
  return columns?.length ?? parameterSets[0]?.length ?? 0
}

/** Appends the values of a set; returns the length of the list. */
export function addSet({ columns, parameterSets }: JobStep, row: number, values: Bindable[], length: number): number {
  let end = length
  if (columns === undefined) for (const value of parameterSets[row] ?? []) values[end++] = value
  else for (const column of columns) values[end++] = column[row] ?? null
  return end
}

export function setsOf(step: JobStep): Iterable<readonly Bindable[]> {
  return step.columns === undefined ? step.parameterSets : unpack(step)
}

function* unpack(step: JobStep): Generator<readonly Bindable[]> {
  const count = setCount(step)
  for (let row = 0; row < count; row++) {
    const set: Bindable[] = []
    addSet(step, row, set, 0)
    yield set
  }
}
