/** A statement whose rows are fetched in batches, each when it is asked for: the server-side cursor of the extended protocol. */
import type { Connection, Submittable } from 'pg'
import type { Bindable } from '../engine.ts'
import { isOutdated } from './failure.ts'
import type { RawRow } from './train.ts'
import { preparedOn, type Wire, wireOf } from './wire.ts'

export interface Batch {
  readonly rows: readonly RawRow[]
  readonly isLast: boolean
}

interface PendingBatch {
  readonly resolve: (batch: Batch) => void
  readonly reject: (error: unknown) => void
}

export class Portal implements Submittable {
  readonly #text: string
  readonly #values: readonly Bindable[]
  readonly #batchSize: number
  #wire: Wire | undefined
  #rows: RawRow[] = []
  #pending: PendingBatch | undefined
  #state: 'running' | 'suspended' | 'complete' | 'failed' = 'running'
  #failure: unknown
  #settle: () => void = () => {}
  /** Resolves when the connection may take another query. */
  readonly #settled: Promise<void>

  constructor(text: string, values: readonly Bindable[], batchSize: number) {
    this.#text = text
    this.#values = values
    this.#batchSize = batchSize
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  submit(connection: Connection): void {
    const wire = wireOf(connection)
    this.#wire = wire
    wire.stream.cork()
    wire.bind({ statement: preparedOn(wire).use(this.#text), values: this.#values })
    this.#execute(wire)
    wire.stream.uncork()
  }

  /** The next rows; asks the server for them only now. */
  next(): Promise<Batch> {
    return new Promise((resolve, reject) => {
      if (this.#state === 'failed') return reject(this.#failure)
      if (this.#state === 'complete') return resolve(this.#take(true))
      this.#pending = { resolve, reject }
      if (this.#state === 'suspended') {
        if (this.#rows.length > 0) return this.#deliver(false)
        this.#state = 'running'
        if (this.#wire !== undefined) this.#execute(this.#wire)
      }
    })
  }

  /** Gives the statement up; a running one must be cancelled first. One that has ended needs no waiting: others queue behind it. */
  async abandon(): Promise<void> {
    if (this.#state === 'complete') return
    if (this.#state === 'suspended') {
      this.#state = 'complete'
      this.#wire?.close({ type: 'P', name: '' })
      this.#wire?.sync()
    }
    await this.#settled
  }

  handleRowDescription(): void {}

  handleDataRow(message: { fields: (string | null)[] }): void {
    this.#rows.push(message.fields)
  }

  handlePortalSuspended(): void {
    this.#wasPrepared(true)
    this.#state = 'suspended'
    this.#deliver(false)
  }

  handleCommandComplete(): void {
    this.#wasPrepared(true)
    this.#state = 'complete'
    this.#wire?.sync()
    this.#deliver(true)
  }

  handleEmptyQuery(): void {
    this.#wire?.sync()
  }

  handleReadyForQuery(): void {
    this.#settle()
  }

  /** After an error the server takes nothing until it is told where the next query begins. */
  handleError(error: unknown): void {
    this.#wasPrepared(false)
    if (isOutdated(error) && this.#wire !== undefined) preparedOn(this.#wire).forget(this.#text)
    this.#state = 'failed'
    this.#failure = error
    const pending = this.#pending
    this.#pending = undefined
    pending?.reject(error)
    this.#wire?.sync()
    this.#settle()
  }

  #wasPrepared(isGood: boolean): void {
    if (this.#wire !== undefined) preparedOn(this.#wire).settle(isGood)
  }

  #execute(wire: Wire): void {
    wire.execute({ portal: '', rows: this.#batchSize })
    wire.flush()
  }

  #deliver(isLast: boolean): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    pending.resolve(this.#take(isLast))
  }

  #take(isLast: boolean): Batch {
    const rows = this.#rows
    this.#rows = []
    return { rows, isLast }
  }
}
