/** The client's side of a live statement: applies messages as the documentation says, and checks that they keep the rules. */
import assert from 'node:assert/strict'
import type { LiveMessage, ResetReason } from '../../../packages/server/src/query/live/contract.ts'

export interface Entry {
  readonly Key: unknown
  readonly Row: unknown
  readonly Index?: number
}

export interface Data {
  readonly Kind: LiveMessage['kind']
  readonly Method?: string
  readonly Key?: readonly string[] | null
  readonly Columns?: Readonly<Record<string, unknown>>
  readonly Put?: readonly Entry[]
  readonly Remove?: readonly unknown[]
  readonly More?: boolean
  readonly Position?: string
  readonly Reason?: ResetReason
  readonly Recovered?: boolean
}

const MAX_PIECE_BYTES = 256 * 1024

/** Holds the result, as any client would. */
export class Applier {
  /** By the JSON text of the key, in the order of the result. */
  #entries = new Map<string, unknown>()
  #pieces: Data[] = []
  #state: 'snapshot' | 'following' = 'snapshot'
  position: string | undefined
  head: Pick<Data, 'Method' | 'Key' | 'Columns'> = {}
  /** Whether the last resume was answered with what was missed. */
  recovered: boolean | undefined
  readonly seen = { Snapshot: 0, Change: 0, Progress: 0, Reset: 0, pieces: 0 }
  readonly reasons: ResetReason[] = []

  /** A client that comes back holds what it held. */
  static resumed(from: Applier): Applier {
    const applier = new Applier()
    applier.#entries = new Map(from.#entries)
    applier.#state = 'following'
    applier.position = from.position
    applier.head = from.head
    return applier
  }

  get rows(): unknown[] {
    return [...this.#entries.values()]
  }

  get keys(): string[] {
    return [...this.#entries.keys()]
  }

  buildRow(key: string): unknown {
    return this.#entries.get(key)
  }

  get size(): number {
    return this.#entries.size
  }

  get isWhole(): boolean {
    return this.#state === 'following' && this.#pieces.length === 0
  }

  apply(text: string): void {
    const data: Data = JSON.parse(text)
    this.seen.pieces++
    if (Buffer.byteLength(text) > MAX_PIECE_BYTES)
      assert.ok(
        (data.Put?.length ?? 0) + (data.Remove?.length ?? 0) <= 1,
        'only a row that is longer by itself exceeds',
      )
    if (data.Recovered !== undefined) this.recovered = data.Recovered
    switch (data.Kind) {
      case 'Reset':
        this.#reset(data)
        return
      case 'Progress':
        assert.ok(this.isWhole, 'a Progress comes between states')
        this.seen.Progress++
        this.#take(data)
        return
      case 'Snapshot':
      case 'Change':
        this.#piece(data)
    }
  }

  #reset({ Reason }: Data): void {
    assert.ok(Reason !== undefined)
    this.reasons.push(Reason)
    this.seen.Reset++
    this.#entries.clear()
    this.#pieces = []
    this.#state = 'snapshot'
    this.position = undefined
  }

  #piece(data: Data): void {
    const [first] = this.#pieces
    assert.equal(data.Kind, this.#state === 'snapshot' ? 'Snapshot' : 'Change')
    if (first === undefined && data.Kind === 'Snapshot') {
      assert.ok(data.Method !== undefined && data.Columns !== undefined && data.Key !== undefined)
      this.head = { Method: data.Method, Key: data.Key, Columns: data.Columns }
    } else assert.equal(data.Method, undefined, 'only the first piece of a snapshot describes the result')
    this.#pieces.push(data)
    if (data.More === true) {
      assert.equal(data.Position, undefined, 'the position stands in the last piece')
      return
    }
    this.#finish(data)
  }

  #finish(last: Data): void {
    const put = this.#pieces.flatMap(({ Put }) => Put ?? [])
    const removed = this.#pieces.flatMap(({ Remove }) => Remove ?? [])
    this.#pieces = []
    this.seen[last.Kind]++
    if (last.Kind === 'Snapshot') {
      for (const { Key, Row } of put) this.#insert(JSON.stringify(Key), Row)
      this.#state = 'following'
    } else this.#change(put, removed)
    this.#take(last)
  }

  #insert(key: string, row: unknown): void {
    assert.ok(!this.#entries.has(key), `the key ${key} comes once`)
    this.#entries.set(key, row)
  }

  #change(put: readonly Entry[], removed: readonly unknown[]): void {
    for (const key of removed) assert.ok(this.#entries.delete(JSON.stringify(key)), 'only what is held is removed')
    if (put.every(({ Index }) => Index === undefined)) {
      for (const { Key, Row } of put) this.#entries.set(JSON.stringify(Key), Row)
      return
    }
    for (const { Key } of put) this.#entries.delete(JSON.stringify(Key))
    const rest = [...this.#entries]
    let taken = 0
    const total = this.#entries.size + put.length
    const order: [string, unknown][] = []
    // To insert them one after the other by rising index comes to the same, but takes a long time.
    for (const { Key, Row, Index } of put.toSorted((a, b) => (a.Index ?? 0) - (b.Index ?? 0))) {
      assert.ok(Index !== undefined && Index >= order.length && Index < total, 'every entry has its place')
      const next = taken + Index - order.length
      for (const entry of rest.slice(taken, next)) order.push(entry)
      order.push([JSON.stringify(Key), Row])
      taken = next
    }
    this.#entries = new Map([...order, ...rest.slice(taken)])
    assert.equal(this.#entries.size, total)
  }

  #take({ Position }: Data): void {
    assert.match(Position ?? '', /^[\w-]{1,512}$/)
    this.position = Position
  }
}
