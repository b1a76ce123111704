/** All live results of this node: shared by their followers, and kept for a while after the last one has left. */
import { TurnQueue } from '../../lib/turns.ts'
import type { LiveRequest } from './contract.ts'
import type { LiveCounts } from './counts.ts'
import type { EvaluatorEnv } from './evaluate/evaluator.ts'
import { Family } from './evaluate/family.ts'
import type { LiveReader } from './evaluate/reader.ts'
import { evaluateWhole, findVoidReason, Rerun, readState } from './evaluate/rerun.ts'
import { TableWatches } from './evaluate/table-watches.ts'
import { shuttingDown, tooManyOwnBytes } from './limits.ts'
import type { PositionSeal } from './position.ts'
import { LiveResult } from './results/live-result.ts'
import { type Charge, MemoryBudget, type MemoryUser } from './results/memory-budget.ts'
import type { LiveTarget } from './target.ts'

interface Entry {
  readonly target: LiveTarget
  /** Its users are the followers of the result and the subscribers that wait for it. */
  readonly charge: Charge
  /** Resolves when the result has been read or, if it had no followers, brought up to date. */
  ready: Promise<LiveResult>
  result: LiveResult | undefined
  /** Aborts the reads of the result. */
  readonly reading: AbortController
  /** Resolves when it is being read for the first time. */
  readonly started: Promise<void>
  readonly onStart: () => void
  /** Undefined while the result has followers. */
  idleSince: number | undefined
}

export interface ResultsEnv {
  readonly reader: LiveReader
  readonly seal: PositionSeal
  readonly counts: LiveCounts
  readonly onError: (error: unknown) => void
}

export class ResultCache {
  readonly #env: EvaluatorEnv
  readonly #seal: PositionSeal
  readonly #entries = new Map<string, Entry>()
  /** Results without followers, least recently used first. */
  readonly #idle = new Set<Entry>()
  readonly #families = new Map<string, Family>()
  readonly #reruns = new Map<LiveResult, Rerun>()
  readonly budget: MemoryBudget

