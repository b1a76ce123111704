/** Live queries: a result that is kept up to date, over reconnects too. */
import { Emitter } from '../emitter.ts'
import { asObject, closedError } from '../errors.ts'
import { Queue } from '../iterate.ts'
import { type LicenceLabel, readLabels } from '../licence-labels.ts'
import type { CallOptions, Row } from '../query.ts'
import { type Part, type Statement, tagged } from '../statement.ts'
import type { Column, Values } from '../values.ts'
import { deferred } from '../wait.ts'
import type { Channel, Channels } from './channel.ts'

/** Options of a live query. */
export interface LiveOptions extends CallOptions {
  /** The most changes per second, from 1 to 50; 20 by default. */
  readonly maxRate?: number | undefined
}

/** What has happened since the change before. A slow reader gets several in one. */
export interface LiveChange<R> {
  /** Rows that are new or different. */
  readonly put: readonly R[]
  /** Removed rows: the same objects that were put. */
  readonly remove: readonly R[]
  /** For each row in `put` that was there: the row that it replaces. */
  readonly before: ReadonlyMap<R, R>
  /** The whole result was sent: `put` is all of it. */
  readonly snapshot: boolean
  /** Why the server sent the whole result again, if it did: `Rights`, `Definition`, `Lost`, `Expired` or `Overflow`. */
  readonly reason: string | undefined
  /** After a reconnect: true if all missed changes were sent, false if a new snapshot was. */
  readonly recovered: boolean | undefined
}

interface Entry {
  readonly Key: unknown
  readonly Row: Row
  readonly Index?: number
}

/** A message of docs/live.md. */
interface LiveMessage {
  readonly Kind?: 'Snapshot' | 'Change' | 'Progress' | 'Reset'
  readonly Method?: string
  readonly Columns?: unknown
  readonly Put?: readonly Entry[]
  readonly Remove?: readonly unknown[]
  readonly More?: boolean
  readonly Position?: string
  readonly Recovered?: boolean
  readonly Reason?: string
  readonly Licence?: unknown
  readonly AsOf?: string
}

/** Changes that wait for their reader, by key: the row as the reader last saw it, and as it is now. */
interface Waiting<R> {
  readonly before: Map<string, R | undefined>
  readonly put: Map<string, R>
  readonly snapshot: boolean
  readonly reason: string | undefined
  readonly recovered: boolean | undefined
}

/**
 * The result of a statement, kept up to date.
 *
 * @example
 * ```ts
 * const live = gate.live<Trade>`select * from trades where symbol = ${symbol}`
 * for await (const { put, remove } of live) draw(live.rows)
 *
 * // or with React:
 * const rows = useSyncExternalStore(live.subscribe, () => live.rows)
 * ```
 */
export class Live<R = Row> implements AsyncIterable<LiveChange<R>> {
  /** What ended it, if anything has. */
  error: unknown
  /** The columns, once the first result is here. */
  columns: readonly Column[] = []
  /** How the server keeps it up to date, once the first result is here: `keys`, `rerun` or `clock`. */
  method: string | undefined
  /** What is delayed, or left out; nothing: all rows are here, as they are now. */
  licences: readonly LicenceLabel[] = []
  /** The delayed rows are as of this time. */
  asOf: string | undefined
  readonly #channels: Channels
  readonly #values: Values
  readonly #channel: Channel
  readonly #signal: AbortSignal | undefined
  readonly #listeners = new Emitter<void>()
  readonly #queues = new Set<Queue<Waiting<R>>>()
  readonly #opened = deferred<this>()
  /** In the order of the result. */
  #held = new Map<string, R>()
  #rows: readonly R[] | undefined
  readonly #keys = new WeakMap<object, string>()
  #decode: ((row: Row) => void) | undefined
  #pieces: { put: Entry[]; remove: unknown[] } = { put: [], remove: [] }
  #position: string | undefined
  /** The next result is a whole one, for this reason if it is not the first. */
  #reset: { readonly reason?: string | undefined } | undefined
  #isReady = false

