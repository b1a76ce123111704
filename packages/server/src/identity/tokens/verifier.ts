/**
 * Verifies signatures: a few at a time on the event loop, many at once in batches on a worker thread. One takes 40 µs;
 * to hand it to Node's thread pool takes the event loop as long, and twice the processor time (bench `stream-connects`).
 * With the thread 26,400 new tokens a second are accepted on open connections, 17,600 without it (bench `stream-signins`, an idle machine).
 */
import type { KeyObject } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { isSigned, type SignatureAlg } from '../../lib/signature-algs.ts'
import { splitJws } from './jwt.ts'

/** A public key with the one algorithm that it is used with. */
export interface VerificationKey {
  readonly key: KeyObject
  readonly alg: SignatureAlg
}

export interface Verifier<Key = VerificationKey> {
  /** Whether the key signed this token, which must be a well-formed compact JWS. */
  verify(token: string, key: Key): Promise<boolean>
  /** Ends the worker, if there is one; what it has not answered is done here. */
  close(): Promise<void>
}

export interface VerifierOptions {
  readonly onError: (error: unknown) => void
  readonly program?: URL
  /** With this many checks under one key in one turn of the event loop, the worker takes them. */
  readonly workerThreshold?: number
  /** The worker takes no more unanswered checks than this; the rest is done here. */
  readonly maxPending?: number
  readonly idleMs?: number
}

/** What is verified, and by which program in the worker. */
export interface Verification<Key> {
  readonly program: URL
  readonly isSigned: (token: string, key: Key) => boolean
  /** What the worker is sent before the tokens that need it; undefined if it finds the key in the token. */
  readonly sentKey: (key: Key) => object | undefined
}

interface Check<Key> {
  readonly token: string
  readonly key: Key
  readonly resolve: (isValid: boolean) => void
  readonly reject: (error: unknown) => void
}

/** The checks of a batch share the cost of a message. Smaller than a busy turn, so that the worker starts before the turn ends. */
const BATCH_SIZE = 16
/** Tokens of this server: the worker is sent the key, which is the same for most of them. */
const OWN_TOKENS: Verification<VerificationKey> = {
  program: new URL('./verifier-thread.ts', import.meta.url),
  isSigned(token, { alg, key }) {
    const { input, signature } = splitJws(token)
    return isSigned(alg, key, input, signature)
  },
  sentKey: (key) => key,
}
/** The worker holds the text of one message at a time. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 }

export function createVerifier(options: VerifierOptions): Verifier<VerificationKey> {
  return createBatchVerifier(OWN_TOKENS, options)
}

export function createBatchVerifier<Key>(verification: Verification<Key>, options: VerifierOptions): Verifier<Key> {
  const { program = verification.program, onError, workerThreshold = BATCH_SIZE } = options
  const { maxPending = 1_024, idleMs = 10_000 } = options
  let waiting: Check<Key>[] = []
  let isScheduled = false
  let thread: VerifierThread<Key> | undefined
  /** A worker that crashed is not replaced: the cause could crash the next one too. */
  let mayStart = true

  return {
    verify(token, key) {
      return new Promise((resolve, reject) => {
        waiting.push({ token, key, resolve, reject })
        if (waiting.length >= BATCH_SIZE) dispatch()
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
    dispatch()
  }

  function dispatch(): void {
    const checks = waiting
    waiting = []
    if (checks.length < workerThreshold) {
      for (const check of checks) checkHere(check)
      return
    }
    for (const [key, group] of Map.groupBy(checks, (check) => verification.sentKey(check.key))) {
      if (group.length < workerThreshold || !sendToThread(key, group)) for (const check of group) checkHere(check)
    }
  }

  /** False while the worker starts or is full. */
  function sendToThread(key: object | undefined, checks: readonly Check<Key>[]): boolean {
    if (thread === undefined && mayStart) thread = new VerifierThread(program, idleMs, onExit)
    return thread?.isReady === true && thread.pending + checks.length <= maxPending && thread.send(key, checks)
  }

  function checkHere({ token, key, resolve, reject }: Check<Key>): void {
    try {
      resolve(verification.isSigned(token, key))
    } catch (error) {
      reject(error)
    }
  }

  function onExit(unanswered: readonly Check<Key>[], error: unknown): void {
    thread = undefined
    if (error !== undefined) {
      mayStart = false
      onError(error)
    }
    for (const check of unanswered) checkHere(check)
  }
}

type OnExit<Key> = (unanswered: readonly Check<Key>[], error: unknown) => void

/** Ends after some time without work, and does not keep the process alive. */
class VerifierThread<Key> {
  isReady = false
  /** How many checks are not answered yet. */
  pending = 0
  readonly #worker: Worker
  readonly #idle: NodeJS.Timeout
  #batches: (readonly Check<Key>[])[] = []
  /** The key that the worker has. It takes no key by name, so it cannot use a wrong one. */
  #key: object | undefined
  #error: unknown
  #isEnding = false

  constructor(program: URL, idleMs: number, onExit: OnExit<Key>) {
    this.#worker = new Worker(program, { env: {}, resourceLimits: RESOURCE_LIMITS })
    this.#worker.unref()
    this.#worker.once('message', () => {
      this.isReady = true
      this.#worker.on('message', (results: unknown) => this.#answer(String(results)))
    })
    this.#worker.on('error', (error) => {
      this.#error = error
    })
    this.#worker.on('exit', (code) => {
      clearTimeout(this.#idle)
      const error = this.#isEnding
        ? undefined
        : (this.#error ?? new Error(`The verifier thread exited with code ${code}`))
      onExit(this.#batches.flat(), error)
    })
    this.#idle = setTimeout(() => this.end(), idleMs)
    this.#idle.unref()
  }

  /** False when the worker is ending or has failed. */
  send(key: object | undefined, checks: readonly Check<Key>[]): boolean {
    if (this.#isEnding || this.#error !== undefined) return false
    if (key !== undefined && key !== this.#key) this.#worker.postMessage(key)
    this.#key = key
    this.#worker.postMessage(checks.map(({ token }) => token).join(' '))
    this.#batches.push(checks)
    this.pending += checks.length
    this.#idle.refresh()
    return true
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await this.#worker.terminate()
  }

  /** Batches are answered in order, with one letter for each token. */
  #answer(results: string): void {
    const checks = this.#batches.shift() ?? []
    this.pending -= checks.length
    for (const [index, check] of checks.entries()) check.resolve(results[index] === 'y')
  }
}
