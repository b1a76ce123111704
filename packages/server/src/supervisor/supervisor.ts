/** Keeps the workers of `serve --workers N` running: starts, restarts, replaces and stops them. */
import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileName, type SettingName } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import { takeOver } from '../config/reload.ts'
import { quietTurn } from '../lib/quiet-turn.ts'
import { nodeName } from '../store/cluster/nodes.ts'
import { changeLevel, type Logger } from '../telemetry/log.ts'
import { Exchange } from './exchange.ts'
import { Liveness } from './liveness.ts'
import type { StartOrder } from './messages.ts'
import { withPorts } from './settings.ts'
import { describeEnd, type Ended, StartRefused, WorkerProcess } from './worker-process.ts'

export interface SupervisorOptions {
  /** The program of a worker. */
  readonly program: string
  readonly settings: LoadedConfig
  readonly logger: Logger
}

/** The pause before a worker is restarted. It doubles each time that a worker ends soon after its start. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
const SOON_MS = 10_000
/** After this number of failures in a row the supervisor gives up, if no worker is left. */
const MOST_FAILURES = 5

export class Supervisor {
  readonly #logger: Logger
  readonly #given: LoadedConfig
  #settings: LoadedConfig
  readonly #liveness = new Liveness((worker) => this.#killHung(worker))
  readonly #exchange = new Exchange((worker) => this.#liveness.receivedSign(worker))
  /** Every process that has not ended. */
  readonly #all = new Set<WorkerProcess>()
  /** The worker that serves under each number. */
  readonly #current = new Map<number, WorkerProcess>()
  readonly #failures = new Map<number, number>()
  /** The node names of workers that ended unexpectedly, by number. */
  readonly #lastNames = new Map<number, string>()
  readonly #failed = Promise.withResolvers<never>()
  readonly #stopping = new AbortController()
  #reloading: Promise<void> = Promise.resolve()

