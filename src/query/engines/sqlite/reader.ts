/** One reader process from the server's side: give it a job, take its chunks, or kill it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { refuse } from '../../errors.ts'
import type { ReadOutcome, WriteReply } from '../engine.ts'
import type { ReadJob } from './execute.ts'
import { type Failure, reviveFailure } from './failure.ts'
import { decodePayload, encodeFrame, FRAME, FrameReader } from './frames.ts'
import type { ChangeJob, WriteJob } from './write.ts'

const PROGRAM = fileURLToPath(new URL('./reader-process.ts', import.meta.url))

export class Reader {
  readonly #process: ChildProcess
  readonly #input: Writable
  readonly #output: FrameReader
  /** The signal that ended it, if one did. */
  readonly exited: Promise<NodeJS.Signals | null>
  isAlive = true

  constructor(path: string, task: 'read' | 'write' = 'read') {
    // Of the environment nothing is passed on, so no secret is; compiled code is kept, since a start takes a quarter of the time.
    const env = { NODE_COMPILE_CACHE: join(dirname(path), 'cache') }
    const child = spawn(
      process.execPath,
      ['--max-old-space-size=256', '--max-semi-space-size=2', PROGRAM, path, task],
      {
        stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
        env,
      },
    )
    if (child.stdin === null || child.stdout === null) throw new Error('A reader process without pipes')
    this.#process = child
    this.#input = child.stdin
    this.#output = new FrameReader(child.stdout)
    this.#input.on('error', () => this.kill())
    this.exited = new Promise((resolve) => {
      const ended = (signal: NodeJS.Signals | null): void => {
        this.isAlive = false
        resolve(signal)
      }
      child.once('exit', (_code, signal) => ended(signal)).once('error', () => ended(null))
    })
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Gives the chunks of the result; throws the refusal or the bug that ended it. */
  async *run(job: ReadJob): AsyncGenerator<Uint8Array, ReadOutcome, void> {
    this.#input.write(encodeFrame(FRAME.job, job))
    for (;;) {
      const frame = await this.#output.next()
      if (frame === undefined) throw await this.#gone()
      if (frame.kind === FRAME.chunk) yield frame.payload
      else if (frame.kind === FRAME.done) return decodePayload(frame.payload) as ReadOutcome
      else throw reviveFailure(decodePayload(frame.payload) as Failure)
    }
  }

  async write(job: WriteJob | ChangeJob): Promise<WriteReply | undefined> {
    this.#input.write(encodeFrame(FRAME.job, job))
    const frame = await this.#output.next()
    if (frame === undefined) throw await this.#gone()
    if (frame.kind !== FRAME.done) throw reviveFailure(decodePayload(frame.payload) as Failure)
    return decodePayload(frame.payload) as WriteReply | undefined
  }

  /** A process that runs out of its heap aborts. */
  async #gone(): Promise<Error> {
    const signal = await this.exited
    return signal === 'SIGABRT'
      ? refuse('Limit.Memory', 'The query needs more memory than one query may have')
      : new ReaderGone(`The process of the query was ended by ${signal}`)
  }

  /** A running statement cannot be interrupted from inside Node; the process can. */
  kill(): void {
    this.isAlive = false
    this.#process.kill('SIGKILL')
  }
}

/** The process ended under a job: it was killed, or died. */
export class ReaderGone extends Error {}
