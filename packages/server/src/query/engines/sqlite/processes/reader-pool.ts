/** The pool of reader processes: started when a query needs one, killed to cancel a query, ended when idle. */
import { setTimeout as sleep } from 'node:timers/promises'
import { refuse } from '../../../errors.ts'
import type { Stoppable } from '../../engine.ts'
import type { Background } from '../../live-source.ts'
import { FairSlots, LONG_MS, type Slot } from '../../slots/fair-slots.ts'
import { preemptible } from '../../slots/preemptible-read.ts'
import { type JobOutcome, ProcessGone, QueryProcess, type QueryTask, type ReaderJob } from './query-process.ts'
import type { TempBudget } from './temp-budget.ts'

export interface ReaderPoolOptions {
  readonly path: string
  /** The number of readers for long queries. There are a few more for short ones. */
  readonly long: number
  /** Jobs that may wait for a reader before further ones are refused. */
  readonly maximumWaiting: number
  readonly idleMilliseconds: number
  readonly budget: TempBudget
}

type ReadTask = Exclude<QueryTask, 'write'>

/** A process that was killed does nothing any more, but one of low priority waits for a processor to end, on a busy machine for long. */
const LONGEST_END_MS = 1_000

/** Two, because a process takes a moment to end, and another one to start. */
const SHORT_READERS = 2

class ReaderProcess extends QueryProcess {
  task: ReadTask

  constructor({ path, budget }: ReaderPoolOptions, task: ReadTask) {
    super(path, task, budget)
    this.task = task
  }

  /** Permanently: its priority cannot be raised again. */
  moveToBackground(): void {
    this.task = 'background-read'
    this.lowerPriority()
  }
}

export class ReaderPool {
  readonly #options: ReaderPoolOptions
  readonly #maximum: number
  /** Each slot allows its holder one reader. */
  readonly #slots: FairSlots
  readonly #idle: ReaderProcess[] = []
  readonly #all = new Set<ReaderProcess>()
  readonly #idleTimers = new Map<ReaderProcess, NodeJS.Timeout>()

  constructor(options: ReaderPoolOptions) {
    this.#options = options
    this.#maximum = options.long + SHORT_READERS
    this.#slots = new FairSlots(this.#maximum, options.maximumWaiting, { long: options.long })
  }

  /** Throws the signal's reason when it cancels the job. */
  async *read<Job extends ReaderJob>(
    owner: string,
    job: Job,
    running: Stoppable,
    background?: Background,
  ): AsyncGenerator<Uint8Array, JobOutcome<Job>, void> {
    for (let isLong = false; ; isLong = true) {
      const request = { owner, statement: 'sql' in job ? job.sql : undefined, isLong }
      const slot = await (background === undefined
        ? this.#slots.acquire(request, running)
        : this.#slots.acquireInBackground(request, running))
      try {
        return yield* this.#readWith(slot, owner, job, running, background)
      } catch (error) {
        if (!slot.isPreempted) throw error
      }
    }
  }

  async *#readWith<Job extends ReaderJob>(
    slot: Slot,
    owner: string,
    job: Job,
    running: Stoppable,
    background: Background | undefined,
  ): AsyncGenerator<Uint8Array, JobOutcome<Job>, void> {
    const { signal } = running
    let reader: ReaderProcess | undefined
    let isReusable = true
    let timer: NodeJS.Timeout | undefined
    const stop = (): void => reader?.kill()
    try {
      // Aborted after the slot was granted and before this code resumed: no event will follow.
      signal.throwIfAborted()
      reader = this.#readerFor(findTask(job, slot))
      signal.addEventListener('abort', stop, { once: true })
      isReusable = false
      timer = this.#letOthersFirst(owner, reader)
      const chunks = reader.read(owner, job, (ownTime) => {
        slot.begin(stop, ownTime)
        background?.onStart(ownTime)
        running.onRead?.()
      })
      const outcome = yield* preemptible(slot, chunks)
      isReusable = true
      return outcome
    } catch (error) {
      if (error instanceof ProcessGone) throw signal.aborted ? signal.reason : error
      isReusable = !slot.isPreempted
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
      clearInterval(timer)
      // A consumer that stops early leaves chunks in the pipe.
      if (!isReusable) reader?.kill()
      this.#release(reader, slot)
    }
  }

