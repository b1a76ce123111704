/**
 * Computes the parts of a grouping that are in column segments. Where results are kept, segments are taken in batches: history that has not
 * changed is then read from the results of its batches.
 */
import { crc32 } from 'node:zlib'
import { ColumnExecutor } from '../../../columns/executor.ts'
import type { ExecutorMemory } from '../../../columns/executor-memory.ts'
import type { Evaluate } from '../../../columns/filters.ts'
import type { JoinedRows } from '../../../columns/joined-rows.ts'
import { DamagedSegment, type RawValue, SEGMENT_ROWS, type Segment } from '../../../columns/segment.ts'
import { referTo } from '../../../columns/states/run-references.ts'
import { HeldBytes, MAX_HELD_BYTES } from '../../../columns/states/state.ts'
import type { ColumnsRun } from '../../parts-run.ts'
import { type KeptParts, keptKey } from '../columns/kept-parts.ts'

/** A range of rows whose segment may be read. Row identifiers, both included. */
export interface ReadableSegment {
  readonly first: bigint
  readonly last: bigint
  readonly tag: string
  /** How many it has. */
  readonly rows: number
  readonly open: () => Segment
}

/** A batch has at most as many segments. */
const MAX_SEGMENTS = 16
/** One in as many segments begins a batch, by its first row: a segment that is added or changed leaves the other batches as they are. */
const BATCH_SEGMENTS = 8
/** A group that is read again takes as long as this number of rows in segments (bench: columns, again). Few groups are always kept. */
const [FEW_GROUPS, LEAST_ROWS_OF_GROUP] = [64, 200]

export interface BatchOptions {
  readonly evaluate: Evaluate
  readonly heldBytes: number | undefined
  readonly kept: KeptParts | undefined
  /** The other table of a join. */
  readonly joined: JoinedRows | undefined
  readonly memory: ExecutorMemory | undefined
}

type Insert = (rows: Iterable<readonly RawValue[]>) => void

interface Batch {
  readonly segments: readonly ReadableSegment[]
  /** The filters that their headers do not decide. */
  readonly undecided: readonly number[]
}

export class SegmentBatches {
  readonly #run: ColumnsRun
  readonly #options: BatchOptions
  readonly #insert: Insert
  /** Has the groups that are not in the table of the parts. */
  #executor: ColumnExecutor
  #isInserted = false
  /** Whether results of further batches can be worth a file. */
  #mayKeep = true