  constructor({ reader, seal, counts, onError }: ResultsEnv) {
    this.#seal = seal
    const watches = new TableWatches(reader.source, onError)
    const hasChanged = (result: LiveResult): void => this.#findEntry(result)?.charge.resize(result.bytes)
    this.#env = { reader, counts, onError, watches, starts: new TurnQueue(), hasChanged }
    this.budget = new MemoryBudget({ limits: reader.limits, dropIdle: () => this.#dropIdle() })
  }

  get rows(): number {
    let rows = 0
    for (const { result } of this.#entries.values()) rows += result?.rowCount ?? 0
    return rows
  }

  get families(): number {
    return this.#families.size
  }

  /**
   * The result, up to date when it is new or was idle. Each call needs one of `release`, unless the signal is aborted before. A user
   * waits for one result at a time.
   */
  async acquire(
    target: LiveTarget,
    user: MemoryUser,
    { signal, onReading }: Pick<LiveRequest, 'signal' | 'onReading'> = {},
  ): Promise<LiveResult> {
    signal?.throwIfAborted()
    const entry = this.#entries.get(target.identity) ?? this.#create(target)
    if (onReading !== undefined) void entry.started.then(onReading)
    if (entry.idleSince !== undefined && entry.result !== undefined) {
      entry.idleSince = undefined
      this.#idle.delete(entry)
      entry.ready = this.#wake(entry, entry.result)
    }
    // From now on the owner is charged for a part of the memory, and the memory budget may end this user.
    entry.charge.add(user)
    const left = Promise.withResolvers<never>()
    const leave = (): void => {
      this.#leave(entry, user)
      left.reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave)
    let result: LiveResult
    try {
      result = await Promise.race([entry.ready, left.promise])
    } catch (error) {
      // Others may wait for it.
      signal?.throwIfAborted()
      this.#drop(entry)
      throw error
    } finally {
      signal?.removeEventListener('abort', leave)
    }
    signal?.throwIfAborted()
    if (entry.charge.has(user)) return result
    throw result.endedBy ?? tooManyOwnBytes()
  }

  /** Stops waiting for a result. If no one else waits, its read is stopped. */
  #leave(entry: Entry, user: MemoryUser): void {
    if (entry.result !== undefined) this.release(entry.result, user)
    else if (entry.charge.delete(user) && entry.charge.size === 0) this.#drop(entry)
  }

  release(result: LiveResult, user: MemoryUser): void {
    const entry = this.#findEntry(result)
    if (entry === undefined) return
    entry.charge.delete(user)
    if (entry.charge.size > 0) return
    this.#rest(result)
    const { method, readsSystemTables } = result.target
    if (method === 'clock' || readsSystemTables || result.endedBy !== undefined) this.#drop(entry)
    else {
      entry.idleSince = performance.now()
      this.#idle.add(entry)
      entry.charge.resize(result.bytes)
    }
  }

  /** Undefined if the result was dropped; another may have taken its place. */
  #findEntry(result: LiveResult): Entry | undefined {
    const entry = this.#entries.get(result.target.identity)
    return entry?.result === result ? entry : undefined
  }

  /** System tables show the catalogue. */
  catalogueChanged(): void {
    for (const [{ target }, rerun] of this.#reruns) if (target.readsSystemTables) rerun.markDirty(performance.now())
  }

  dropExpired(): void {
    const before = performance.now() - this.#env.reader.limits.keepMs
    for (const entry of this.#idle) if ((entry.idleSince ?? 0) < before) this.#drop(entry)
  }

  close(): void {
    for (const entry of [...this.#entries.values()]) this.#drop(entry)
    this.#env.watches.close()
  }

  #create(target: LiveTarget): Entry {
    const { promise: ready, resolve } = Promise.withResolvers<LiveResult>()
    const { promise: started, resolve: onStart } = Promise.withResolvers<void>()
    const charge = this.budget.chargeFor({
      shorten: (kept) => entry.result?.shortenHistory(kept) ?? 0,
      drop: () => this.#drop(entry),
    })
    const entry: Entry = {
      target,
      charge,
      ready,
      result: undefined,
      reading: new AbortController(),
      started,
      onStart,
      idleSince: undefined,
    }
    this.#entries.set(target.identity, entry)
    resolve(this.#load(entry))
    return entry
  }

  async #load(entry: Entry): Promise<LiveResult> {
    const { target, charge, reading, onStart } = entry
    const { next, positions, asOf } = await readState(target, this.#env.reader, { signal: reading.signal, onStart })
    const result = new LiveResult(target, next, positions, this.#seal, asOf)
    // Dropped while it was read: the service has closed, or all waiting subscribers have left.
    if (this.#entries.get(target.identity) !== entry) throw shuttingDown()
    entry.result = result
    charge.resize(result.bytes)
    // It takes too much memory, so all users who waited for it were ended.
    if (charge.size === 0) throw tooManyOwnBytes()
    this.#tend(result)
    return result
  }

  /** Brings an idle result up to date and follows it again. */
  async #wake(entry: Entry, result: LiveResult): Promise<LiveResult> {
    const { reader } = this.#env
    const found = await reader.source.changedSince(result.positions)
    const voidBy = findVoidReason(found)
    if (voidBy !== undefined)
      await evaluateWhole(result, reader, { startedAt: performance.now(), voidBy, signal: entry.reading.signal })
    // Dropped in the meantime: it used too much memory, and its statements were ended.
    if (this.#entries.get(result.target.identity) !== entry) throw tooManyOwnBytes()
    this.#tend(result)
    if (found.size > 0 && voidBy === undefined) await result.evaluator?.bringUpToDate()
    return result
  }

  /** Keeps the result up to date from now on. */
  #tend(result: LiveResult): void {
    const { family: target } = result.target
    if (target === undefined) {
      const rerun = new Rerun(result, this.#env)
      this.#reruns.set(result, rerun)
      result.evaluator = rerun
      rerun.join()
    } else {
      const family = this.#families.get(target.identity) ?? new Family(target, this.#env)
      this.#families.set(target.identity, family)
      result.evaluator = family
      family.join(result)
    }
  }

  #rest(result: LiveResult): void {
    if (result.evaluator === undefined) return
    result.evaluator = undefined
    this.#reruns.get(result)?.leave()
    this.#reruns.delete(result)
    const { family: target } = result.target
    const family = target === undefined ? undefined : this.#families.get(target.identity)
    if (target === undefined || family === undefined) return
    family.leave(result)
    if (family.size === 0) this.#families.delete(target.identity)
  }

  #drop(entry: Entry): void {
    if (this.#entries.get(entry.target.identity) !== entry) return
    this.#entries.delete(entry.target.identity)
    entry.reading.abort(shuttingDown())
    this.#idle.delete(entry)
    this.budget.remove(entry.charge)
    if (entry.result !== undefined) this.#rest(entry.result)
  }

  #dropIdle(): boolean {
    for (const entry of this.#idle) {
      this.#drop(entry)
      return true
    }
    return false
  }
}
