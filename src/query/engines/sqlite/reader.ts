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
  /** What ended it: a signal, if one did, or that it could not be started. */
  readonly exited: Promise<NodeJS.Signals | Error | null>
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
    // Listened to before anything can throw: an error that nobody hears ends the server.
    this.exited = new Promise((resolve) => {
      const ended = (how: NodeJS.Signals | Error | null): void => {
        this.isAlive = false
        resolve(how)
      }
      child.once('exit', (_code, signal) => ended(signal)).once('error', ended)
    })
    // Where the server has no descriptor left there are no pipes either.
    if (!child.stdin || !child.stdout) throw noProcess()
    this.#process = child
    this.#input = child.stdin
    this.#output = new FrameReader(child.stdout)
    this.#input.on('error', () => this.kill())
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

  /** Its output has ended. A process that runs out of its heap aborts. */
  async #gone(): Promise<Error> {
    // One that lives on without an output would be waited for in vain.
    this.kill()
    const how = await this.exited
    if (how === 'SIGABRT') return refuse('Limit.Memory', 'The query needs more memory than one query may have')
    return how instanceof Error ? noProcess(how) : new ReaderGone(`The process of the query was ended by ${how}`)
  }

  /** A running statement cannot be interrupted from inside Node; the process can. */
  kill(): void {
    this.isAlive = false
    this.#process.kill('SIGKILL')
  }
}

/** The machine has no process, memory or descriptor to spare. */
function noProcess(cause?: Error): Error {
  return refuse('Limit.Overload', 'No process could be started for the query', {
    headers: { 'Retry-After': '1' },
    cause,
  })
}

/** The process ended under a job: it was killed, or died. */
export class ReaderGone extends Error {}
