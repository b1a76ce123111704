/** Reads the messages of a live statement: pieces are put together, and rows parsed. */
import type { Refusal, SubscriberSink } from 'gatehouse-protocol'
import { type Json, parseExactly, parseJson } from '../../lib/exact-json.ts'
import type { LiveMessage } from '../../query/index.ts'

export interface ResultChange {
  /** Whether `put` are all rows. */
  readonly isWhole: boolean
  /** Why the rows of before are void; of a whole result only. */
  readonly reset: string | undefined
  readonly put: readonly ResultRow[]
  /** The JSON texts of keys. */
  readonly removed: readonly string[]
  readonly position: string
  /** A time as of which rows are that the caller sees with a delay. */
  readonly asOf: string | undefined
}

export interface ResultRow {
  /** The JSON text of the key. */
  readonly key: string
  readonly row: { readonly [column: string]: Json }
}

export interface ResultListener {
  changed(change: ResultChange): void
  /** The rows of before are void. A whole result follows. */
  reset(reason: string | undefined): void
  ended(reason: Refusal): void
}

export class ResultSink implements SubscriberSink<LiveMessage> {
  readonly maySend = true
  readonly #listener: ResultListener
  #isWhole = false
  #reset: string | undefined
  #put: ResultRow[] = []
  #removed: string[] = []
  #asOf: string | undefined

  constructor(listener: ResultListener) {
    this.#listener = listener
  }

  send({ kind, text, position }: LiveMessage): void {
    if (kind === 'Progress') return
    const message = parseMessage(text)
    if (kind === 'Reset') {
      this.#clear()
      this.#reset = message.Reason
      this.#listener.reset(message.Reason)
      return
    }
    if (kind === 'Snapshot') this.#isWhole = true
    for (const { Key, Row } of message.Put ?? []) this.#put.push({ key: JSON.stringify(Key), row: Row })
    for (const key of message.Remove ?? []) this.#removed.push(JSON.stringify(key))
    this.#asOf ??= message.AsOf ?? message.Licence?.find(({ AsOf }) => AsOf !== undefined)?.AsOf
    if (position === undefined) return
    const change = {
      isWhole: this.#isWhole,
      reset: this.#reset,
      put: this.#put,
      removed: this.#removed,
      position,
      asOf: this.#asOf,
    }
    this.#clear()
    this.#reset = undefined
    this.#listener.changed(change)
  }

  end(reason: Refusal): void {
    this.#listener.ended(reason)
  }

  #clear(): void {
    this.#isWhole = false
    this.#put = []
    this.#removed = []
    this.#asOf = undefined
  }
}

interface ReadMessage {
  readonly Reason?: string
  readonly Put?: readonly { readonly Key: Json; readonly Row: { readonly [column: string]: Json } }[]
  readonly Remove?: readonly Json[]
  readonly AsOf?: string
  readonly Licence?: readonly { readonly AsOf?: string }[]
}

/** A double holds 15 digits: texts with more are parsed exactly, which takes ten times as long. */
const LONG_NUMBER = /\d{16}/

function parseMessage(text: string): ReadMessage {
  const read: unknown = LONG_NUMBER.test(text) ? parseExactly(text) : parseJson(text)
  // The text is of the query service.
  return read as ReadMessage
}
