/** The server's side of a process that runs queries: it takes jobs, returns their chunks, and can be killed at any time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import type { Refusal } from 'gatehouse-protocol'
import { decodePayload, encodeFrame, FRAME, PipeReader } from '../../../../child-process/frames.ts'
import { couldNotRun, withLimits } from '../../../../child-process/limits.ts'
import { BACKGROUND_PRIORITY, lowerPriority } from '../../../../child-process/priority.ts'
import { processorTime } from '../../../../child-process/processor-time.ts'
import { programFile } from '../../../../child-process/program.ts'
import { refuse } from '../../../errors.ts'
import type { Cell, ReadOutcome } from '../../../model/result.ts'
import type { ExplainJob, ExplainOutcome } from '../../column-tables.ts'
import type { ReadRun, ReadStatement, WriteOutcome, WriteReply } from '../../engine.ts'
import { memoryError } from '../../runtime-error.ts'
import type { OwnTime } from '../../slots/expectations.ts'
import type { SegmentJob, SegmentOutcome } from '../columns/segment-jobs.ts'
import { type Failure, reviveFailure } from '../failure.ts'
import type { KeptJob, KeptJobOutcome } from '../read/kept-read.ts'
import type { LiveJob, LiveOutcome } from '../read/live-read.ts'
import type { BulkJob } from '../write/bulk-job.ts'
import type { ChangeJob, WriteJob } from '../write/write-job.ts'
import type { TempBudget } from './temp-budget.ts'
import { UseWatch } from './use-watch.ts'

/** Plain data, which can cross to another process. */
export type ReadJob = Omit<ReadStatement, 'cost'> & Omit<ReadRun, 'owner'>

export type ReaderJob = ReadJob | LiveJob | SegmentJob | ExplainJob | KeptJob

export type JobOutcome<Job extends ReaderJob> = Job extends SegmentJob | ExplainJob
  ? SegmentOutcome | ExplainOutcome
  : Job extends LiveJob
    ? LiveOutcome
    : Job extends KeptJob
      ? KeptJobOutcome
      : ReadOutcome

/** A write with the id of its record (write/commit-records.ts). */
export interface LongWrite {
  readonly id: string
  readonly job: WriteJob | ChangeJob | BulkJob
}

/** A background read yields the processors to other reads. */
export type QueryTask = 'read' | 'background-read' | 'kept-read' | 'write'

const PROGRAM = new URL('./query-process-main.ts', import.meta.url)

/** Early versions of Node 24 warn when a program uses their SQLite. */
const NODE_OPTIONS = ['--max-old-space-size=256', '--max-semi-space-size=2', '--disable-warning=ExperimentalWarning']

/**
 * glibc returns the memory of long values to the operating system as soon as it is freed. By itself it would raise the first limit to the
 * longest value that was freed, up to 32 MiB. Other allocators ignore both.
 */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: String(2 ** 21), MALLOC_TRIM_THRESHOLD_: String(2 ** 22) }

export class QueryProcess {
  readonly #process: ChildProcess
  readonly #input: Writable
  readonly #output: PipeReader
  /** Resolves when the process has ended: with the signal that ended it, if any, or the error if it could not be started. */
  readonly exited: Promise<NodeJS.Signals | Error | null>
  readonly #budget: TempBudget
  readonly #watch = new UseWatch()
  isAlive = true
  /** Set if it was killed because it used too much. */
  #excess: Refusal | undefined
  #isReady = false

  constructor(path: string, task: QueryTask, budget: TempBudget) {
    // The server's environment, and with it every secret, is withheld. With the compile cache a start takes a quarter of the time.
    const env = { ...ALLOCATOR, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(dirname(path), 'cache') }
    const fileBytes = budget.limits.statement
    const args = [...NODE_OPTIONS, programFile(PROGRAM), path, String(fileBytes), task]
    const child = spawn(...withLimits(process.execPath, args, task === 'write' ? undefined : fileBytes), {
      stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
      env,
      // Its own process group: a signal to the group of the server, as from a terminal, must not end a query.
      detached: true,
    })
    // Before anything can throw: an error event without a listener ends the server.
    this.exited = new Promise((resolve) => {
      const ended = (reason: NodeJS.Signals | Error | null): void => {
        this.isAlive = false
        resolve(reason)
      }
      child
        .once('exit', (code, signal) => ended(couldNotRun(code) ? new Error('The program cannot be run') : signal))
        .once('error', ended)
    })
    // There are no pipes when the server has run out of descriptors.
    if (!child.stdin || !child.stdout) throw cannotStart()
    this.#budget = budget
    this.#process = child
    this.#input = child.stdin
    this.#output = new PipeReader(child.stdout)
    this.#input.on('error', () => this.kill())
  }

