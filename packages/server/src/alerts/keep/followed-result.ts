/** The result of an alert's statement as its owner may read it: described, followed, and tried again when it ends. */
import { randomUUID } from 'node:crypto'
import { type Principal, Refusal, type RunningSubscription } from 'gatehouse-protocol'
import type { LiveDescription, LiveQueries } from '../../query/index.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import { readInputs } from './alert-program.ts'
import { type ResultChange, ResultSink } from './result-sink.ts'

export interface FollowedResultEnv {
  readonly live: Pick<LiveQueries, 'describe' | 'subscribe'>
  /** It is about to be followed. Throws if it cannot be; returns the position to go on from. */
  readonly onDescribed: (description: LiveDescription) => string | undefined
  /** Rights or columns have changed: what is known of it is void. */
  readonly onReset: (reason: 'Rights' | 'Definition') => void
  /** As it is read now. The changes that waited for that follow. */
  readonly onDescribedAgain: (description: LiveDescription) => void
  readonly onChange: (change: ResultChange) => void
  /** It cannot be followed now. */
  readonly onFailure: (error: unknown) => void
}

/** As the console and streams have it, so that they share results. */
const ENCODING = { rows: 'objects', integers: 'numbers' } as const
const MAX_RATE = 4
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1_000, 60_000]

export class FollowedResult {
  readonly #alert: Alert
  readonly #env: FollowedResultEnv
  #principal: Principal | undefined
  #subscription: RunningSubscription | undefined
  /** The attempt to follow it that counts; others are void. */
  #following: symbol | undefined
  /** How often rights or columns have changed. */
  #resets = 0
  /** How often they had when it was described last. */
  #describedAt = 0
  /** Changes that wait for another description. */
  #held: ResultChange[] | undefined
  #retryMs = FIRST_RETRY_MS
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(alert: Alert, env: FollowedResultEnv) {
    this.#alert = alert
    this.#env = env
  }

  /** Who reads it, from the next attempt on. */
  setPrincipal(principal: Principal): void {
    this.#principal = principal
  }

  /** Goes on with the rights of the principal, or begins. */
  follow(): void {
    const principal = this.#principal
    if (principal === undefined) return
    if (this.#subscription !== undefined) this.#subscription.setPrincipal(principal)
    else {
      this.#retryMs = FIRST_RETRY_MS
      this.#open(principal)
    }
  }

  /** What it is now; undefined as long as nobody reads it. */
  async describe(): Promise<LiveDescription | undefined> {
    const principal = this.#principal
    return principal === undefined ? undefined : this.#env.live.describe(this.#request(principal))
  }

  leave(): void {
    this.#following = undefined
    this.#held = undefined
    clearTimeout(this.#timer)
    this.#subscription?.close()
    this.#subscription = undefined
  }

  /** After a failure. */
  tryAgain(): void {
    const principal = this.#principal
    if (principal === undefined || this.#isClosed) return
    this.#timer = setTimeout(() => this.#open(principal), this.#retryMs).unref()
    this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS)
  }

  close(): void {
    this.#isClosed = true
    this.leave()
  }

  #open(principal: Principal): void {
    const following = Symbol('following')
    this.#following = following
    clearTimeout(this.#timer)
    this.#principal = principal
    this.#follow(principal, following).catch((error: unknown) => this.#fail(error, following))
  }

  #fail(error: unknown, following: symbol | undefined): void {
    if (this.#following === following) this.#env.onFailure(error)
  }

  async #follow(principal: Principal, following: symbol): Promise<void> {
    const request = this.#request(principal)
    const description = await this.#env.live.describe(request)
    if (this.#following !== following) return
    const resume = this.#env.onDescribed(description)
    // It may be read with other rights than it was described with, without a reset: that is known when it is described again.
    this.#held = []
    const subscription = await this.#env.live.subscribe(
      {
        ...request,
        maxRate: MAX_RATE,
        resume,
        connectionId: `alert ${this.#alert.id}`,
        requestId: randomUUID(),
        address: '',
      },
      this.#sink(following),
    )
    if (this.#following !== following) {
      subscription.close()
      return
    }
    this.#subscription = subscription
    await this.#describeAgain()
  }

  #request(principal: Principal) {
    const { definition } = this.#alert
    const { statement } = definition
    return { principal, statement, parameters: readInputs(definition), encoding: ENCODING, kind: 'alert' } as const
  }

  #sink(following: symbol): ResultSink {
    return new ResultSink({
      changed: (change) => {
        if (this.#following === following) this.#changed(change)
      },
      reset: (reason) => {
        if (this.#following !== following || !isOther(reason)) return
        this.#resets++
        // What came before is void.
        if (this.#held !== undefined) this.#held = []
        this.#env.onReset(reason)
      },
      ended: (reason) => this.#fail(reason, following),
    })
  }

  /** With other rights or columns it is described anew first, and what follows waits for that. */
  #changed(change: ResultChange): void {
    if (this.#held !== undefined) this.#held.push(change)
    else if (this.#describedAt === this.#resets) this.#accept(change)
    else {
      const following = this.#following
      this.#held = [change]
      this.#describeAgain().catch((error: unknown) => this.#fail(error, following))
    }
  }

  /** Again, if rights or columns change meanwhile. */
  async #describeAgain(): Promise<void> {
    const [following, resets] = [this.#following, this.#resets]
    const description = await this.describe()
    if (this.#following !== following || description === undefined) return
    if (this.#resets !== resets) return this.#describeAgain()
    this.#describedAt = resets
    this.#env.onDescribedAgain(description)
    const held = this.#held ?? []
    this.#held = undefined
    for (const change of held) if (this.#following === following) this.#accept(change)
  }

  #accept(change: ResultChange): void {
    const following = this.#following
    this.#env.onChange(change)
    if (this.#following === following) this.#retryMs = FIRST_RETRY_MS
  }
}

function isOther(reset: string | undefined): reset is 'Rights' | 'Definition' {
  return reset === 'Rights' || reset === 'Definition'
}

/** Whether the reader lacks a right. */
export function isLostRight(error: unknown): boolean {
  return error instanceof Refusal && RIGHTS.has(error.code)
}

/** Whether it passes by itself. */
export function isPassing(error: unknown): boolean {
  return error instanceof Refusal && PASSING.has(error.code)
}

/** Whether a materialized view has not all its rows. */
export function isUnready(error: unknown): boolean {
  return error instanceof Refusal && UNREADY.has(error.code)
}

const RIGHTS: ReadonlySet<string> = new Set([
  'Alert.NotAllowed',
  'Auth.MissingScope',
  'Auth.StepUp',
  'Auth.UserNeeded',
  'Licence.Displaced',
  'Licence.Needed',
  'Licence.Places',
])
const PASSING: ReadonlySet<string> = new Set([
  'Data.Unavailable',
  'Licence.NotReady',
  'Licence.Unavailable',
  'Limit.Overload',
  'Limit.Cancelled',
])
const UNREADY: ReadonlySet<string> = new Set(['Data.Building', 'Data.ViewFailed'])
