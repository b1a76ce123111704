/** A live result: its rows, the recent changes to them, and the messages that lead subscribers from state to state. */

import type { Refusal } from 'gatehouse-protocol'
import { decrement, increment } from '../../../lib/counts.ts'
import { BACKGROUND, inTurns, type Steps } from '../../../lib/turns.ts'
import type { Positions } from '../../engines/live-source.ts'
import type { LiveMessage, ResetReason } from '../contract.ts'
import { newResultId, type PositionSeal } from '../position.ts'
import type { LiveTarget } from '../target.ts'
import { type ChangedRows, Changes, type LiveState, mergeChanges, updateRow, withRows } from './difference.ts'
import type { FormerKeys } from './former-keys.ts'
import { ResultHistory } from './history.ts'
import { changePieces, type LiveMessages, type PutEntry, progressMessage } from './messages.ts'
import { ROWS_PER_STEP } from './row-steps.ts'
import { SnapshotMessages } from './snapshot-messages.ts'

/** A subscriber of the result. Neither method throws, so that a fault of one does not affect the others. */
export interface Follower {
  resultChanged(): void
  end(reason: Refusal): void
}

/** Keeps a result up to date while it has followers. */
export interface ResultEvaluator {
  /** The changes per second that a follower wants. */
  addRate(rate: number): void
  removeRate(rate: number): void
  /** Resolves when the result is as new as this call. */
  bringUpToDate(): Promise<void>
  /** The last evaluation failed. */
  readonly isFailing: boolean
}

/** Why no changes lead to a state. */
export type VoidReason = Extract<ResetReason, 'Definition' | 'Lost'>

/** Messages that lead to a version. */
export interface Step {
  readonly version: number
  readonly messages: LiveMessages
  /** A Change without rows and keys. */
  readonly isEmpty: boolean
}

/** A step without the memory of its messages. */
interface KeptStep extends Omit<Step, 'messages'> {
  readonly messages: WeakRef<LiveMessages>
}

interface Applying {
  /** When the evaluation began, by the monotonic clock. */
  readonly at: number
  readonly asOf?: string | undefined
  readonly isWanted: () => boolean
}

/** Longer changes are applied to a copy of the rows, in several turns. */
const MAX_AT_ONCE = 1000
const MAX_LENGTH_AT_ONCE = 1024 * 1024
/** Followers between two pauses: each is sent a message, which takes some microseconds. */
const FOLLOWERS_PER_STEP = 16
/** A placeholder for a row that the client holds, but whose text is not known. No row has this text. */
const NOT_KNOWN = ''
/** The approximate memory of a result in addition to its rows and its SQL. */
const RESULT_BYTES = 4096

/** A sealed position is reused this long while the result does not change. */
const POSITION_MS = 1000

export class LiveResult {
  /** Unique among all results of all nodes: versions are counted by each result for itself. */
  readonly id = newResultId()
  readonly target: LiveTarget
  readonly followers = new Set<Follower>()
  /** Undefined while the result has no followers. */
  evaluator: ResultEvaluator | undefined
  #endedBy: Refusal | undefined
  #state: LiveState
  #positions: Positions
  #version = 1
  /** Earlier versions are void. */
  #generation = 1
  #voidBy: VoidReason = 'Definition'
  #changedAt = 0
  /** How many readers the rows of a state have. Rows that are being read are not changed: the next state has a copy. */
  readonly #reading = new Map<LiveState['rows'], number>()
  readonly #ownBytes: number
  readonly #history = new ResultHistory(1)
  readonly #seal: PositionSeal
  #position: string | undefined
  #sealedAt = 0
  #progress: LiveMessage | undefined
  /** As of when its delayed rows are, or a moment before. */
  #asOf: string | undefined
  /** By whether they answer a resume, and how many rows they have at most. */
  readonly #snapshots = new Map<string, SnapshotMessages>()
  /**
   * Steps to this version, by the version before and whether they answer a resume. They are kept while they are encoded; then the
   * subscribers that are being sent them keep them alive, and are charged for them.
   */
  readonly #steps = new Map<string, Promise<Step> | KeptStep>()

  constructor(target: LiveTarget, state: LiveState, positions: Positions, seal: PositionSeal, asOf?: string) {
    this.target = target
    this.#asOf = asOf
    this.#state = state
    this.#positions = positions
    this.#seal = seal
    this.#ownBytes = RESULT_BYTES + target.identity.length + target.columns.length + target.plan.emitted.sql.length
  }

  get state(): LiveState {
    return this.#state
  }

  get rowCount(): number {
    return this.#state.rows.size
  }

  get bytes(): number {
    return this.#ownBytes + this.#state.bytes + this.#history.bytes
  }

  /** Frees memory: subscribers that are behind, and clients that reconnect, may then need a snapshot. Returns the remaining bytes. */
  shortenHistory(kept: 'last' | 'none'): number {
    this.#history.shorten(kept)
    return this.bytes
  }

  get version(): number {
    return this.#version
  }