  /** `insert` puts groups into the table of the parts. */
  constructor(run: ColumnsRun, options: BatchOptions, insert: Insert) {
    this.#run = run
    this.#options = options
    this.#executor = this.#start()
    this.#insert = (rows) => {
      this.#isInserted = true
      insert(rows)
    }
  }

  /** The executor, if it has the groups of all segments so far. */
  get whole(): ColumnExecutor | undefined {
    return this.#isInserted ? undefined : this.#executor
  }

  /** Puts what is left into the table of the parts. Different values stay here if they are all of their groups. */
  finish(): void {
    this.#insert(this.#executor.rows(this.#isInserted ? undefined : referTo))
    this.#executor = this.#start()
  }

  #flush(): void {
    this.#insert(this.#executor.rows())
    this.#executor = this.#start()
  }

  /** Returns for each segment whether its groups were added; if not, the statement itself must compute its part. */
  add(segments: readonly ReadableSegment[]): boolean[] {
    if (!this.#isKept) return this.#compute(segments).added
    const added = new Map<ReadableSegment, boolean>()
    for (const batch of this.#batches(segments, added)) {
      const result = this.#addBatch(batch)
      batch.segments.forEach((segment, index) => {
        added.set(segment, result[index] ?? false)
      })
    }
    return segments.map((segment) => added.get(segment) ?? false)
  }

  /** How many segments would be read, or have a part that the statement itself must compute, or no row that fits. */
  explain(segments: readonly ReadableSegment[]) {
    const executor = this.#start()
    let [read, fromRows, skipped] = [0, 0, 0]
    for (const segment of segments) {
      const opened = openSegment(segment)
      if (opened === undefined || !executor.canAdd(opened)) fromRows++
      else if (executor.undecided(opened) === undefined) skipped++
      else read++
    }
    return { read, fromRows, skipped }
  }

  /** The different values of a group are too many to be kept, and are merged faster than read. A join depends on the other table, too. */
  get #isKept(): boolean {
    const { plan, keptBytes = 0 } = this.#run
    const { kept, joined } = this.#options
    return (
      kept !== undefined && joined === undefined && keptBytes > 0 && plan.states.every(({ kind }) => kind !== 'values')
    )
  }

  /** Those of which no row fits are in no batch: they are added. */
  #batches(segments: readonly ReadableSegment[], added: Map<ReadableSegment, boolean>): Batch[] {
    const batches: { segments: ReadableSegment[]; undecided: readonly number[] }[] = []
    const executor = this.#start()
    for (const segment of segments) {
      const undecided = this.#undecided(executor, segment)
      if (undecided === undefined) {
        added.set(segment, true)
        continue
      }
      const last = batches.at(-1)
      const before = last?.segments.at(-1)
      const isNext =
        last !== undefined &&
        before !== undefined &&
        last.segments.length < MAX_SEGMENTS &&
        !beginsBatch(segment) &&
        // Small segments at the end become others soon.
        isSmall(before) === isSmall(segment) &&
        last.undecided.join() === undecided.join()
      if (isNext) last.segments.push(segment)
      else batches.push({ segments: [segment], undecided })
    }
    return batches
  }

  /** Undefined if no row of the segment fits. */
  #undecided(executor: ColumnExecutor, segment: ReadableSegment): readonly number[] | undefined {
    const { filters } = this.#run.plan
    if (filters.length === 0) return []
    const opened = openSegment(segment)
    return opened === undefined ? [...filters.keys()] : executor.undecided(opened)
  }

  #addBatch(batch: Batch): boolean[] {
    const { kept } = this.#options
    if (kept === undefined || !this.#mayKeep) return this.#compute(batch.segments).added
    const key = this.#key(batch)
    const known = kept.find(key)
    if (known !== undefined) {
      this.#insert(known.rows)
      return [...known.added]
    }
    // A filter with values that are always others, such as the time of the statement, is not worth a file.
    if (batch.undecided.length > 0 && !kept.wasSeen(key)) return this.#compute(batch.segments).added
    const others = this.#executor
    this.#executor = this.#start()
    const { added, count, isWhole, isFlushed } = this.#compute(batch.segments)
    const groups = this.#executor.count
    this.#mayKeep = !isFlushed && (groups <= FEW_GROUPS || groups * LEAST_ROWS_OF_GROUP <= count)
    if (isWhole && this.#mayKeep) {
      const rows = [...this.#executor.rows()]
      const tags = batch.segments.map(({ tag }) => tag)
      kept.keep(key, tags, { added, rows }, this.#run.keptBytes ?? 0)
      this.#insert(rows)
      this.#executor = others
    } else if (others.count > 0) this.#insert(others.rows())
    return added
  }

  /** What the result depends on: a filter that the headers decide is not in it. */
  #key({ segments, undecided }: Batch): string {
    const { plan, expressions } = this.#run
    const decided = plan.filters.filter((_filter, index) => !undecided.includes(index))
    const unused = new Set(decided.flatMap((filter) => (filter.kind === 'compare' ? filter.values : [])))
    const { filters, result, ...others } = plan
    return keptKey(
      others,
      undecided.map((index) => filters[index]),
      expressions.map((expression, index) => (unused.has(index) ? null : expression)),
      segments.map(({ tag }) => tag),
    )
  }

  #start(): ColumnExecutor {
    const { evaluate, heldBytes = MAX_HELD_BYTES, joined, memory } = this.#options
    return new ColumnExecutor(this.#run.plan, evaluate, new HeldBytes(heldBytes), { joined, memory })
  }

  /**
   * `count` is the number of their rows. `isWhole` is false if a file was missing or damaged: it will be written again. If `isFlushed`, the
   * executor was full, and has only the groups of the last ones.
   */
  #compute(segments: readonly ReadableSegment[]) {
    let [count, isWhole, isFlushed] = [0, true, false]
    const added = segments.map((segment) => {
      const opened = openSegment(segment)
      const isAdded = opened === undefined ? undefined : addSegment(this.#executor, opened)
      count += opened?.header.rows ?? 0
      if (isAdded === undefined) isWhole = false
      if (this.#executor.isFull) {
        isFlushed = true
        this.#flush()
      }
      return isAdded ?? false
    })
    return { added, count, isWhole, isFlushed }
  }
}

function beginsBatch({ first }: ReadableSegment): boolean {
  return crc32(String(first)) % BATCH_SEGMENTS === 0
}

function isSmall({ rows }: ReadableSegment): boolean {
  return 2 * rows < SEGMENT_ROWS
}

/** A segment that cannot be read is the same as none. */
export function openSegment(segment: ReadableSegment): Segment | undefined {
  try {
    return segment.open()
  } catch {
    return undefined
  }
}

/** Undefined if it is damaged. */
function addSegment(executor: ColumnExecutor, segment: Segment): boolean | undefined {
  try {
    return executor.add(segment)
  } catch (error) {
    if (error instanceof DamagedSegment) return undefined
    throw error
  }
}
