/** A statement whose rows are fetched in batches on demand: a portal of the extended query protocol. */
import type { Connection, Submittable } from 'pg'
import type { Bindable } from '../../emit/parameters.ts'
import { isOutdated } from '../failure.ts'
import { findPreparedStatements } from './prepared-statements.ts'
import { asProtocol, type ProtocolConnection, type RawRow } from './protocol.ts'

export interface Batch {
  readonly rows: readonly RawRow[]
  readonly isLast: boolean
}

/** The bytes of rows that are held in memory. The server keeps the rest of a batch back until these are taken. */
const BATCH_BYTES = 1024 * 1024

interface PendingBatch {
  readonly resolve: (batch: Batch) => void
  readonly reject: (error: unknown) => void
}

export class Portal implements Submittable {
  readonly #sql: string
  readonly #parameters: readonly Bindable[]
  readonly #mostRows: number
  /** The bytes of the batch that is being fetched. */
  #bytes = 0
  #batchSize: number
  /** Nothing more is read from the connection. */
  #isPaused = false
  #connection: ProtocolConnection | undefined
  #rows: RawRow[] = []
  #pending: PendingBatch | undefined
  #state: 'running' | 'suspended' | 'complete' | 'failed' = 'running'
  #failure: unknown
  #settle: () => void = () => {}
  /** Resolves when the connection accepts another query. */
  readonly #settled: Promise<void>

  constructor(sql: string, parameters: readonly Bindable[], mostRows: number) {
    this.#sql = sql
    this.#parameters = parameters
    this.#mostRows = mostRows
    this.#batchSize = mostRows
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  submit(connection: Connection): void {
    const protocol = asProtocol(connection)
    this.#connection = protocol
    protocol.stream.cork()
    protocol.bind({ statement: findPreparedStatements(protocol).use(this.#sql), values: this.#parameters })
    this.#execute(protocol)
    protocol.stream.uncork()
  }

  /** Fetches the next rows. */
  next(): Promise<Batch> {
    return new Promise((resolve, reject) => {
      if (this.#state === 'failed') return reject(this.#failure)
      if (this.#state === 'complete') return resolve(this.#take(true))
      this.#pending = { resolve, reject }
      if (this.#isPaused) {
        if (this.#rows.length > 0) return this.#deliver(false)
        this.#resume()
      }
      if (this.#state === 'suspended') {
        if (this.#rows.length > 0) return this.#deliver(false)
        this.#state = 'running'
        if (this.#connection !== undefined) this.#execute(this.#connection)
      }
    })
  }

  /**
   * Ends the statement; a running one has to be cancelled first. After a complete one the next query can be sent without waiting.
   * False when rows are left on the connection: it cannot be used again.
   */
  async close(): Promise<boolean> {
    if (this.#isPaused) return false
    if (this.#state === 'complete') return true
    if (this.#state === 'suspended') {
      this.#state = 'complete'
      this.#connection?.close({ type: 'P', name: '' })
      this.#connection?.sync()
    }
    await this.#settled
    return true
  }

  handleRowDescription(): void {}

  handleDataRow(message: { fields: RawRow; length: number }): void {
    this.#rows.push(message.fields)
    this.#bytes += message.length
    if (this.#bytes < BATCH_BYTES) return
    // One batch can have many more bytes than fit into memory.
    this.#isPaused = true
    this.#connection?.stream.pause()
    this.#deliver(false)
  }

  handlePortalSuspended(): void {
    this.#endBatch(true)
    this.#state = 'suspended'
    this.#deliver(false)
  }

  handleCommandComplete(): void {
    this.#endBatch(true)
    this.#state = 'complete'
    this.#connection?.sync()
    this.#deliver(true)
  }

  handleEmptyQuery(): void {
    this.#connection?.sync()
  }

  handleReadyForQuery(): void {
    this.#settle()
  }

  /** After an error the server ignores all messages until Sync. */
  handleError(error: unknown): void {
    this.#endBatch(false)
    if (isOutdated(error) && this.#connection !== undefined)
      findPreparedStatements(this.#connection).invalidate(this.#sql)
    this.#state = 'failed'
    this.#failure = error
    const pending = this.#pending
    this.#pending = undefined
    pending?.reject(error)
    this.#connection?.sync()
    this.#settle()
  }

  /** The batch has ended: all its rows have been read. */
  #endBatch(hasSucceeded: boolean): void {
    if (this.#isPaused) this.#resume()
    if (this.#connection !== undefined) findPreparedStatements(this.#connection).settle(hasSucceeded)
  }

  #execute(protocol: ProtocolConnection): void {
    protocol.execute({ portal: '', rows: this.#batchSize })
    protocol.flush()
  }

  #resume(): void {
    this.#isPaused = false
    this.#connection?.stream.resume()
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
    // After long rows fewer are fetched at once, since they are held in memory.
    if (rows.length > 0)
      this.#batchSize = Math.max(1, Math.min(this.#mostRows, Math.floor((BATCH_BYTES * rows.length) / this.#bytes)))
    this.#bytes = 0
    return { rows, isLast }
  }
}
