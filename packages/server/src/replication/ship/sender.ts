/** Stores what is spooled, in its order: an object is sent when the one before is stored. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FORKED } from '../objects/heads.ts'
import { hashObject } from '../objects/seal.ts'
import type { Spooled, SpoolState } from '../spool/state.ts'
import type { Target } from '../target/target.ts'
import type { ReplicationLog } from './log.ts'

export interface SenderOptions {
  readonly state: SpoolState
  readonly target: Target
  readonly log: ReplicationLog
  onStored(object: Spooled): void
  /** The target has something else under this name, or the object is lost: this generation cannot go on. */
  onBroken(reason: string): void
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 15_000
/** For an object. */
const PUT_MS = 60_000
/** One attempt may fail by chance; then the log says so, once until it succeeds. */
const FAILURES_LOGGED = 3

export class Sender {
  readonly #options: SenderOptions
  readonly #stop = new AbortController()
  #queue: Spooled[]
  #wake: () => void = () => {}
  #running: Promise<void> | undefined
  /** Incremented when what is in the queue no longer counts. */
  #round = 0
  #error: string | undefined
  #isBroken = false

  constructor(options: SenderOptions) {
    this.#options = options
    this.#queue = [...options.state.spooled()]
  }

  get waiting(): readonly Spooled[] {
    return this.#queue
  }

  get bytes(): number {
    return this.#queue.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Why nothing is stored at present. */
  get error(): string | undefined {
    return this.#error
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Something was spooled, or everything was dropped. */
  refresh(): void {
    const queue = this.#options.state.spooled()
    if (queue[0]?.name !== this.#queue[0]?.name) {
      this.#round++
      this.#isBroken = false
    }
    this.#queue = [...queue]
    this.#wake()
  }

  /** Resolves when nothing waits, or the time is over. */
  async drain(milliseconds: number): Promise<void> {
    const end = performance.now() + milliseconds
    while (this.#queue.length > 0 && performance.now() < end) await sleep(10)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { log } = this.#options
    for (let failures = 0, since = 0; !this.#stop.signal.aborted; ) {
      const next = this.#queue[0]
      if (next === undefined || this.#isBroken) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        continue
      }
      const round = this.#round
      try {
        await this.#send(next, round)
        if (failures >= FAILURES_LOGGED)
          log('info', 'the target of the backup takes changes again', {
            seconds: Math.round((Date.now() - since) / 1000),
          })
        failures = 0
        this.#error = undefined
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#error = error instanceof Error ? error.message : String(error)
        if (failures === 0) since = Date.now()
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** failures++, LONGEST_PAUSE_MS)
        if (failures === FAILURES_LOGGED)
          log('warn', 'changes wait in the data folder: the target of the backup does not take them', {
            reason: this.#error,
          })
        await sleep(pause, undefined, { signal: this.#stop.signal }).catch(() => {})
      }
    }
  }

  async #send(object: Spooled, round: number): Promise<void> {
    const { state, target, onStored } = this.#options
    const sealed = state.read(object)
    if (sealed === undefined) {
      this.#break('a spooled object is lost')
      return
    }
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(PUT_MS)])
    const isNew = await target.put(object.name, sealed, signal)
    // An attempt before may have stored it without a reply.
    const isOurs = isNew || (await this.#isStored(object))
    if (round !== this.#round) return
    if (!isOurs) {
      this.#break(FORKED)
      return
    }
    state.remove(object)
    this.#queue.shift()
    onStored(object)
  }

  #break(reason: string): void {
    this.#isBroken = true
    this.#options.onBroken(reason)
  }

  async #isStored({ name, hash }: Spooled): Promise<boolean> {
    const stored = await this.#options.target.get(name, this.#stop.signal)
    return stored !== undefined && hashObject(stored) === hash
  }
}
