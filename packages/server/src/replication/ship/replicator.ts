/** Replicates the databases of a data folder: looks at their logs, makes segments, stores them, and takes bases. */
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PageHash } from '../log/page-sums.ts'
import { takeRequest } from '../spool/requests.ts'
import type { ChainEnd, Spooled, SpoolState } from '../spool/state.ts'
import { writeStatus } from '../spool/status.ts'
import type { Target } from '../target/target.ts'
import { type BaseTaken, takeBase } from './base.ts'
import { describeError, type ReplicationLog } from './log.ts'
import { Segments } from './segments.ts'
import { Sender } from './sender.ts'
import { Source } from './source.ts'
import type { RunTask } from './tasks.ts'
import { keepUp, type UpkeepTiming } from './upkeep.ts'
import { Verification } from './verification.ts'

export interface ReplicatorOptions {
  readonly dataFolder: string
  readonly url: string
  readonly target: Target
  readonly key: Buffer
  readonly everyMs: number
  readonly fullMs: number
  readonly rate: number
  readonly spoolBytes: number
  /** Undefined where nothing is deleted. */
  readonly keepMs: number | undefined
  readonly timing: Partial<UpkeepTiming> | undefined
  readonly verifyMs: number
  readonly runTask: RunTask
  readonly log: ReplicationLog
}

/** While segments wait, others are not made more often: a slow target gets fewer and larger ones. */
const WAITING_SEGMENTS = 2
const LONGEST_WAIT_MS = 10_000
/** An orderly stop sends the rest within this time. */
const STOP_MS = 10_000
/** A generation that cannot go on is followed by another one, but not by many. */
const GENERATION_PAUSE_MS = 60_000
const BASE_PAUSE_MS = 60_000
/** A clock that is set back by less than this is waited for. */
const CLOCK_MS = 60_000
/** A disk that was full is tried again after this time. */
const RESUME_PAUSE_MS = 30_000
/** The same error is logged again after this time, and the same status written. */
const REPEAT_MS = 60_000
const STATUS_MS = 5_000

export class Replicator {
  readonly #options: ReplicatorOptions
  readonly #state: SpoolState
  readonly #source: Source
  readonly #segments: Segments
  readonly #sender: Sender
  readonly #stopping = new AbortController()
  #chain: ChainEnd | undefined
  readonly #fingerprint: string
  /** When the last segment was made. */
  #cutAt = Number.NEGATIVE_INFINITY
  #beganAt = Number.NEGATIVE_INFINITY
  /** Why the generation cannot go on. */
  #broken: string | undefined
  #hasGap = false
  #base: { readonly controller: AbortController; readonly done: Promise<void> } | undefined
  #upkeep: { readonly controller: AbortController; readonly done: Promise<void> } | undefined
  #nextBaseAt = Number.NEGATIVE_INFINITY
  #isBaseWanted = false
  /** Why the last base could not be taken. */
  #baseError: string | undefined
  readonly #verification: Verification
  #isVerificationWanted = false
  #interruptedSince: number | undefined
  #resumeAt = 0
  #waitingForStored: { readonly number: number; readonly resolve: () => void }[] = []
  #failure = { message: '', until: 0 }
  #status = { text: '', at: 0 }
  #loop: Promise<void> | undefined