  /**
   * Yields the chunks of the result. `onStart` is called when the process has started, with the time that the job itself takes; the job is
   * sent after that.
   */
  async *read<Job extends ReaderJob>(
    owner: string,
    job: Job,
    onStart: (ownTime: OwnTime) => void,
  ): AsyncGenerator<Uint8Array, JobOutcome<Job>, void> {
    const end = this.#watchUse(owner)
    const begin = (): void => {
      onStart(this.#measure())
      this.#send(job)
    }
    try {
      if (this.#isReady) begin()
      for (;;) {
        const frame = await this.#output.next()
        if (frame === undefined) throw await this.#gone()
        if (frame.kind === FRAME.ready) {
          this.#isReady = true
          begin()
        } else if (frame.kind === FRAME.chunk) yield frame.payload
        else if (frame.kind === FRAME.done) return decodePayload(frame.payload) as JobOutcome<Job>
        else throw reviveFailure(decodePayload(frame.payload) as Failure)
      }
    } finally {
      end()
    }
  }

  /**
   * The write is committed only if the process was not killed before its reply had arrived. `onCommit` is called then: from now on the
   * process must not be killed. Rejects with CommitUnknown if it ends nevertheless.
   */
  async write(owner: string | undefined, write: LongWrite, onCommit: () => void): Promise<WriteReply | undefined> {
    const end = this.#watchUse(owner)
    const rows: (readonly Cell[])[] = []
    let prepared: { readonly reply: WriteReply | undefined } | undefined
    try {
      this.#send(write)
      for (;;) {
        const frame = await this.#output.next()
        if (frame === undefined) {
          const error = await this.#gone()
          throw prepared === undefined ? error : new CommitUnknown(prepared.reply, error)
        }
        if (frame.kind === FRAME.chunk) {
          for (const row of decodePayload(frame.payload) as WriteOutcome['rows']) rows.push(row)
          // Several frames may have arrived at once.
          await immediate()
        } else if (frame.kind === FRAME.prepared) {
          if (!this.isAlive) continue
          const reply = decodePayload(frame.payload) as WriteReply | undefined
          prepared = { reply: reply && { ...reply, outcome: { ...reply.outcome, rows } } }
          end()
          onCommit()
          this.#input.write(encodeFrame(FRAME.commit, undefined))
        } else if (frame.kind === FRAME.done) return prepared?.reply
        else throw reviveFailure(decodePayload(frame.payload) as Failure)
      }
    } finally {
      end()
    }
  }

  /** Watches its memory and files. Returns a function that stops the watch; further calls do nothing. */
  #watchUse(owner: string | undefined): () => void {
    const stop = (error: Refusal): void => {
      this.#excess = error
      this.kill()
    }
    const account = this.#budget.open(owner, stop)
    if (this.#process.pid !== undefined) this.#watch.start(this.#process.pid, account, stop)
    let isWatched = true
    return () => {
      if (!isWatched) return
      isWatched = false
      this.#watch.stop()
      account.close()
    }
  }

  #send(job: ReaderJob | LongWrite): void {
    this.#input.write(encodeFrame(FRAME.job, job))
  }

  #measure(): OwnTime {
    const { pid } = this.#process
    const before = processorTime(pid)
    return () => {
      const now = before === undefined ? undefined : processorTime(pid)
      return now === undefined || before === undefined ? undefined : now - before
    }
  }

  /** Gives priority to the reads of others. */
  lowerPriority(): void {
    const { pid } = this.#process
    if (pid === undefined || !this.isAlive) return
    try {
      lowerPriority(pid, BACKGROUND_PRIORITY)
    } catch {
      // It has just ended, or one of its threads has: the next call finds the others.
    }
  }

  /** A running statement cannot be interrupted from within Node, but its process can be killed. */
  kill(): void {
    this.isAlive = false
    this.#process.kill('SIGKILL')
  }

  /** Why the output has ended. A process that exceeds its heap, or gets no memory for it, aborts. */
  async #gone(): Promise<Error> {
    // A process without an output may still be running.
    this.kill()
    const reason = await this.exited
    if (this.#excess !== undefined) return this.#excess
    if (reason === 'SIGABRT' || reason === 'SIGTRAP') return memoryError()
    return reason instanceof Error
      ? cannotStart(reason)
      : new ProcessGone(`The process of the query was ended by ${reason}`)
  }
}

/** The process ended while it ran a job. */
export class ProcessGone extends Error {}

/** The process ended while it committed: the write has this reply if it is found to be committed, and failed with the cause if not. */
export class CommitUnknown extends Error {
  readonly reply: WriteReply | undefined

  constructor(reply: WriteReply | undefined, cause: Error) {
    super('The process of the write ended while it committed', { cause })
    this.reply = reply
  }
}

/** The machine has no process, memory or descriptor to spare. */
function cannotStart(cause?: Error): Error {
  return refuse('Limit.Overload', 'No process could be started for the query', { cause })
}
