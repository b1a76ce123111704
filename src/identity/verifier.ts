/** Checks RS256 signatures beside the event loop: a few on the thread pool, a crowd in a thread of its own, many to a message. */
import { type KeyObject, verify } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { partsOf } from './jwt.ts'

export interface Verifier {
  /** Whether that key has signed this token, a compact JWS whose shape is known to be good. */
  verify(token: string, key: KeyObject): Promise<boolean>
  /** Ends the thread, if there is one; what it has not answered the pool does. */
  close(): Promise<void>
}

export interface VerifierOptions {
  readonly onError: (error: unknown) => void
  readonly program?: URL
  /** So many checks under one key in one turn of the event loop are a crowd. */
  readonly crowd?: number
  /** The most checks that the thread is given before it has answered: what comes on top goes to the pool. */
  readonly mostSent?: number
  readonly idleMs?: number
}

interface Check {
  readonly token: string
  readonly key: KeyObject
  readonly resolve: (isGood: boolean) => void
  readonly reject: (error: Error) => void
}

/** What a message costs is shared by its checks; the thread should begin before the turn that sends more of them is over. */
const BATCH = 16
const PROGRAM = new URL('./verifier-thread.ts', import.meta.url)
/** It works with the texts of one message at a time. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 }

export function createVerifier(options: VerifierOptions): Verifier {
  const { onError, program = PROGRAM, crowd = 4, mostSent = 1_024, idleMs = 10_000 } = options
  let waiting: Check[] = []
  let isScheduled = false
  let thread: Thread | undefined
  /** A thread that broke is not replaced: whatever broke it could break the next one, and the pool will do. */
  let mayStart = true

  return {
    verify(token, key) {
      return new Promise((resolve, reject) => {
        waiting.push({ token, key, resolve, reject })
        if (waiting.length >= BATCH) assign()
        else if (!isScheduled) {
          isScheduled = true
          setImmediate(endTurn)
        }
      })
    },
    async close() {
      mayStart = false
      await thread?.end()
    },
  }

  function endTurn(): void {
    isScheduled = false
    assign()
  }

  function assign(): void {
    const checks = waiting
    waiting = []
    for (const [key, group] of Map.groupBy(checks, (check) => check.key)) {
      if (group.length < crowd || !isTaken(key, group)) for (const check of group) checkOnPool(check)
    }
  }

  /** While the thread starts, the pool goes on. */
  function isTaken(key: KeyObject, checks: readonly Check[]): boolean {
    if (thread === undefined && mayStart) thread = new Thread(program, idleMs, leave)
    return thread?.isReady === true && thread.sent + checks.length <= mostSent && thread.take(key, checks)
  }

  function leave(unanswered: readonly Check[], error: unknown): void {
    thread = undefined
    if (error !== undefined) {
      mayStart = false
      onError(error)
    }
    for (const check of unanswered) checkOnPool(check)
  }
}

type Leave = (unanswered: readonly Check[], error: unknown) => void

/** Lives while there are crowds, and does not keep the process alive. */
class Thread {
  isReady = false
  /** How many checks are not yet answered. */
  sent = 0
  readonly #worker: Worker
  readonly #idle: NodeJS.Timeout
  #batches: (readonly Check[])[] = []
  /** The key that the thread has: it takes no key by name, so it can never use another than was meant. */
  #key: KeyObject | undefined
  #error: unknown
  #isEnding = false

  constructor(program: URL, idleMs: number, leave: Leave) {
    this.#worker = new Worker(program, { env: {}, resourceLimits: THREAD_LIMITS })
    this.#worker.unref()
    this.#worker.once('message', () => {
      this.isReady = true
      this.#worker.on('message', (verdicts: unknown) => this.#answer(String(verdicts)))
    })
    this.#worker.on('error', (error) => {
      this.#error = error
    })
    this.#worker.on('exit', (code) => {
      clearTimeout(this.#idle)
      const broke = this.#isEnding ? undefined : (this.#error ?? new Error(`The verifying thread ended with ${code}`))
      leave(this.#batches.flat(), broke)
    })
    this.#idle = setTimeout(() => this.end(), idleMs)
    this.#idle.unref()
  }

  /** False when it takes nothing any more. */
  take(key: KeyObject, checks: readonly Check[]): boolean {
    if (this.#isEnding || this.#error !== undefined) return false
    if (key !== this.#key) this.#worker.postMessage(key)
    this.#key = key
    this.#worker.postMessage(checks.map(({ token }) => token).join(' '))
    this.#batches.push(checks)
    this.sent += checks.length
    this.#idle.refresh()
    return true
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await this.#worker.terminate()
  }

  /** Messages are answered in their order, each by one letter for each token. */
  #answer(verdicts: string): void {
    const checks = this.#batches.shift() ?? []
    this.sent -= checks.length
    for (const [at, check] of checks.entries()) check.resolve(verdicts[at] === 'y')
  }
}

function checkOnPool({ token, key, resolve, reject }: Check): void {
  const { signed, signature } = partsOf(token)
  verify('sha256', signed, key, signature, (error, isGood) => (error === null ? resolve(isGood) : reject(error)))
}
