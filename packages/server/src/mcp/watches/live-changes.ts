/** What has changed in the result of a statement: a live query that is resumed, answers, and is left. */
import { randomUUID } from 'node:crypto'
import type { ParameterInput } from 'gatehouse-iql'
import type { Refusal, RunningSubscription, SubscriberSink } from 'gatehouse-protocol'
import { type Json, parseExactly, type RawNumber } from '../../lib/exact-json.ts'
import {
  type LicenceLabel,
  type LiveMessage,
  type LiveQueries,
  type LiveRequest,
  parameterInput,
  refuse,
} from '../../query/index.ts'
import type { Call } from '../protocol/features.ts'
import { type Budget, type ChangedRows, type Column, leastBytes, type Value } from '../text/rows.ts'

/** Of the rows and keys at least those that are shown. */
export interface LiveChanges extends ChangedRows {
  /** Undefined unless the result is whole. */
  readonly columns: readonly Column[] | undefined
  readonly put: readonly LiveRow[]
  readonly position: string
  /** Of a whole result: which rows are as they were, and which are left out. */
  readonly licence: readonly LicenceLabel[]
  /** Of changes of delayed rows. */
  readonly asOf: string | undefined
}

interface LiveRow {
  readonly key: Json
  readonly row: readonly Value[]
}

export interface LiveStatement {
  readonly statement: string
  readonly parameters: Readonly<Record<string, Json>>
}

/** How much is shown: rows of a whole result, or changes, and the bytes of either. */
interface LiveBudget extends Budget {
  readonly changes: number
}

/** Who reads. */
type Caller = Pick<Call, 'principal' | 'address' | 'signal'>

const ENCODING = { rows: 'arrays', integers: 'strings' } as const
const MAX_RATE = 5

export function liveRequest(
  { statement, parameters }: LiveStatement,
  resume: string | undefined,
  mostRows: number,
  call: Caller,
): LiveRequest {
  const values = new Map<string, ParameterInput>()
  for (const [name, value] of Object.entries(parameters)) values.set(name, parameterInput(value))
  const { principal, address, signal } = call
  const requestId = randomUUID()
  return {
    principal,
    statement,
    parameters: values,
    maxRate: MAX_RATE,
    resume,
    mostRows,
    encoding: ENCODING,
    connectionId: requestId,
    requestId,
    address,
    signal,
  }
}

/** The signal ends it; `onReading` is called when it no longer waits for a reader. */
export type FirstRead<Result> = (signal: AbortSignal, onReading?: () => void) => Promise<Result>
/** Runs the first read, in the caller's turn for example. */
export type ReadFirst = <Result>(read: FirstRead<Result>) => Promise<Result>

interface Reading {
  /** The position to go on from. */
  readonly resume: string | undefined
  readonly budget: LiveBudget
}