  constructor({ program, settings, logger }: SupervisorOptions) {
    this.#given = settings
    this.#settings = settings
    this.#logger = logger
    // The supervisor accepts connections and hands them out in turn. If the workers accepted them, the kernel would favour a few.
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ exec: program, args: [] })
    this.#liveness.setTimeout(settings.config.workerTimeout)
    this.#failed.promise.catch(() => {})
  }

  /** Rejects when no worker is left and none can be started. */
  get failed(): Promise<never> {
    return this.#failed.promise
  }

  /** Resolves when all workers answer. Rejects with StartRefused if the first is refused: nothing has changed then. */
  async start(): Promise<void> {
    this.#settings = await withPorts(this.#given)
    await this.#startWorker(1, { isFirst: true, appliesFile: true })
    const { workers } = this.#settings.config
    const others = Array.from({ length: workers - 1 }, (_, index) => this.#keepAlive(index + 2))
    await Promise.all(others)
    if (!this.#stopping.signal.aborted) this.#logger.info({ workers }, 'all workers have started')
  }

  /** Replaces the workers one after another by new ones, which have the settings that are loaded now. */
  reload(load: () => Promise<LoadedConfig>): Promise<void> {
    this.#reloading = this.#reloading
      .then(() => this.#reload(load))
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return
        const reason = error instanceof StartRefused ? { reason: error.message } : { err: error }
        this.#logger.error(reason, 'settings could not be reloaded; the previous settings stay in effect')
      })
    return this.#reloading
  }

  /** Resolves when all workers have ended: true if each did so cleanly. */
  async stop(): Promise<boolean> {
    this.#stopping.abort()
    const workers = [...this.#all]
    const ends = workers.map((worker) => worker.stop(false))
    await this.#closePorts(workers)
    return (await Promise.all(ends)).every(({ code }) => code === 0)
  }

  /** Waits until all workers are ready for it and no connection waits to be handed out. */
  async #closePorts(workers: readonly WorkerProcess[]): Promise<void> {
    await Promise.all(workers.map(({ closing }) => closing))
    let handed = 0
    await quietTurn(() => {
      const before = handed
      handed = workers.reduce((sum, { connections }) => sum + connections.count, 0)
      // Waiting connections go to a worker that has confirmed all its connections.
      return (
        handed !== before || !workers.some(({ state, connections }) => state !== 'ended' && connections.areConfirmed)
      )
    })
    for (const { connections } of workers) connections.closePorts()
    for (const worker of workers) worker.send({ kind: 'ports closed' })
  }

  async #reload(load: () => Promise<LoadedConfig>): Promise<void> {
    const before = this.#settings
    const { settings, waiting } = takeOver(['always', 'workers'], this.#given, await load(), before)
    this.#settings = settings
    const numbers = [...this.#current.keys()].toSorted((a, b) => a - b)
    for (const [index, number] of numbers.entries()) {
      const old = this.#current.get(number)
      try {
        await this.#startWorker(number, { appliesFile: index === 0 })
      } catch (error) {
        // The first has started with the new settings, so they are not why a later one fails.
        if (index === 0) this.#settings = before
        throw error
      }
      if (index === 0) this.#reportReload(waiting)
      await old?.stop(true)
    }
    this.#logger.info({ workers: numbers.length }, 'all workers have been replaced')
  }

  #reportReload(waiting: readonly SettingName[]): void {
    const { logLevel, workerTimeout } = this.#settings.config
    this.#liveness.setTimeout(workerTimeout)
    changeLevel(this.#logger, logLevel, () => {
      this.#logger.info('settings and certificates reloaded')
      if (waiting.length > 0)
        this.#logger.warn({ settings: waiting.map(fileName) }, 'some changed settings need a restart')
    })
  }

  /** Resolves when the worker answers; from then on it is restarted when it ends. */
  async #startWorker(number: number, order: Partial<StartOrder> = {}): Promise<void> {
    this.#stopping.signal.throwIfAborted()
    const { texts, sources } = this.#settings
    const opensPortLast = this.#current.size > 0
    const predecessor = this.#lastNames.get(number)
    const worker = new WorkerProcess({
      ...{ number, texts, sources, isFirst: false, appliesFile: false, opensPortLast, predecessor },
      proofsSince: this.#exchange.proofsSince,
      ...order,
    })
    this.#all.add(worker)
    this.#exchange.add(worker)
    this.#liveness.add(worker)
    // If only this worker stops, the others keep the ports.
    void worker.closing.then(() => this.#stopping.signal.aborted || worker.send({ kind: 'ports closed' }))
    const since = performance.now()
    void worker.ended.then((end) => {
      this.#all.delete(worker)
      if (this.#current.get(number) === worker) this.#lost(worker, end, performance.now() - since)
    })
    await worker.started
    this.#current.set(number, worker)
  }

  #killHung(worker: WorkerProcess): void {
    const { number, pid, state } = worker
    this.#logger.error({ worker: number, pid, state }, 'killing a worker that does not respond')
    worker.kill()
  }

  #lost({ number, pid }: WorkerProcess, end: Ended, livedMs: number): void {
    this.#current.delete(number)
    this.#lastNames.set(number, nodeName(pid))
    if (this.#stopping.signal.aborted) return
    this.#logger.error({ worker: number, pid, ...end }, `a worker ended (${describeEnd(end)}); starting another one`)
    if (livedMs > SOON_MS) this.#failures.delete(number)
    else this.#countFailure(number, new StartRefused(`A worker ended soon after its start (${describeEnd(end)}).`))
    void this.#keepAlive(number)
  }

  /** Starts a worker; tries again until one answers. */
  async #keepAlive(number: number): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && !this.#current.has(number)) {
      const failures = this.#failures.get(number) ?? 0
      const pause = failures === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
      await sleep(pause, undefined, { signal }).catch(() => {})
      try {
        // A reload may have started one in the meantime.
        if (!this.#current.has(number)) await this.#startWorker(number)
      } catch (error) {
        if (signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        this.#logger.error({ worker: number, reason }, 'a worker could not be started; trying again')
        this.#countFailure(number, error)
      }
    }
  }

  /** If other workers answer, the server continues without the missing one. */
  #countFailure(number: number, error: unknown): void {
    const failures = (this.#failures.get(number) ?? 0) + 1
    this.#failures.set(number, failures)
    if (failures >= MOST_FAILURES && this.#current.size === 0) this.#failed.reject(error)
  }
}