  /** When the evaluation that led to this version began, by the monotonic clock. */
  get changedAt(): number {
    return this.#changedAt
  }

  get positions(): Positions {
    return this.#positions
  }

  /** The position as clients hold it. It changes with the result and with time, but not because of rows that are not in it. */
  get position(): string {
    const now = performance.now()
    if (this.#position === undefined || now - this.#sealedAt >= POSITION_MS) {
      const position = { resultId: this.id, version: this.#version, tables: this.#positions }
      this.#position = this.#seal.write(position, this.target)
      this.#sealedAt = now
      this.#steps.clear()
      this.#snapshots.clear()
    }
    return this.#position
  }

  covers(version: number): boolean {
    return this.#history.covers(version)
  }

  /** Why a subscriber that has this version must be reset. */
  resetReason(version: number): ResetReason {
    return version < this.#generation ? this.#voidBy : 'Overflow'
  }

  /** The state is the same at these positions. */
  confirm(positions: Positions): void {
    this.#positions = positions
  }

  /** The next state. `changes` lead to it. */
  commit(next: LiveState, changes: Changes, positions: Positions, at: number, asOf?: string): void {
    this.confirm(positions)
    if (changes.size === 0) return
    this.#state = next
    this.#history.add(changes, { keys: next.rows.size, bytes: next.bytes })
    this.#advance(at, asOf)
  }

  /** Changes rows of a result without order, if the result still has users. Undefined: the row is removed. */
  *apply(
    rows: ReadonlyMap<string, string | undefined>,
    positions: Positions,
    { at, asOf, isWanted }: Applying,
  ): Steps<void> {
    if (this.#reading.has(this.#state.rows) || !isLittle(rows, this.#state)) {
      const { next, changes } = yield* withRows(this.#state, rows)
      if (isWanted()) this.commit(next, changes, positions, at, asOf)
      return
    }
    const changes = new Changes()
    const held = this.#state
    let { bytes } = held
    for (const [key, row] of rows) bytes += updateRow(held.rows, key, row, changes)
    this.commit({ ...held, bytes }, changes, positions, at, asOf)
  }

  /** A state that no changes lead to: a table was altered or truncated, its changes are not known, or the database has lost some. */
  replace(next: LiveState, positions: Positions, at: number, reason: VoidReason, asOf?: string): void {
    this.confirm(positions)
    this.#state = next
    this.#history.clear()
    this.#advance(at, asOf)
    this.#generation = this.#version
    this.#voidBy = reason
  }

  #advance(at: number, asOf: string | undefined): void {
    this.#version++
    this.#asOf = asOf
    this.#changedAt = at
    this.#position = undefined
    this.#steps.clear()
    this.#snapshots.clear()
  }

  /** The whole state, or its first rows. Subscribers that ask for the same at the same position share it. */
  snapshot(isAnswer: boolean, most?: number): Step {
    const { position } = this
    const mostRows = most !== undefined && most < this.rowCount ? most : undefined
    const key = `${isAnswer} ${mostRows}`
    const messages = this.#snapshots.get(key) ?? this.#newSnapshot(position, isAnswer, mostRows)
    this.#snapshots.set(key, messages)
    return { version: this.#version, messages, isEmpty: false }
  }

  #newSnapshot(position: string, isAnswer: boolean, mostRows: number | undefined): SnapshotMessages {
    const { method, plan, columns } = this.target
    const { rows } = this.#state
    return new SnapshotMessages(this.#state, {
      head: { method, keyNames: plan.keyNames, columns, licence: this.#describeLicence(), isAnswer },
      mostRows,
      position,
      open: () => increment(this.#reading, rows),
      close: () => decrement(this.#reading, rows),
      isCurrent: () => this.#state.rows === rows,
    })
  }

  #describeLicence(): string {
    const { labels } = this.target
    const asOf = this.#asOf === undefined ? {} : { AsOf: this.#asOf }
    if (labels.length === 0) return ''
    return JSON.stringify(labels.map((label) => (label.Access === 'delayed' ? { ...label, ...asOf } : label)))
  }

  /** Encodes a step once for all subscribers at the same version. A failure is not kept: the next call tries again. */
  #shared(key: string, encode: () => Step | Promise<Step>): Step | Promise<Step> {
    const known = this.#steps.get(key)
    if (known instanceof Promise) return known
    const messages = known?.messages.deref()
    if (known !== undefined && messages !== undefined) return { ...known, messages }
    const step = encode()
    const keep = (ready: Step): void => {
      this.#steps.set(key, { ...ready, messages: new WeakRef(ready.messages) })
    }
    if (!(step instanceof Promise)) {
      keep(step)
      return step
    }
    this.#steps.set(key, step)
    const isCurrent = (): boolean => this.#steps.get(key) === step
    step.then(
      (ready) => isCurrent() && keep(ready),
      () => isCurrent() && this.#steps.delete(key),
    )
    return step
  }

  /** What leads from a version that is covered to this one. */
  stepFrom(version: number, isRecovered: boolean): Step | Promise<Step> {
    return this.#shared(`${version} ${isRecovered}`, () => this.#encode(this.#history.since(version), isRecovered))
  }

  /**
   * What leads to this version from a position of another node. `former` has the keys that have changed since, up to `version` at
   * least. Undefined if it is not known what the client has.
   */
  stepFromKeys(
    former: FormerKeys,
    route: string | undefined,
    version: number,
  ): Step | Promise<Step | undefined> | undefined {
    if (!this.covers(version)) return undefined
    const { version: newest, position } = this
    const state = this.#state
    const later = this.#history.since(version)
    const asOf = this.#asOf
    function* encode(): Steps<Step | undefined> {
      const before = yield* heldBefore(former, route ?? '', state, later)
      return (
        before &&
        (yield* computeStep(state, [before, ...later], { version: newest, position, isRecovered: true, asOf }))
      )
    }
    return this.#whileReading(encode())
  }

  /** What leads to this version from another state: `changes` lead from there to `version`. */
  stepFromChanges(changes: Changes, version: number): Step | Promise<Step> | undefined {
    return this.covers(version) ? this.#encode([changes, ...this.#history.since(version)], true) : undefined
  }

  #encode(batches: readonly ChangedRows[], isRecovered: boolean): Step | Promise<Step> {
    const { version, position } = this
    return this.#whileReading(computeStep(this.#state, batches, { version, position, isRecovered, asOf: this.#asOf }))
  }

