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
import type { Column, Value } from '../text/rows.ts'

export interface LiveChanges {
  /** Undefined unless the result is whole. */
  readonly columns: readonly Column[] | undefined
  readonly put: readonly LiveRow[]
  readonly remove: readonly Json[]
  readonly position: string
  /** Of a whole result: which rows are as they were, and which are left out. */
  readonly licence: readonly LicenceLabel[]
  /** Of changes of delayed rows. */
  readonly asOf: string | undefined
}

export interface LiveRow {
  readonly key: Json
  readonly row: readonly Value[]
}

export interface LiveStatement {
  readonly statement: string
  readonly parameters: Readonly<Record<string, Json>>
}

const ENCODING = { rows: 'arrays', integers: 'strings' } as const
const MAX_RATE = 5

export function liveRequest(
  { statement, parameters }: LiveStatement,
  resume: string | undefined,
  call: Call,
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

/** Whole without `resume`, or if that is not known any more. Waits for a change until `until` resolves. */
export async function readLiveChanges(
  live: LiveQueries,
  statement: LiveStatement,
  resume: string | undefined,
  call: Call,
  until: Promise<unknown>,
  readFirst: ReadFirst,
): Promise<LiveChanges> {
  const collector = new Collector()
  let subscription: RunningSubscription | undefined
  try {
    const first = await readFirst(async (signal, onReading) => {
      const request = liveRequest(statement, resume, { ...call, signal })
      subscription = await live.subscribe({ ...request, onReading }, collector)
      const message = await collector.next(aborted(signal))
      if (message === undefined) throw refuse('Limit.Cancelled', 'The client closed the connection')
      return message
    })
    if (first.columns !== undefined || first.put.length + first.remove.length > 0) return first
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
  #columns: readonly Column[] | undefined
  #put: LiveRow[] = []
  #remove: Json[] = []
  #licence: readonly LicenceLabel[] = []
  readonly #whole: LiveChanges[] = []
  #error: Refusal | undefined
  #wake: (() => void) | undefined

  send({ kind, text, position }: LiveMessage): void {
    if (kind === 'Progress') return
    if (kind === 'Reset') {
      this.#clear()
      this.#whole.length = 0
      return
    }
    const message = readMessage(text)
    if (kind === 'Snapshot') this.#columns ??= message.columns
    if (message.licence.length > 0) this.#licence = message.licence
    this.#put.push(...message.put)
    this.#remove.push(...message.remove)
    if (position === undefined) return
    const [columns, put, remove] = [this.#columns, this.#put, this.#remove]
    this.#whole.push({ columns, put, remove, position, licence: this.#licence, asOf: message.asOf })
    this.#clear()
    this.#wake?.()
  }

  end(reason: Refusal): void {
    this.#error = reason
    this.#wake?.()
  }

  #clear(): void {
    this.#columns = undefined
    this.#put = []
    this.#remove = []
    this.#licence = []
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
export function isChange({ kind, text }: LiveMessage): boolean {
  if (kind !== 'Change') return kind === 'Snapshot'
  const { put, remove } = readMessage(text)
  return put.length + remove.length > 0
}