  constructor(channels: Channels, values: Values, statement: Statement, { maxRate, signal }: LiveOptions = {}) {
    const { text, parameters } = statement.compile()
    this.#channels = channels
    this.#values = values
    this.#signal = signal
    this.#channel = {
      controller: 'Query',
      topic: `Live/${++lastName}`,
      statement: text,
      data: () => ({ Statement: text, Parameters: parameters, MaxRate: maxRate, Resume: this.#position }),
      // The pieces of an incomplete message are sent again.
      onConfirmed: () => this.#clearPieces(),
      onData: (data) => {
        try {
          this.#take(asObject(data))
        } catch (error) {
          // A function of the option `values` has thrown.
          this.#end(error)
        }
      },
      // If the server no longer knows the position, the whole result follows.
      onRefused: ({ code, message }) => {
        const again = this.#position !== undefined && code === 'Data' && message.endsWith(' Resume')
        if (again) this.#position = undefined
        return again
      },
      onEnd: (error) => this.#end(error),
    }
    if (signal?.aborted) {
      this.#abort()
      return
    }
    signal?.addEventListener('abort', this.#abort, { once: true })
    channels.attach(this.#channel)
  }

  /** The current result, in the order of the statement. A new array after each change, the same until then. */
  get rows(): readonly R[] {
    this.#rows ??= [...this.#held.values()]
    return this.#rows
  }

  /** Identifies a row as long as it is in the result; the row that replaces it has the same value. */
  keyOf(row: R): string | undefined {
    return this.#keys.get(row as object)
  }

  /** Resolves when the first result is here; rejects when the statement is refused. */
  ready(): Promise<this> {
    return this.#opened.promise
  }

  /** Calls the listener after each change, and at the end. Returns a function that removes the listener. */
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.on(listener)

  /** Ends it here and on the server. `rows` stay as they are. */
  close(): void {
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#channels.detach(this.#channel)
    for (const queue of this.#queues) queue.end()
    this.#opened.reject(closedError('live query'))
  }

  /** Changes from now on; the first is the result as it is. Leaving the loop does not end the live query. */
  async *[Symbol.asyncIterator](): AsyncGenerator<LiveChange<R>, void, undefined> {
    const queue = new Queue<Waiting<R>>({ merge })
    this.#queues.add(queue)
    if (this.#isReady) queue.push(this.#all())
    if (this.error !== undefined) queue.end(this.error)
    try {
      for await (const { before, put, ...rest } of queue) {
        const remove: R[] = []
        const replaced = new Map<R, R>()
        for (const [key, row] of before) {
          const next = put.get(key)
          if (row === undefined) continue
          if (next === undefined) remove.push(row)
          else replaced.set(next, row)
        }
        yield { put: [...put.values()], remove, before: replaced, ...rest }
      }
    } finally {
      this.#queues.delete(queue)
    }
  }

  readonly #abort = (): void => this.#end(this.#signal?.reason)

  #end(error: unknown): void {
    this.#channels.detach(this.#channel)
    this.error = error
    this.#opened.reject(error)
    for (const queue of this.#queues) queue.end(error)
    this.#listeners.emit()
  }

  #clearPieces(): void {
    this.#pieces = { put: [], remove: [] }
  }

  #take(message: LiveMessage): void {
    const { Kind, Method, Columns, Put = [], Remove = [], More, Position, Recovered, Reason, AsOf } = message
    if (AsOf !== undefined) this.asOf = AsOf
    if (Kind === 'Reset') {
      // What is held is shown until the new result is complete.
      this.#reset = { reason: Reason }
      this.#position = undefined
      this.#clearPieces()
      return
    }
    if (Kind === 'Snapshot' && Columns !== undefined) {
      this.#reset ??= {}
      this.#clearPieces()
      this.method = Method
      this.licences = readLabels(message.Licence)
      this.asOf = this.licences.find(({ asOf }) => asOf)?.asOf
      this.columns = this.#values.columns(Columns)
      this.#decode = this.#values.decoder(this.columns)
    }
    this.#pieces.put.push(...Put)
    this.#pieces.remove.push(...Remove)
    if (More === true) return
    if (Position !== undefined) this.#position = Position
    if (Kind === 'Progress') return
    const { put, remove } = this.#pieces
    this.#clearPieces()
    if (this.#decode !== undefined) for (const { Row } of put) this.#decode(Row)
    this.#apply(put, remove, Recovered)
  }

  #apply(put: readonly Entry[], remove: readonly unknown[], recovered: boolean | undefined): void {
    const entries = put.map(({ Key, Row, Index }) => ({ key: keyText(Key), row: Row as R, index: Index }))
    for (const { key, row } of entries) this.#keys.set(row as object, key)
    const reset = this.#reset
    const snapshot = reset !== undefined
    const before = new Map<string, R | undefined>(snapshot ? this.#held : [])
    this.#reset = undefined
    if (snapshot) this.#held = new Map()
    for (const key of remove.map(keyText)) {
      before.set(key, this.#held.get(key))
      this.#held.delete(key)
    }
    for (const { key } of entries) if (!before.has(key)) before.set(key, this.#held.get(key))
    if (entries.some(({ index }) => index !== undefined)) this.#place(entries)
    else for (const { key, row } of entries) this.#held.set(key, row)
    this.#rows = undefined
    this.#isReady = true
    this.#opened.resolve(this)
    const change = {
      before,
      put: new Map(entries.map(({ key, row }) => [key, row])),
      snapshot,
      reason: reset?.reason,
      recovered,
    }
    if (before.size > 0 || snapshot || recovered !== undefined) {
      for (const queue of this.#queues) queue.push(change)
      this.#listeners.emit()
    }
  }

  /** With ORDER BY each entry has its place in the new result; the rows that stay fill the places between. */
  #place(entries: readonly { key: string; row: R; index: number | undefined }[]): void {
    for (const { key } of entries) this.#held.delete(key)
    const kept = this.#held.entries()
    const placed = new Map<string, R>()
    for (const { key, row, index = 0 } of [...entries].sort((a, b) => (a.index ?? 0) - (b.index ?? 0))) {
      while (placed.size < index) {
        const { value, done } = kept.next()
        if (done) break
        placed.set(...value)
      }
      placed.set(key, row)
    }
    for (const [key, row] of kept) placed.set(key, row)
    this.#held = placed
  }

  #all(): Waiting<R> {
    return {
      before: new Map([...this.#held.keys()].map((key) => [key, undefined])),
      put: new Map(this.#held),
      snapshot: true,
      reason: undefined,
      recovered: undefined,
    }
  }
}

/** Names tell the live statements of a connection apart. */
let lastName = 0

/** Merges two changes. For each key it keeps the earlier `before` and the later `put`. */
function merge<R>(waiting: Waiting<R>, next: Waiting<R>): Waiting<R> {
  const before = new Map([...next.before, ...waiting.before])
  const put = next.snapshot ? new Map<string, R>() : new Map(waiting.put)
  for (const key of next.before.keys()) put.delete(key)
  for (const [key, row] of next.put) put.set(key, row)
  return {
    before,
    put,
    snapshot: waiting.snapshot || next.snapshot,
    reason: next.reason ?? waiting.reason,
    recovered: next.recovered === false || waiting.recovered === false ? false : (next.recovered ?? waiting.recovered),
  }
}

/** A key may hold a bigint, which JSON does not know. */
function keyText(key: unknown): string {
  return JSON.stringify(key, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

/** `gate.live`: a tag for statements. */
export interface LiveTag {
  <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]): Live<R>
  <R = Row>(statement: Statement, options?: LiveOptions): Live<R>
  (options: LiveOptions): <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]) => Live<R>
}

/**
 * The tag `live` without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const http = new Http(url, { auth })
 * const live = createLive(new Stream(http), http.values)
 * const prices = live({ maxRate: 5 })`select symbol, price from prices`
 * ```
 */
export function createLive(channels: Channels, values: Values): LiveTag {
  return tagged<LiveOptions, Live>(
    (statement, options) => new Live(channels, values, statement, options),
    {},
  ) as LiveTag
}
