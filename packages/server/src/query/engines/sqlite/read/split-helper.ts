/** The second thread of a grouping by parts, as the first one sees it. Both read the same state of the database. */
import { availableParallelism } from 'node:os'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import Sqlite, { type Database } from 'better-sqlite3'
import type { SplitRun } from '../../engine.ts'
import type { RawRow } from '../representation.ts'
import type { PartCursor } from './split-parts.ts'

/** The state that both threads share, as a number. */
export const TURN = {
  /** The first asks for a transaction. */
  asked: 0,
  /** The second has begun one. */
  begun: 1,
  /** The second should take parts. */
  started: 2,
  /** The second should do nothing. */
  cancelled: 3,
  /** The second has sent all its parts. */
  done: 4,
  /** The second has too many groups, or a part has failed. */
  failed: 5,
} as const

export interface SplitJob {
  readonly split: SplitRun
  readonly cursor: SharedArrayBuffer
  readonly turn: Int32Array<SharedArrayBuffer>
  /** Takes lists of parts. */
  readonly port: MessagePort
}

/** The longest time in which a running thread begins, unless the machine is busy. */
const BEGIN_MS = 5
/** The longest wait for the last part of the other thread, or for a sign of life: a thread that has died gives none. */
export const MAX_WAIT_MS = 10_000
/** Attempts to find a moment without commits. */
const MAX_ATTEMPTS = 5

/** V8 would otherwise reserve 512 MiB for the code of the thread, and memory is limited. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4, codeRangeSizeMb: 16 }

export class SplitHelper {
  readonly #path: string
  #worker: Worker | undefined
  /** Never in a transaction, so that it sees every commit. */
  #witness: Database | undefined

  /** Undefined on a machine with one processor. */
  static open(path: string): SplitHelper | undefined {
    return availableParallelism() > 1 ? new SplitHelper(path) : undefined
  }

  constructor(path: string) {
    this.#path = path
  }

  /**
   * Begins a transaction in both threads; in the second perhaps later, if it has to be started. Undefined if others commit all the
   * time: then neither has begun.
   */
  begin(connection: Database, split: SplitRun, cursor: PartCursor): SplitShare | undefined {
    this.#witness ??= new Sqlite(this.#path, { readonly: true, timeout: 1000 })
    const waitMs = this.#worker === undefined ? 0 : BEGIN_MS
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const worker = this.#thread()
      const share = new SplitShare(this.#witness, () => this.#forget(worker))
      worker.postMessage({ split, cursor: cursor.buffer, ...share.theirs }, [share.theirs.port])
      let isShared = false
      try {
        connection.exec('BEGIN')
        beginToRead(connection)
        share.waitUntilBegun(waitMs)
        isShared = share.isUnchanged
        if (isShared) return share
      } finally {
        if (!isShared) share.close()
      }
      connection.exec('ROLLBACK')
    }
    return undefined
  }

  /** Closes the connections of both threads. A later query opens them again. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
    this.#worker = undefined
    this.#witness?.close()
    this.#witness = undefined
  }

  /** Kept for the next query. It inherits the priority of this thread. */
  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(new URL('./split-thread.ts', import.meta.url), {
      workerData: this.#path,
      // Opening process.stdout would make the pipe of the results non-blocking.
      stdout: true,
      stderr: true,
      resourceLimits: RESOURCE_LIMITS,
    })
    worker.on('error', () => this.#forget(worker)).unref()
    this.#worker = worker
    return worker
  }

  /** The next query starts another one. */
  #forget(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined
    void worker.terminate()
  }
}

/** The share of the other thread in one query. */
export class SplitShare {
  readonly #witness: Database
  readonly #onStuck: () => void
  readonly #maxWaitMs: number
  readonly #version: unknown
  readonly #turn = new Int32Array(new SharedArrayBuffer(4))
  readonly #channel = new MessageChannel()
  #isStuck = false

  /** Before either thread begins. `onStuck` is called if the other thread does not end. */
  constructor(witness: Database, onStuck: () => void, maxWaitMs = MAX_WAIT_MS) {
    this.#witness = witness
    this.#onStuck = onStuck
    this.#maxWaitMs = maxWaitMs
    this.#version = dataVersion(witness)
  }

  get theirs(): Pick<SplitJob, 'turn' | 'port'> {
    return { turn: this.#turn, port: this.#channel.port2 }
  }

  /** Whether there was no commit since: all transactions that have begun since then see the same state. */
  get isUnchanged(): boolean {
    return dataVersion(this.#witness) === this.#version
  }

  waitUntilBegun(milliseconds: number): void {
    Atomics.wait(this.#turn, 0, TURN.asked, milliseconds)
  }

  /** Gives parts to the other thread if it has begun in time. Call between parts. */
  startIfBegun(): void {
    if (this.#now === TURN.begun) this.#answer(this.isUnchanged ? TURN.started : TURN.cancelled)
  }

  /** Waits for the end. False if the other thread has failed. */
  finish(add: (parts: readonly RawRow[]) => void): boolean {
    this.#end()
    if (this.#isStuck || this.#now === TURN.failed) return false
    for (;;) {
      const received = receiveMessageOnPort(this.#channel.port1)
      if (received === undefined) return true
      add(received.message)
    }
  }

  /** The other thread is free for another query, or gone. */
  close(): void {
    this.#end()
    this.#channel.port1.close()
  }

  #end(): void {
    if (this.#isStuck) return
    // If it has not begun yet, it will not do so later.
    Atomics.compareExchange(this.#turn, 0, TURN.asked, TURN.cancelled)
    this.#answer(TURN.cancelled)
    Atomics.wait(this.#turn, 0, TURN.started, this.#maxWaitMs)
    if (this.#now !== TURN.started) return
    this.#isStuck = true
    this.#onStuck()
  }

  get #now(): number {
    return Atomics.load(this.#turn, 0)
  }

  /** The other thread waits for an answer once it has begun. */
  #answer(turn: number): void {
    if (Atomics.compareExchange(this.#turn, 0, TURN.begun, turn) === TURN.begun) Atomics.notify(this.#turn, 0)
  }
}

/** A transaction sees the state in which it first reads. */
export function beginToRead(connection: Database): void {
  connection.prepare('SELECT 1 FROM main.sqlite_schema LIMIT 1').get()
}

/** A number that changes with every commit of another connection. */
function dataVersion(connection: Database): unknown {
  return connection.pragma('data_version', { simple: true })
}