  /** The rows of this state are not changed until the work is done. */
  #whileReading<Result>(work: Steps<Result>): Result | Promise<Result> {
    const { rows } = this.#state
    const result = inTurns(work, BACKGROUND)
    if (!(result instanceof Promise)) return result
    increment(this.#reading, rows)
    return result.finally(() => decrement(this.#reading, rows))
  }

  progress(): LiveMessage {
    const { position } = this
    if (this.#progress?.position !== position) this.#progress = progressMessage(position, this.#asOf)
    return this.#progress
  }

  /** Notifies all followers of the new version. */
  *publish(): Steps<void> {
    let count = 0
    for (const follower of [...this.followers]) {
      follower.resultChanged()
      if (++count % FOLLOWERS_PER_STEP === 0) yield
    }
  }

  /** The result can no longer be kept up to date. */
  end(reason: Refusal): void {
    this.#endedBy = reason
    for (const follower of [...this.followers]) follower.end(reason)
  }

  get endedBy(): Refusal | undefined {
    return this.#endedBy
  }
}

/** Whether it takes little time to change these rows. */
function isLittle(changed: ChangedRows, { rows }: LiveState): boolean {
  if (changed.size > MAX_AT_ONCE) return false
  let length = 0
  for (const [key, text] of changed) length += (text?.length ?? 0) + (rows.get(key)?.length ?? 0)
  return length <= MAX_LENGTH_AT_ONCE
}

/**
 * The changed keys, each with what a client that comes back holds: a row that is not known, or none. `later` are the changes from a
 * version that `former` reaches on. Undefined if it is not known which rows it holds.
 */
function* heldBefore(
  { changed, held, unknown }: FormerKeys,
  route: string,
  { rows }: LiveState,
  later: readonly ChangedRows[],
): Steps<ChangedRows | undefined> {
  let count = 0
  for (const key of unknown) {
    if (count++ % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
    if (!rows.has(key)) return undefined
  }
  const before = new Map<string, string | undefined>()
  for (const key of held.get(route) ?? []) {
    if (count++ % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
    before.set(key, NOT_KNOWN)
  }
  // The client does not have the other keys, even if they have changed again since this version.
  const others = [rows.size < changed.size ? rows : changed, ...later]
  for (const batch of others) {
    for (const key of batch.keys()) {
      if (count++ % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
      if (!before.has(key) && changed.has(key)) before.set(key, undefined)
    }
  }
  return before
}

function* computeStep(
  { rows, order }: LiveState,
  batches: readonly ChangedRows[],
  {
    version,
    ...options
  }: {
    readonly version: number
    readonly position: string
    readonly isRecovered: boolean
    readonly asOf: string | undefined
  },
): Steps<Step> {
  const changes = yield* mergeChanges(batches)
  const put: PutEntry[] = []
  const removed: string[] = []
  let count = 0
  for (const [key, before] of changes) {
    if (count++ % ROWS_PER_STEP === 0) yield
    const row = rows.get(key)
    if (row === undefined) {
      if (before !== undefined) removed.push(key)
    } else if (order === undefined && row !== before) put.push({ key, row, index: undefined })
  }
  for (const [index, key] of order?.entries() ?? []) {
    if (count++ % ROWS_PER_STEP === 0) yield
    if (changes.has(key)) put.push({ key, row: rows.get(key) ?? '', index })
  }
  const messages = yield* changePieces(put, removed, options)
  return { version, messages, isEmpty: put.length === 0 && removed.length === 0 }
}