  get size(): number {
    return this.#all.size
  }

  get busy(): number {
    return this.#all.size - this.#idle.length
  }

  get waiting(): number {
    return this.#slots.waiting
  }

  async close(): Promise<void> {
    this.#slots.close(refuse('Limit.Overload', 'The service is shutting down'))
    for (const timer of this.#idleTimers.values()) clearTimeout(timer)
    const all = [...this.#all]
    for (const reader of all) reader.kill()
    const ended = Promise.all(all.map((reader) => reader.exited))
    await Promise.race([ended, sleep(LONGEST_END_MS, undefined, { ref: false })])
  }

  /**
   * All queries of an owner but one run in the background: on a machine with few cores, the readers of one owner would otherwise
   * take the time of another's. A process cannot raise its priority again, so an idle one with another priority is replaced.
   */
  #readerFor(task: ReadTask): ReaderProcess {
    const suitable = this.#idle.findLast((reader) => reader.task === task && reader.isAlive)
    const unused = suitable ?? (this.#all.size < this.#maximum ? undefined : this.#idle[0])
    if (unused !== undefined) this.#take(unused)
    if (suitable === undefined) unused?.kill()
    const reader = suitable ?? this.#start(task)
    if (task === 'background-read') this.#prepareForOthers()
    return reader
  }

  /** Lowers the priority of a long query while others wait. Also starts a reader for the next owner, because this one is no longer available. */
  #letOthersFirst(owner: string, reader: ReaderProcess): NodeJS.Timeout | undefined {
    if (reader.task !== 'read') return undefined
    const timer = setInterval(() => {
      if (!this.#slots.isUsedByOthers(owner)) return
      clearInterval(timer)
      reader.moveToBackground()
      this.#prepareForOthers()
    }, LONG_MS)
    return timer.unref()
  }

  /** If one owner's queries load the machine, processes start slowly, so one is started in advance for the next owner. */
  #prepareForOthers(): void {
    const isPrepared = this.#idle.some((reader) => reader.task === 'read' && reader.isAlive)
    if (isPrepared || this.#all.size >= this.#maximum) return
    try {
      this.#keep(this.#start('read'))
    } catch {
      // The machine has no process or descriptor to spare; the next owner will try again.
    }
  }

  #take(reader: ReaderProcess): void {
    clearTimeout(this.#idleTimers.get(reader))
    this.#idleTimers.delete(reader)
    removeFrom(this.#idle, reader)
  }

  #start(task: ReadTask): ReaderProcess {
    const reader = new ReaderProcess(this.#options, task)
    this.#all.add(reader)
    void reader.exited.then(() => {
      this.#all.delete(reader)
      removeFrom(this.#idle, reader)
    })
    return reader
  }

  /** The slot of a reader that was killed is free when its process has ended. */
  #release(reader: ReaderProcess | undefined, slot: Slot): void {
    if (reader?.isAlive) this.#keep(reader)
    if (reader === undefined || reader.isAlive) slot.release()
    else
      void reader.exited.then(() => {
        slot.release()
        if (slot.isPreempted) this.#prepareForOthers()
      })
  }

  #keep(reader: ReaderProcess): void {
    this.#idle.push(reader)
    const timer = setTimeout(() => {
      removeFrom(this.#idle, reader)
      reader.kill()
    }, this.#options.idleMilliseconds)
    timer.unref()
    this.#idleTimers.set(reader, timer)
  }
}

function findTask(job: ReaderJob, { isFirst }: Slot): ReadTask {
  if ('kind' in job && job.kind === 'kept' && job.read === 'touched') return 'kept-read'
  return isFirst ? 'read' : 'background-read'
}

function removeFrom<Item>(items: Item[], item: Item): void {
  const index = items.indexOf(item)
  if (index >= 0) items.splice(index, 1)
}