  constructor(options: ReplicatorOptions, state: SpoolState) {
    this.#options = options
    this.#state = state
    this.#chain = state.chain
    this.#fingerprint = createHmac('sha256', options.key).update(options.url).digest('base64url')
    this.#source = new Source({
      dataFolder: options.dataFolder,
      spoolBytes: options.spoolBytes,
      hash: new PageHash(options.key, state.chain?.generation ?? ''),
      since: state.chain?.time ?? 0,
      loadSums: (database, sums) => state.loadSums(database, sums),
      onFull: () => this.#cut(false),
      onGap: () => {
        this.#hasGap = true
      },
    })
    this.#verification = new Verification({ ...options, state })
    this.#segments = new Segments(state, this.#source, options.key)
    this.#sender = new Sender({
      state,
      target: options.target,
      log: options.log,
      onStored: (object) => this.#stored(object),
      onBroken: (reason) => {
        this.#broken = reason
      },
    })
  }

  start(): void {
    this.#sender.start()
    this.#loop = this.#run()
  }

  /** Sends what is left, if that is possible soon. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    this.#base?.controller.abort()
    await this.#base?.done
    await this.#endUpkeep()
    await this.#verification.ended()
    try {
      this.#source.look()
      if (this.#source.changes.since !== undefined) this.#cut(this.#source.isComplete)
    } catch (error) {
      this.#options.log('error', 'the last changes could not be read', { err: describeError(error) })
    }
    await this.#sender.drain(STOP_MS)
    this.#writeStatus({ isStopped: true })
    await this.#sender.close()
    this.#source.close()
    this.#state.close()
    this.#options.target.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      let isBusy = false
      try {
        isBusy = this.#step()
      } catch (error) {
        this.#logFailure(error, 'the databases could not be replicated; trying again')
      }
      await sleep(isBusy ? 1 : this.#options.everyMs, undefined, { signal }).catch(() => {})
    }
  }

  #logFailure(error: unknown, what: string): void {
    const err = describeError(error)
    if (err.message === this.#failure.message && performance.now() < this.#failure.until) return
    this.#failure = { message: err.message, until: performance.now() + REPEAT_MS }
    this.#options.log('error', what, { err })
  }

  /** True if there is more to do at once. */
  #step(): boolean {
    this.#source.look()
    this.#beginIfNeeded()
    this.#dropOrResume()
    const hasRoom = this.#sender.bytes < this.#options.spoolBytes / 2
    const isComparing = !this.#isFirst && hasRoom && this.#source.compare()
    if (this.#isDue()) this.#cut(this.#source.isComplete)
    this.#source.restartLongLogs()
    this.#isBaseWanted ||= takeRequest(this.#state.folder, 'take')
    this.#isVerificationWanted ||= takeRequest(this.#state.folder, 'verify')
    this.#takeBaseIfDue()
    this.#keepUp()
    this.#verifyIfDue()
    this.#writeStatus()
    return isComparing
  }

  #keepUp(): void {
    if (this.#upkeep !== undefined || this.#isFirst || this.#chain === undefined || this.#broken !== undefined) return
    const { target, key, rate, keepMs, timing, log } = this.#options
    const controller = new AbortController()
    const options = {
      ...{ state: this.#state, generation: this.#chain.generation, target, key, rate, keepMs, timing },
      onBroken: (reason: string) => {
        this.#broken = reason
      },
      onError: (error: unknown) =>
        log('warn', 'segments could not be merged or deleted', { err: describeError(error) }),
    }
    this.#upkeep = { controller, done: keepUp(options, controller.signal) }
  }

  async #endUpkeep(): Promise<void> {
    const ended = this.#upkeep
    this.#upkeep = undefined
    ended?.controller.abort()
    await ended?.done
  }

  /** Whether the generation has no base yet. */
  get #isFirst(): boolean {
    return this.#state.base === undefined
  }

  #beginIfNeeded(): void {
    const reason = this.#chain === undefined ? 'the first' : (this.#broken ?? this.#otherTarget() ?? this.#otherTime())
    const isCut = this.#hasGap && this.#isFirst
    this.#hasGap = false
    if (reason === undefined) {
      if (!isCut) return
      // The base that was begun lacks what was not seen.
      this.#base?.controller.abort()
      this.#source.forget()
      return
    }
    if (this.#source.databases.length === 0 || performance.now() - this.#beganAt < GENERATION_PAUSE_MS) return
    this.#beganAt = performance.now()
    this.#base?.controller.abort()
    void this.#endUpkeep()
    this.#nextBaseAt = Number.NEGATIVE_INFINITY
    this.#segments.begin(reason)
    this.#state.put('target', this.#fingerprint)
    this.#chain = this.#state.chain
    this.#source.begin(new PageHash(this.#options.key, this.#chain?.generation ?? ''))
    this.#broken = undefined
    this.#sender.refresh()
    const level = reason === 'the first' ? 'info' : 'warn'
    this.#options.log(level, 'a generation of the backup begins', { generation: this.#chain?.generation, reason })
  }

  /** What is in another place, or sealed with another key, cannot be continued. */
  #otherTarget(): string | undefined {
    return this.#state.get('target') === this.#fingerprint ? undefined : 'backup_url or backup_key is another one'
  }

  /** Moments could not be told apart until the clock is again where it was. */
  #otherTime(): string | undefined {
    const isBack = this.#chain !== undefined && this.#chain.time - Date.now() > CLOCK_MS
    return isBack ? 'the clock was set back' : undefined
  }

  #isDue(): boolean {
    const { changes } = this.#source
    if (changes.since === undefined || this.#chain === undefined || this.#source.isDropping) return false
    return this.#sender.waiting.length < WAITING_SEGMENTS || performance.now() - this.#cutAt >= LONGEST_WAIT_MS
  }

  #cut(isComplete: boolean): void {
    if (this.#chain === undefined || this.#source.isDropping) return
    if (this.#sender.bytes + this.#source.changes.bytes > this.#options.spoolBytes) {
      this.#interrupt('the spool is full', 0)
      return
    }
    try {
      this.#chain = this.#segments.cut(this.#chain, isComplete)
      this.#cutAt = performance.now()
    } catch (error) {
      this.#interrupt(`the spool cannot be written: ${describeError(error).message}`, RESUME_PAUSE_MS)
    }
    this.#sender.refresh()
  }

  #interrupt(reason: string, pauseMs: number): void {
    const { dataFolder, log, runTask } = this.#options
    this.#source.drop()
    this.#resumeAt = performance.now() + pauseMs
    if (this.#interruptedSince !== undefined) return
    this.#interruptedSince = Date.now()
    log('error', 'changes are no longer kept for the backup', { reason })
    const event = { event: 'backup.interrupted', details: { reason } } as const
    // Where the disk is full, only the log says it.
    runTask({ kind: 'record', dataFolder, event }, this.#stopping.signal).catch(() => {})
  }

  /** Half of the spool is free again: what the copy lacks is found by comparing every page. */
  #dropOrResume(): void {
    if (!this.#source.isDropping || this.#sender.bytes > this.#options.spoolBytes / 2) return
    if (this.#sender.error !== undefined || performance.now() < this.#resumeAt) return
    this.#source.resume()
    // A base cannot be compared with a copy that has nothing.
    this.#hasGap ||= this.#isFirst
    this.#interruptedSince = undefined
    this.#options.log('info', 'changes are kept for the backup again')
  }

  #stored(object: Spooled): void {
    if (object.isComplete) this.#state.put('stored', object.time)
    const isReached = ({ number }: { number: number }) => number <= object.number
    for (const { resolve } of this.#waitingForStored.filter(isReached)) resolve()
    this.#waitingForStored = this.#waitingForStored.filter((one) => !isReached(one))
  }

  #takeBaseIfDue(): void {
    const taken = this.#state.base
    const isDue = taken === undefined || this.#isBaseWanted || Date.now() - taken.at >= this.#options.fullMs
    if (!isDue || this.#base !== undefined || this.#chain === undefined || performance.now() < this.#nextBaseAt) return
    if (!this.#source.isComplete || this.#broken !== undefined || this.#stopping.signal.aborted) return
    this.#isBaseWanted = false
    const controller = new AbortController()
    const done = this.#takeBase(this.#chain, taken === undefined, controller.signal)
      .catch((error) => {
        if (controller.signal.aborted) return
        this.#nextBaseAt = performance.now() + BASE_PAUSE_MS
        this.#baseError = describeError(error).message
        this.#options.log('error', 'no base could be taken; trying again', { err: describeError(error) })
      })
      .finally(() => {
        this.#base = undefined
      })
    this.#base = { controller, done }
  }

  async #takeBase(from: ChainEnd, isFirst: boolean, signal: AbortSignal): Promise<void> {
    const { dataFolder, target, key, rate, log } = this.#options
    const began = performance.now()
    const complete = () => this.#completeMoment(signal)
    const options = { dataFolder, source: this.#source, target, key, from, isFirst, rate, signal, complete }
    const taken: BaseTaken = await takeBase(options)
    signal.throwIfAborted()
    // The sums in the state are those of the last segment.
    if (this.#source.changes.since !== undefined) this.#cut(this.#source.isComplete)
    if (isFirst) for (const { followed, sums } of this.#source.databases) this.#state.storeAllSums(followed.name, sums)
    this.#state.stored.addBase(taken)
    this.#baseError = undefined
    this.#state.put('base', { at: Date.now(), moment: taken.moment, bytes: taken.bytes })
    const seconds = Math.round((performance.now() - began) / 1000)
    log('info', 'a base of the backup is stored', { ...taken, seconds })
    if (taken.corrected > 0)
      log('warn', 'pages of the copy were not as they should be; they were sent again', { ...taken })
  }

  #verifyIfDue(): void {
    if (this.#chain === undefined || this.#broken !== undefined) return
    const isStarted = this.#verification.startIfDue(
      this.#chain.generation,
      this.#isVerificationWanted,
      this.#stopping.signal,
    )
    if (isStarted) this.#isVerificationWanted = false
  }

  /** Resolves when a segment is stored that completes a moment after this call. */
  async #completeMoment(signal: AbortSignal) {
    for (;;) {
      signal.throwIfAborted()
      this.#source.look()
      if (this.#source.isComplete && this.#chain !== undefined) {
        const { moment } = this.#source
        this.#cut(true)
        const { number, hash } = this.#chain
        if (!this.#source.isDropping) {
          await this.#whenStored(number, signal)
          return { number, hash, time: moment }
        }
      }
      await sleep(this.#options.everyMs, undefined, { signal })
    }
  }

  async #whenStored(number: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waitingForStored.push({ number, resolve })
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    signal.throwIfAborted()
  }

  #writeStatus(further: { readonly isStopped?: boolean } = {}): void {
    const { target } = this.#options
    const [oldest] = this.#sender.waiting
    const { base, verified } = this.#state
    const status = {
      location: target.location,
      generation: this.#chain?.generation,
      moment: base === undefined ? undefined : (this.#state.get('stored') as number | undefined),
      behindSince: oldest?.since ?? this.#interruptedSince ?? this.#source.changes.since,
      spoolBytes: this.#sender.bytes,
      base,
      verified,
      error: this.#broken ?? this.#sender.error ?? this.#baseError,
      interruptedSince: this.#interruptedSince,
      ...further,
    }
    const text = JSON.stringify(status)
    if (text === this.#status.text && performance.now() - this.#status.at < STATUS_MS) return
    try {
      writeStatus(this.#state.folder, { at: this.#source.moment, ...status })
      this.#status = { text, at: performance.now() }
    } catch (error) {
      // Without room on the disk. Who reads the status sees that it is old.
      this.#logFailure(error, 'the status of the backup could not be written')
    }
  }
}