/** Whole without `resume`, or if that is not known any more. Waits for a change until `until` resolves. */
export async function readLiveChanges(
  live: Pick<LiveQueries, 'subscribe'>,
  statement: LiveStatement,
  { resume, budget }: Reading,
  call: Caller,
  until: Promise<unknown>,
  readFirst: ReadFirst,
): Promise<LiveChanges> {
  const collector = new Collector(budget)
  let subscription: RunningSubscription | undefined
  try {
    const first = await readFirst(async (signal, onReading) => {
      // With one row more than is shown, it is known that there are more.
      const request = liveRequest(statement, resume, budget.rows + 1, { ...call, signal })
      subscription = await live.subscribe({ ...request, onReading }, collector)
      const message = await collector.next(aborted(signal))
      if (message === undefined) throw refuse('Limit.Cancelled', 'The client closed the connection')
      return message
    })
    if (first.columns !== undefined || first.counts.put + first.counts.remove > 0) return first
    return (await collector.next(until)) ?? first
  } finally {
    subscription?.close()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Puts the pieces of a message together. */
class Collector implements SubscriberSink<LiveMessage> {
  readonly maySend = true
  readonly #budget: LiveBudget
  #pieces: Pieces
  readonly #whole: LiveChanges[] = []
  #error: Refusal | undefined
  #wake: (() => void) | undefined

  constructor(budget: LiveBudget) {
    this.#budget = budget
    this.#pieces = new Pieces(budget)
  }

  send(message: LiveMessage): void {
    const { kind, position } = message
    if (kind === 'Progress') return
    if (kind === 'Reset') {
      this.#pieces = new Pieces(this.#budget)
      this.#whole.length = 0
      return
    }
    this.#pieces.add(message)
    if (position === undefined) return
    this.#whole.push(this.#pieces.finish(position))
    this.#pieces = new Pieces(this.#budget)
    this.#wake?.()
  }

  end(reason: Refusal): void {
    this.#error = reason
    this.#wake?.()
  }

  /** The next message; undefined if none has come until then. */
  async next(until: Promise<unknown>): Promise<LiveChanges | undefined> {
    let isOver = false
    const over = until.then(() => {
      isOver = true
    })
    for (;;) {
      if (this.#error !== undefined) throw this.#error
      const message = this.#whole.shift()
      if (message !== undefined || isOver) return message
      await Promise.race([
        over,
        new Promise<void>((resolve) => {
          this.#wake = resolve
        }),
      ])
    }
  }
}

/** The pieces of one message. Those of which nothing is shown are counted, and not parsed: there may be a hundred thousand rows. */
class Pieces {
  #columns: readonly Column[] | undefined
  #licence: readonly LicenceLabel[] = []
  #asOf: string | undefined
  readonly #put: Shown<LiveRow>
  readonly #remove: Shown<Json>
  readonly #counts = { put: 0, remove: 0 }
  #isBegun = false

  constructor({ rows, changes, bytes }: LiveBudget) {
    this.#put = new Shown<LiveRow>(Math.max(rows + 1, changes), bytes, ({ row }) => row)
    this.#remove = new Shown<Json>(changes, bytes, (key) => [key])
  }

  add({ kind, text, put, removed }: LiveMessage): void {
    // What is said of all rows is in the first one.
    const isFirst = !this.#isBegun
    this.#isBegun = true
    this.#counts.put += put
    this.#counts.remove += removed
    if (!isFirst && !(put > 0 && this.#put.hasRoom) && !(removed > 0 && this.#remove.hasRoom)) return
    const message = readMessage(text)
    if (isFirst) {
      if (kind === 'Snapshot') this.#columns = message.columns
      this.#licence = message.licence
      this.#asOf = message.asOf
    }
    this.#put.add(message.put)
    this.#remove.add(message.remove)
  }

  finish(position: string): LiveChanges {
    const [put, remove] = [this.#put.items, this.#remove.items]
    const [columns, licence, asOf] = [this.#columns, this.#licence, this.#asOf]
    return { columns, put, remove, counts: this.#counts, position, licence, asOf }
  }
}

/** The first of many, as far as they can be shown. */
class Shown<Item> {
  readonly items: Item[] = []
  readonly #most: number
  readonly #valuesOf: (item: Item) => readonly Value[]
  #bytesLeft: number

  constructor(most: number, bytes: number, valuesOf: (item: Item) => readonly Value[]) {
    this.#most = most
    this.#bytesLeft = bytes
    this.#valuesOf = valuesOf
  }

  get hasRoom(): boolean {
    return this.items.length < this.#most && this.#bytesLeft > 0
  }

  add(items: readonly Item[]): void {
    for (const item of items) {
      if (!this.hasRoom) return
      this.items.push(item)
      for (const value of this.#valuesOf(item)) this.#bytesLeft -= leastBytes(value)
    }
  }
}

interface ReadMessage {
  readonly columns: readonly Column[] | undefined
  readonly put: readonly LiveRow[]
  readonly remove: readonly Json[]
  readonly licence: readonly LicenceLabel[]
  readonly asOf: string | undefined
}

function readMessage(text: string): ReadMessage {
  // Numbers in values of Json keep their digits.
  const {
    Columns,
    Put = [],
    Remove = [],
    Licence = [],
    AsOf,
  } = parseExactly(text) as unknown as {
    readonly Columns?: Readonly<Record<string, { readonly Type: string; readonly Ordinal: RawNumber }>>
    readonly Put?: readonly { readonly Key: Json; readonly Row: readonly Value[] }[]
    readonly Remove?: readonly Json[]
    readonly Licence?: readonly Json[]
    readonly AsOf?: string
  }
  // Names that are numbers come first in an object.
  const ordinal = ([, { Ordinal }]: [string, { readonly Ordinal: RawNumber }]) => Number(Ordinal.rawJSON)
  const columns =
    Columns &&
    Object.entries(Columns)
      .sort((one, other) => ordinal(one) - ordinal(other))
      .map(([name, { Type: type }]) => ({ name, type }))
  // Its numbers are small.
  const licence: readonly LicenceLabel[] = JSON.parse(JSON.stringify(Licence))
  return { columns, put: Put.map(({ Key: key, Row: row }) => ({ key, row })), remove: Remove, licence, asOf: AsOf }
}

/** Whether a message says that the result is another one. */
export function isChange({ kind, put, removed }: LiveMessage): boolean {
  return kind === 'Snapshot' || put + removed > 0
}
