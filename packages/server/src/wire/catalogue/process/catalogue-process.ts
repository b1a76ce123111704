/** The server's side of a process of the catalogue: one statement at a time, bounded in time and memory. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import { decodePayload, encodeFrame, FRAME, PipeReader } from '../../../child-process/frames.ts'
import { residentKib, withLimits } from '../../../child-process/limits.ts'
import { programFile } from '../../../child-process/program.ts'
import { CatalogueError } from '../catalogue-error.ts'
import type { VisibleTable } from '../database/objects.ts'
import {
  type CatalogueFailure,
  type CatalogueJob,
  type RowChunk,
  reviveFailure,
  type StatementJob,
  type StatementReply,
} from './jobs.ts'

const PROGRAM = new URL('./catalogue-process-main.ts', import.meta.url)

/** For one statement, once the process has started. */
const STATEMENT_MS = 5000
const START_MS = 30_000
const MAX_RESIDENT_KIB = 256 * 1024
const CHECK_MS = 50
/** Databases in one process: one for each version of the catalogue and set of scopes. */
const MAX_DATABASES = 4

export interface ProcessSettings {
  readonly version: string
  readonly startedAt: number
  /** For the compile cache, with which a process starts in a quarter of the time. */
  readonly dataFolder: string
  /** Of tests; 5 seconds otherwise. */
  readonly statementMilliseconds?: number
}

export class CatalogueProcess {
  readonly #process: ChildProcess
  readonly #input: Writable
  readonly #output: PipeReader
  readonly exited: Promise<void>
  /** The keys of its databases; the last one was used last. */
  readonly #databases = new Set<string>()
  readonly #statementMs: number
  #isReady = false
  isAlive = true
  /** Why it was killed, if a limit was the reason. */
  #excess: CatalogueError | undefined

  constructor({ version, startedAt, dataFolder, statementMilliseconds = STATEMENT_MS }: ProcessSettings) {
    this.#statementMs = statementMilliseconds
    // The server's environment, and with it every secret, is withheld.
    const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(dataFolder, 'cache') }
    const args = [
      '--max-old-space-size=160',
      '--max-semi-space-size=4',
      programFile(PROGRAM),
      version,
      String(startedAt),
    ]
    const child = spawn(...withLimits(process.execPath, args), {
      stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
      env,
      // A signal to the group of the server, as from a terminal, must not end a statement.
      detached: true,
    })
    this.exited = new Promise((resolve) => {
      const ended = (): void => {
        this.isAlive = false
        resolve()
      }
      child.once('exit', ended).once('error', ended)
    })
    // There are no pipes when the server has run out of descriptors.
    if (!child.stdin || !child.stdout) throw cannotStart()
    this.#process = child
    this.#input = child.stdin
    this.#output = new PipeReader(child.stdout)
    this.#input.on('error', () => this.kill())
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** `tables` is read if the process has no such database yet. Throws the signal's reason if it aborts the statement. */
  async run(
    job: StatementJob,
    tables: () => Iterable<readonly VisibleTable[]>,
    signal: AbortSignal,
  ): Promise<StatementReply & { readonly rows: RowChunk }> {
    signal.throwIfAborted()
    const stop = (): void => this.kill()
    signal.addEventListener('abort', stop, { once: true })
    let limits = this.#startDeadline(START_MS)
    try {
      // While the process starts, on another processor. A failure is thrown below, or that of the start is.
      const provided = this.#provide(job.key, tables)
      provided.catch(() => {})
      await this.#started()
      clearInterval(limits)
      limits = this.#watch()
      await provided
      await this.#send(job)
      return await this.#reply()
    } catch (error) {
      throw this.#excess ?? (signal.aborted ? signal.reason : error)
    } finally {
      clearInterval(limits)
      signal.removeEventListener('abort', stop)
    }
  }

  /** A running statement cannot be interrupted from within Node, but its process can be killed. */
  kill(): void {
    this.isAlive = false
    this.#process.kill('SIGKILL')
  }

  async #started(): Promise<void> {
    if (this.#isReady) return
    const frame = await this.#output.next()
    if (frame?.kind !== FRAME.ready) throw await this.#gone()
    this.#isReady = true
  }

  /** In parts, so that a large catalogue does not block the event loop. */
  async #provide(key: string, tables: () => Iterable<readonly VisibleTable[]>): Promise<void> {
    if (!this.#databases.delete(key)) {
      const [oldest] = this.#databases
      if (oldest !== undefined && this.#databases.size >= MAX_DATABASES) {
        this.#databases.delete(oldest)
        await this.#send({ kind: 'drop', key: oldest })
      }
      for (const part of tables()) {
        await this.#send({ kind: 'tables', key, tables: JSON.stringify(part) })
        await immediate()
      }
    }
    this.#databases.add(key)
  }

  async #send(job: CatalogueJob): Promise<void> {
    if (!this.isAlive) throw await this.#gone()
    if (this.#input.write(encodeFrame(FRAME.job, job))) return
    await Promise.race([once(this.#input, 'drain'), this.exited])
  }

  async #reply(): Promise<StatementReply & { readonly rows: RowChunk }> {
    const rows: (readonly (string | null)[])[] = []
    for (;;) {
      const frame = await this.#output.next()
      if (frame === undefined) throw await this.#gone()
      if (frame.kind === FRAME.chunk) {
        for (const row of decodePayload(frame.payload) as RowChunk) rows.push(row)
        // Several frames may have arrived at once.
        await immediate()
      } else if (frame.kind === FRAME.done) return { ...(decodePayload(frame.payload) as StatementReply), rows }
      else throw reviveFailure(decodePayload(frame.payload) as CatalogueFailure)
    }
  }

  #startDeadline(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#exceed(cannotStart()), milliseconds)
  }

  /** Its time everywhere, its memory on Linux. */
  #watch(): NodeJS.Timeout {
    const end = performance.now() + this.#statementMs
    return setInterval(async () => {
      if (performance.now() > end)
        return this.#exceed(
          new CatalogueError(
            'cancelled',
            `The statement on the catalogue took longer than ${this.#statementMs / 1000} seconds`,
          ),
        )
      const { pid } = this.#process
      if (process.platform !== 'linux' || pid === undefined) return
      if ((await residentKib(pid)) > MAX_RESIDENT_KIB) this.#exceed(tooMuchMemory())
    }, CHECK_MS)
  }

  #exceed(error: CatalogueError): void {
    this.#excess ??= error
    this.kill()
  }

  async #gone(): Promise<Error> {
    // A process without an output may still be running.
    this.kill()
    await this.exited
    const { signalCode } = this.#process
    // A process that exceeds its heap, or gets no memory for it, aborts.
    if (signalCode === 'SIGABRT' || signalCode === 'SIGTRAP') return tooMuchMemory()
    return this.#excess ?? cannotStart()
  }
}

function tooMuchMemory(): CatalogueError {
  return new CatalogueError('outOfMemory', 'The statement on the catalogue needs too much memory')
}

function cannotStart(): CatalogueError {
  return new CatalogueError('unavailable', 'The process of the catalogue could not be started, or has ended; try again')
}
