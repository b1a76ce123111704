/** Merges segments: those of a minute, and then those of an hour, into as few as possible, so that a restore reads few. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Level, segmentName } from '../objects/names.ts'
import { BadObject, sealObject } from '../objects/seal.ts'
import { type DatabaseState, encodeSegment, type SegmentHead } from '../objects/segment.ts'
import type { Catalogue, StoredSegment } from '../restore/catalogue.ts'
import type { StoredObjects, StoredRange } from '../spool/stored-objects.ts'
import { Changes } from './changes.ts'

export interface MergeOptions {
  readonly generation: string
  readonly catalogue: Catalogue
  readonly stored: StoredObjects
  readonly key: Buffer
  /** Bytes a second. */
  readonly rate: number
  readonly signal: AbortSignal
  /** How long the segments of each level are; those that are merged again are of the levels before. */
  readonly periods: readonly [minute: number, hour: number]
}

/** In memory, and in one object. */
const MAX_BYTES = 32 * 1024 * 1024
/** More segments than this are merged in several steps. */
const MOST_SEGMENTS = 4_000
/** For an object. */
const PUT_MS = 120_000

/** Merges the segments of one period. False if there is none that is over. */
export async function mergeNext(options: MergeOptions, level: 1 | 2): Promise<boolean> {
  const due = findDue(options, level)
  if (due.length === 0) return false
  const merged = new MergedSegment()
  for (const range of due) {
    options.signal.throwIfAborted()
    merged.add(await options.catalogue.segment(options.generation, range))
    // Also amid what was committed at once, such as a VACUUM: a restore reads the pieces up to the one that completes the moment.
    if (merged.bytes >= MAX_BYTES && range !== due.at(-1)) await store(options, level, merged.take())
  }
  await store(options, level, merged.take())
  return true
}

/** The next segments of the level below that are of one period, which is over; they end with one that completes a moment. */
function findDue({ stored, periods }: MergeOptions, level: 1 | 2): readonly StoredRange[] {
  const below: Level = level === 1 ? 0 : 1
  const waiting = stored.after(below, stored.end(level), MOST_SEGMENTS)
  const period = periods[level - 1] ?? 0
  const [first] = waiting
  if (first === undefined) return []
  const of = ({ time }: { readonly time: number }) => Math.floor(time / period)
  if (of({ time: Date.now() }) === of(first)) return []
  const due = waiting.filter((range) => of(range) <= of(first))
  const end = due.findLastIndex(({ isComplete }) => isComplete)
  // A moment that is completed in the next period: they are merged with that.
  if (end === -1) return waiting.slice(0, waiting.findIndex(({ isComplete }) => isComplete) + 1)
  return due.slice(0, end + 1)
}

async function store(options: MergeOptions, level: 1 | 2, segment: { head: SegmentHead; pages: Changes['pages'] }) {
  const { generation, catalogue, stored, key, rate, signal } = options
  const { first, last, time, isComplete } = segment.head
  const name = segmentName(generation, { level, first, last })
  const sealed = sealObject(key, name, encodeSegment(segment))
  const start = performance.now()
  // If there is one, an attempt before has stored it.
  await catalogue.target.put(name, sealed, AbortSignal.any([signal, AbortSignal.timeout(PUT_MS)]))
  stored.add({ level, first, last, time, isComplete })
  const pause = (1000 * sealed.length) / rate - (performance.now() - start)
  await sleep(Math.max(0, pause), undefined, { signal })
}

class MergedSegment {
  #changes = new Changes()
  #first: SegmentHead | undefined
  #last: StoredSegment | undefined

  get bytes(): number {
    return this.#changes.bytes
  }

  add(segment: StoredSegment): void {
    const { head, pages } = segment
    if (this.#last !== undefined && (head.previous !== this.#last.hash || head.first !== this.#last.head.last + 1))
      throw new BadObject(`The segment ${head.first} does not follow the one before`)
    for (const { name, least } of head.databases) if (least < this.#sizeBefore(name)) this.#changes.shrink(name, least)
    for (const [database, own] of pages) for (const [page, content] of own) this.#changes.add(database, page, content)
    this.#first ??= head
    this.#last = segment
  }

  /** What comes before the first is not known. */
  #sizeBefore(name: string): number {
    return this.#last?.head.databases.find((state) => state.name === name)?.pages ?? Number.POSITIVE_INFINITY
  }

  take(): { head: SegmentHead; pages: Changes['pages'] } {
    const [first, last] = [this.#first, this.#last]
    if (first === undefined || last === undefined) throw new Error('There is nothing to merge')
    const changes = this.#changes
    const databases = last.head.databases.map(
      (state): DatabaseState => ({ ...state, least: Math.min(changes.least(state.name) ?? state.pages, state.pages) }),
    )
    this.#changes = new Changes()
    this.#first = undefined
    this.#last = undefined
    return {
      head: {
        ...{ format: 1, first: first.first, last: last.head.last, time: last.head.time },
        ...{ isComplete: last.head.isComplete, previous: first.previous, lastHash: last.hash, databases },
      },
      pages: changes.pages,
    }
  }
}
