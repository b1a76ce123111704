/** Which objects make up the state of a moment. */
import { FORKED } from '../objects/heads.ts'
import type { SegmentName } from '../objects/names.ts'
import { BadObject } from '../objects/seal.ts'
import type { SegmentHead } from '../objects/segment.ts'
import type { Catalogue, StoredBase, StoredGeneration } from './catalogue.ts'

export interface RestorePlan {
  readonly generation: string
  readonly base: StoredBase
  /** In order, without a gap; none if the base is enough. */
  readonly segments: readonly SegmentName[]
  /** The moment, in milliseconds. */
  readonly time: number
}

/** There is no such moment, or it is not clear which is meant. */
export class NoSuchMoment extends Error {
  override name = 'NoSuchMoment'
}

/** The moments of a generation, from its first base on. */
export interface Range {
  readonly generation: StoredGeneration
  readonly from: number
  readonly to: number
  readonly bases: number
}

/** Undefined as long as no base is complete. */
export async function findRange(catalogue: Catalogue, generation: StoredGeneration): Promise<Range | undefined> {
  const name = generation.head.generation
  const bases = await catalogue.bases(name)
  const [first] = bases
  if (first === undefined) return undefined
  const { from, until } = (await catalogue.base(first)).manifest
  const ends = listEnds(await catalogue.segments(name, from.number))
  // Segments of this time may be merged: then the first moment is the end of their minute, or hour.
  const start = await findStart(catalogue, name, ends, until.number)
  const last = await findEnd(catalogue, name, ends, Number.POSITIVE_INFINITY)
  if (start === undefined || last === undefined) throw missing(until.time)
  return { generation, from: Math.max(start.time, until.time), to: last.time, bases: bases.length }
}

/** The first one from a number on that completes a moment. */
async function findStart(
  catalogue: Catalogue,
  generation: string,
  ends: readonly SegmentName[],
  number: number,
): Promise<SegmentHead | undefined> {
  for (const end of ends.filter(({ last }) => last >= number)) {
    const { head } = await catalogue.segment(generation, end)
    if (head.isComplete) return head
  }
  return undefined
}

/** The last moment up to `at`, or the last of all. */
export async function makePlan(
  catalogue: Catalogue,
  { at, generation: wanted }: { readonly at?: number | undefined; readonly generation?: string | undefined },
): Promise<RestorePlan> {
  const range = await chooseGeneration(catalogue, at, wanted)
  const generation = range.generation.head.generation
  if (at !== undefined && (at < range.from || at > range.to))
    throw new NoSuchMoment(
      `There is nothing of ${show(at)}: the backup goes from ${show(range.from)} to ${show(range.to)}`,
    )
  for (const name of (await catalogue.bases(generation)).toReversed()) {
    const base = await catalogue.base(name)
    const { from, until } = base.manifest
    if (until.time > (at ?? range.to)) continue
    const all = await catalogue.segments(generation, from.number)
    const end = await findEnd(catalogue, generation, listEnds(all), at ?? Number.POSITIVE_INFINITY)
    // Not if it ends within segments that are merged: the base before has the moment.
    if (end !== undefined && end.last >= until.number)
      return { generation, base, segments: cover(all, from.number + 1, end.last), time: end.time }
  }
  throw missing(at ?? range.to)
}

function missing(time: number): BadObject {
  return new BadObject(`Segments that the base before ${show(time)} needs are missing`)
}

async function chooseGeneration(
  catalogue: Catalogue,
  at: number | undefined,
  wanted: string | undefined,
): Promise<Range> {
  const { generations, unreadable } = await catalogue.generations(wanted)
  if (generations.length === 0)
    throw new NoSuchMoment(
      wanted === undefined
        ? `There is no backup at ${catalogue.target.location}`
        : `There is no generation ${wanted}: list them with --list`,
    )
  const ranges: Range[] = []
  for (const generation of generations) {
    const range = await findRange(catalogue, generation)
    if (range !== undefined) ranges.push(range)
  }
  const candidates = at === undefined ? ranges : ranges.filter(({ from, to }) => from <= at && at <= to)
  const [only] = candidates
  if (only === undefined) {
    const [first, last] = [ranges[0], ranges.at(-1)]
    if (at === undefined || first === undefined || last === undefined)
      throw new NoSuchMoment(`No base is complete at ${catalogue.target.location}: nothing can be restored yet`)
    if (ranges.length === 1) return first
    throw new NoSuchMoment(`There is nothing of ${show(at)}: see which times there are with --list`)
  }
  if (areOfSeveral(candidates))
    throw new NoSuchMoment(
      `Several machines have written to ${catalogue.target.location}: choose one with --generation: ${candidates
        .map(({ generation: { head } }) => `${head.generation} (${head.host})`)
        .join(', ')}`,
    )
  // The newest of one machine.
  const chosen = candidates.at(-1) ?? only
  const newer = unreadable.find(({ generation }) => generation > chosen.generation.head.generation)
  // An older one has an older key.
  if (at === undefined && wanted === undefined && newer !== undefined)
    throw new BadObject(`${newer.error.message}. To restore an earlier generation, choose it with --generation`)
  return chosen
}

/** Whether they are of several machines. A copy of a data folder has the name of the machine too; then both go on at the same time. */
function areOfSeveral(ranges: readonly Range[]): boolean {
  const machines = new Set(ranges.map(({ generation }) => generation.head.machine))
  const isForked = ranges.some(
    ({ generation: { head } }, index) =>
      head.reason === FORKED && ranges.slice(0, index).some((before) => before.to > head.began),
  )
  return machines.size > 1 || isForked
}

/** The segments by their last number, one for each. */
function listEnds(segments: readonly SegmentName[]): readonly SegmentName[] {
  const ends = new Map<number, SegmentName>()
  for (const segment of segments) {
    const known = ends.get(segment.last)
    if (known === undefined || segment.level < known.level) ends.set(segment.last, segment)
  }
  return [...ends.values()].sort((one, other) => one.last - other.last)
}

/** The last one that completes a moment up to `at`. Their times rise with their numbers. */
async function findEnd(
  catalogue: Catalogue,
  generation: string,
  ends: readonly SegmentName[],
  at: number,
): Promise<SegmentHead | undefined> {
  const head = async (index: number): Promise<SegmentHead | undefined> => {
    const end = ends[index]
    return end && (await catalogue.segment(generation, end)).head
  }
  let [low, high] = [0, ends.length]
  while (Number.isFinite(at) && low < high) {
    const middle = (low + high) >>> 1
    const found = await head(middle)
    if (found !== undefined && found.time <= at) low = middle + 1
    else high = middle
  }
  for (let index = high - 1; index >= 0; index--) {
    const found = await head(index)
    if (found?.isComplete && found.time <= at) return found
  }
  return undefined
}

/** As few as possible: of those that go on from where the ones before end, the one that goes farthest. */
function cover(segments: readonly SegmentName[], first: number, last: number): readonly SegmentName[] {
  const sorted = segments.filter((segment) => segment.last <= last).sort((one, other) => one.first - other.first)
  const chosen: SegmentName[] = []
  let best: SegmentName | undefined
  for (let next = first, index = 0; next <= last; ) {
    for (let one = sorted[index]; one !== undefined && one.first <= next; one = sorted[++index])
      if (best === undefined || one.last > best.last) best = one
    if (best === undefined || best.last < next) throw new BadObject(`The segment ${next} is missing`)
    chosen.push(best)
    next = best.last + 1
  }
  return chosen
}

export function show(time: number): string {
  return new Date(time).toISOString()
}
