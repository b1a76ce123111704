/** The second thread of a grouping by parts, as the first one sees it. Both read the same state of the database. */
import { availableParallelism } from 'node:os'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import type { SplitRun } from '../engine.ts'
import type { PartCursor } from './split-parts.ts'

/** What the threads tell each other, in a number that both see. */
export const TURN = {
  /** The first asks for a transaction. */
  asked: 0,
  /** The second has begun one. */
  begun: 1,
  /** It is to take parts. */
  started: 2,
  /** It is to do nothing. */
  cancelled: 3,
  /** It has sent all its parts. */
  done: 4,
  /** It has too many groups, or a part has failed. */
  failed: 5,
} as const

export interface SplitJob {
  readonly split: SplitRun
  readonly cursor: SharedArrayBuffer
  readonly turn: Int32Array<SharedArrayBuffer>
  /** Takes lists of parts. */
  readonly port: MessagePort
}

/** Waiting longer for the thread, or for a moment without commits, would gain nothing. */
const START_MS = 300
const MAX_ATTEMPTS = 5

/** V8 would otherwise reserve 512 MiB for the code of the thread, and memory is limited. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4, codeRangeSizeMb: 16 }

export class SplitHelper {
  readonly #path: string
  #worker: Worker | undefined

  /** Undefined on a machine with one processor. */
  static open(path: string): SplitHelper | undefined {
    return availableParallelism() > 1 ? new SplitHelper(path) : undefined
  }

  constructor(path: string) {
    this.#path = path
  }

  /** Begins a transaction in both threads. Undefined if it is not certain that both see the same state: then none has begun. */
  begin(connection: Database, split: SplitRun, cursor: PartCursor): SplitShare | undefined {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      // The number changes with every commit of another connection.
      const version = dataVersion(connection)
      const share = new SplitShare()
      this.#thread().postMessage({ split, cursor: cursor.buffer, ...share.theirs }, [share.theirs.port])
      if (!share.hasBegun(START_MS)) {
        share.close()
        return undefined
      }
      connection.exec('BEGIN')
      if (dataVersion(connection) === version) return share
      connection.exec('ROLLBACK')
      share.close()
    }
    return undefined
  }

  /** Kept for the next query. It inherits the priority of this thread. */
  #thread(): Worker {
    this.#worker ??= new Worker(new URL('./split-thread.ts', import.meta.url), {
      workerData: this.#path,
      env: {},
      // Opening process.stdout would make the pipe of the results non-blocking.
      stdout: true,
      stderr: true,
      resourceLimits: RESOURCE_LIMITS,
    })
    return this.#worker
  }
}

/** The share of the other thread in one query. */
export class SplitShare {
  readonly #turn = new Int32Array(new SharedArrayBuffer(4))
  readonly #channel = new MessageChannel()

  get theirs(): Pick<SplitJob, 'turn' | 'port'> {
    return { turn: this.#turn, port: this.#channel.port2 }
  }

  hasBegun(milliseconds: number): boolean {
    Atomics.wait(this.#turn, 0, TURN.asked, milliseconds)
    // If it has not, it will not do so later.
    return Atomics.compareExchange(this.#turn, 0, TURN.asked, TURN.cancelled) === TURN.begun
  }

  start(): void {
    this.#give(TURN.started)
  }

  /** Waits for the end. False if the other thread has failed. */
  finish(add: (parts: readonly (readonly unknown[])[]) => void): boolean {
    while (Atomics.load(this.#turn, 0) === TURN.started) Atomics.wait(this.#turn, 0, TURN.started)
    if (Atomics.load(this.#turn, 0) !== TURN.done) return false
    for (;;) {
      const received = receiveMessageOnPort(this.#channel.port1)
      if (received === undefined) return true
      add(received.message)
    }
  }

  /** The other thread is free for another query. */
  close(): void {
    if (Atomics.load(this.#turn, 0) === TURN.begun) this.#give(TURN.cancelled)
    while (Atomics.load(this.#turn, 0) === TURN.started) Atomics.wait(this.#turn, 0, TURN.started)
    this.#channel.port1.close()
  }

  #give(turn: number): void {
    Atomics.store(this.#turn, 0, turn)
    Atomics.notify(this.#turn, 0)
  }
}

/** Begins to read if a transaction has begun. */
function dataVersion(connection: Database): unknown {
  connection.prepare('SELECT 1 FROM main.sqlite_schema LIMIT 1').get()
  return connection.pragma('data_version', { simple: true })
}
