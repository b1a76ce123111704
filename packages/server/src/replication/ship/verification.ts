/** Restores the last moment from time to time, in a process of its own beside the spool, and checks it. */
import type { SpoolState } from '../spool/state.ts'
import type { ReplicationLog } from './log.ts'
import type { RunTask } from './tasks.ts'

export interface VerificationOptions {
  readonly dataFolder: string
  readonly url: string
  readonly key: Buffer
  readonly verifyMs: number
  readonly state: SpoolState
  readonly runTask: RunTask
  readonly log: ReplicationLog
}

/** The first base is verified after this time, and a verification that failed is repeated after it. */
const SOON_MS = 3_600_000

export class Verification {
  readonly #options: VerificationOptions
  #running: Promise<void> | undefined
  #notBefore = 0

  constructor(options: VerificationOptions) {
    this.#options = options
  }

  /** Starts one if it is time, or wanted. False if none could be started now. */
  startIfDue(generation: string, isWanted: boolean, signal: AbortSignal): boolean {
    const { state, verifyMs } = this.#options
    const { base, verified } = state
    if (base === undefined || this.#running !== undefined) return false
    const due = verified === undefined ? base.at + Math.min(verifyMs, SOON_MS) : verified.at + verifyMs
    if (!isWanted && Date.now() < Math.max(due, this.#notBefore)) return false
    this.#notBefore = Date.now() + SOON_MS
    this.#running = this.#run(generation, signal).finally(() => {
      this.#running = undefined
    })
    return true
  }

  async ended(): Promise<void> {
    await this.#running
  }

  async #run(generation: string, signal: AbortSignal): Promise<void> {
    const { dataFolder, url, key, state, log, runTask } = this.#options
    const task = { kind: 'verify', dataFolder, url, key: key.toString('base64'), generation } as const
    const { moment, error } = await runTask(task, signal).catch((reason: unknown) => ({
      moment: undefined,
      error: String(reason),
    }))
    if (signal.aborted) return
    if (moment === undefined) {
      log('error', 'the backup could not be restored to check it', { reason: error })
      return
    }
    state.put('verified', { at: Date.now(), moment })
    log('info', 'the backup was restored and checked', { moment: new Date(moment).toISOString() })
  }
}
