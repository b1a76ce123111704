/** All live results of this node: shared by those who follow them, kept for a while for those who come back. */
import { TurnQueue } from '../../lib/turns.ts'
import type { LiveCounts } from './counts.ts'
import type { EvaluatorEnv } from './evaluator.ts'
import { Family } from './family.ts'
import { tooManyBytes } from './limits.ts'
import type { LiveMessage } from './live-query.ts'
import { LiveResult } from './live-result.ts'
import type { LiveReader } from './reader.ts'
import { evaluateWhole, Rerun, readState } from './rerun.ts'
import { TableWatches } from './table-watches.ts'
import type { LiveTarget } from './target.ts'
import { type SlowReader, UnsentMessages } from './unsent.ts'

interface Entry {
  readonly target: LiveTarget
  /** Those who follow the result or wait for it. */
  users: number
  /** Resolves when the result has been read, or brought up to date after nobody followed it. */
  ready: Promise<LiveResult>
  result: LiveResult | undefined
  /** Undefined while somebody follows the result. */
  idleSince: number | undefined
}

export interface ResultsEnv {
  readonly reader: LiveReader
  readonly counts: LiveCounts
  readonly onError: (error: unknown) => void
}

export class LiveResults {
  readonly #env: EvaluatorEnv
  readonly #entries = new Map<string, Entry>()
  /** Results that nobody follows; the one used longest ago is first. */
  readonly #idle = new Set<Entry>()
  readonly #families = new Map<string, Family>()
  readonly #reruns = new Map<LiveResult, Rerun>()
  readonly #sizes = new Map<LiveResult, number>()
  readonly #unsent = new UnsentMessages()
  /** Of the results. */
  #bytes = 0

  constructor({ reader, counts, onError }: ResultsEnv) {
    const watches = new TableWatches(reader.source, onError)
    const hasChanged = (result: LiveResult): void => this.#limitMemory(result)
    this.#env = { reader, counts, onError, watches, starts: new TurnQueue(), hasChanged }
  }

  get bytes(): number {
    return this.#bytes + this.#unsent.bytes
  }

  get rows(): number {
    let rows = 0
    for (const { result } of this.#entries.values()) rows += result?.rowCount ?? 0
    return rows
  }

  get families(): number {
    return this.#families.size
  }

  /** The result, up to date when it is new or was idle. Each call needs one of `release`. */
  async acquire(target: LiveTarget): Promise<LiveResult> {
    const entry = this.#entries.get(target.identity) ?? this.#create(target)
    if (entry.idleSince !== undefined && entry.result !== undefined) {
      entry.idleSince = undefined
      this.#idle.delete(entry)
      entry.ready = this.#wake(entry.result)
    }
    entry.users++
    try {
      const result = await entry.ready
      if (this.#entries.get(target.identity) !== entry) throw result.endedBy ?? tooManyBytes()
      return result
    } catch (error) {
      this.#drop(entry)
      throw error
    }
  }

  release(result: LiveResult): void {
    const entry = this.#entries.get(result.target.identity)
    // It may have been dropped, and another may have taken its place.
    if (entry?.result !== result) return
    entry.users--
    if (entry.users > 0) return
    this.#rest(result)
    const { method, readsSystemTables } = result.target
    if (method === 'clock' || readsSystemTables || result.endedBy !== undefined) this.#drop(entry)
    else {
      entry.idleSince = performance.now()
      this.#idle.add(entry)
      this.#limitMemory(result)
    }
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
    const ready = this.#load(target)
    const entry: Entry = { target, users: 0, ready, result: undefined, idleSince: undefined }
    this.#entries.set(target.identity, entry)
    return entry
  }

  async #load(target: LiveTarget): Promise<LiveResult> {
    const { next, positions } = await readState(target, this.#env.reader)
    const result = new LiveResult(target, next, positions)
    const entry = this.#entries.get(target.identity)
    if (entry === undefined) throw new Error('A live result was read after the service was closed')
    entry.result = result
    this.#count(result)
    this.#makeRoom()
    if (result.endedBy !== undefined) throw result.endedBy
    this.#tend(result)
    return result
  }

  /** Continues where the result was left. */
  async #wake(result: LiveResult): Promise<LiveResult> {
    const { reader } = this.#env
    const found = await reader.source.changedSince(result.positions)
    const isLost = [...found.values()].includes('lost')
    if (isLost) await evaluateWhole(result, reader, { startedAt: performance.now(), isLost })
    this.#tend(result)
    if (found.size > 0 && !isLost) await result.evaluator?.bringUpToDate()
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
    this.#idle.delete(entry)
    if (entry.result === undefined) return
    this.#rest(entry.result)
    this.#bytes -= this.#sizes.get(entry.result) ?? 0
    this.#sizes.delete(entry.result)
  }

  #count(result: LiveResult): void {
    if (result.endedBy !== undefined) return
    this.#bytes += result.bytes - (this.#sizes.get(result) ?? 0)
    this.#sizes.set(result, result.bytes)
  }

  #limitMemory(result: LiveResult): void {
    if (this.#entries.get(result.target.identity)?.result !== result) return
    this.#count(result)
    this.#makeRoom()
  }

  /** Messages that wait for a slow reader. */
  hold(messages: readonly LiveMessage[], reader: SlowReader): void {
    this.#unsent.add(messages, reader)
    this.#makeRoom()
  }

  letGo(messages: readonly LiveMessage[], reader: SlowReader): void {
    this.#unsent.remove(messages, reader)
  }

  /**
   * What is most easily missed goes first: results that nobody follows, what is kept for those who are behind, what slow readers
   * have not read. Only then statements end, those of the user whose results take the most.
   */
  #makeRoom(): void {
    const { bytes: limit } = this.#env.reader.limits
    if (this.bytes <= limit) return
    for (const entry of this.#idle) {
      if (this.bytes <= limit) return
      this.#drop(entry)
    }
    // More than is needed, so that not every change begins anew.
    for (const result of this.#sizes.keys()) {
      if (this.bytes <= 0.9 * limit) return
      result.shortenHistory()
      this.#count(result)
    }
    while (this.bytes > limit && this.#unsent.dropOldest());
    while (this.bytes > limit) {
      const result = this.#heaviest()
      if (result === undefined) return
      this.#bytes -= this.#sizes.get(result) ?? 0
      this.#sizes.delete(result)
      result.end(tooManyBytes())
    }
  }

  /** The largest result of the user whose results take the most. */
  #heaviest(): LiveResult | undefined {
    const owners = new Map<string, { bytes: number; largest: LiveResult }>()
    for (const [result, bytes] of this.#sizes) {
      const owner = owners.get(result.target.owner) ?? { bytes: 0, largest: result }
      owner.bytes += bytes
      if (bytes > (this.#sizes.get(owner.largest) ?? 0)) owner.largest = result
      owners.set(result.target.owner, owner)
    }
    return [...owners.values()].sort((a, b) => b.bytes - a.bytes)[0]?.largest
  }
}
