/** A statement whose rows are fetched in batches, each when it is asked for: the server-side cursor of the extended protocol. */
import { connect } from 'node:net'
import type { Connection, PoolClient, Submittable } from 'pg'
import type { Bindable } from '../engine.ts'
import { isOutdated } from './failure.ts'

export interface Batch {
  readonly rows: readonly (readonly (string | null)[])[]
  readonly isLast: boolean
}

interface PendingBatch {
  readonly resolve: (batch: Batch) => void
  readonly reject: (error: unknown) => void
}

/** What pg's connection offers to a query, beyond what its types say. */
interface Wire {
  readonly parsedStatements: Record<string, string>
  readonly stream: { cork(): void; uncork(): void }
  parse(query: { name: string; text: string }): void
  bind(config: { statement: string; values: readonly unknown[] }): void
  describe(message: { type: 'P'; name: string }): void
  execute(config: { portal: string; rows: number }): void
  close(message: { type: 'P' | 'S'; name: string }): void
  flush(): void
  sync(): void
}

/** As the protocol says it. */
const NO_LIMIT = 0

export class Portal implements Submittable {
  readonly #text: string
  readonly #values: readonly Bindable[]
  readonly #batchSize: number | 'all'
  /** pg reads it to mark the statement as parsed on the connection. */
  readonly name: string
  readonly text: string
  #wire: Wire | undefined
  #rows: (string | null)[][] = []
  #pending: PendingBatch | undefined
  #state: 'running' | 'suspended' | 'complete' | 'failed' = 'running'
  #failure: unknown
  #settle: () => void = () => {}
  /** Resolves when the connection may take another query. */
  readonly settled: Promise<void>
  /** Rows that a write changed. */
  rowsAffected = 0

  /** `all` fetches everything with the request itself, in one journey: for what gives few rows. */
  constructor(text: string, name: string, values: readonly Bindable[], batchSize: number | 'all') {
    this.#text = text
    this.text = text
    this.name = name
    this.#values = values
    this.#batchSize = batchSize
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire
    this.#wire = wire
    wire.stream.cork()
    try {
      prepare(wire, this.name, this.#text)
      wire.bind({ statement: this.name, values: this.#values })
      wire.describe({ type: 'P', name: '' })
      this.#execute(wire)
    } catch (error) {
      // A value that the protocol cannot carry: the statement was not sent whole.
      this.#fail(error)
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
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

  /** Gives the statement up; a running one must be cancelled first. */
  async abandon(): Promise<void> {
    if (this.#state === 'suspended') {
      this.#state = 'complete'
      this.#wire?.close({ type: 'P', name: '' })
      this.#wire?.sync()
    }
    await this.settled
  }

  throwIfFailed(): void {
    if (this.#state === 'failed') throw this.#failure
  }

  handleRowDescription(): void {}

  handleDataRow(message: { fields: (string | null)[] }): void {
    this.#rows.push(message.fields)
  }

  handlePortalSuspended(): void {
    this.#state = 'suspended'
    this.#deliver(false)
  }

  handleCommandComplete(message: { text: string }): void {
    this.#state = 'complete'
    this.rowsAffected = Number(/\d+$/.exec(message.text)?.[0] ?? 0)
    this.#sync()
    this.#deliver(true)
  }

  handleEmptyQuery(): void {
    this.#sync()
  }

  handleReadyForQuery(): void {
    this.#settle()
  }

  /** After an error the server takes nothing until it is told where the next query begins. */
  handleError(error: unknown): void {
    if (isOutdated(error)) delete this.#wire?.parsedStatements[this.name]
    this.#fail(error)
    this.#sync()
    this.#settle()
  }

  #execute(wire: Wire): void {
    wire.execute({ portal: '', rows: this.#batchSize === 'all' ? NO_LIMIT : this.#batchSize })
    if (this.#batchSize === 'all') wire.sync()
    else wire.flush()
  }

  /** Ends the statement, unless that was said with the request. */
  #sync(): void {
    if (this.#batchSize !== 'all') this.#wire?.sync()
  }

  #fail(error: unknown): void {
    this.#state = 'failed'
    this.#failure = error
    const pending = this.#pending
    this.#pending = undefined
    pending?.reject(error)
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

/** Statements that one connection keeps prepared: each takes memory of the database for as long as the connection lives. */
const MOST_PREPARED = 500

/** By connection, the least recently used first. */
const PREPARED = new WeakMap<Wire, Set<string>>()

function prepare(wire: Wire, name: string, text: string): void {
  const names = PREPARED.get(wire) ?? new Set()
  PREPARED.set(wire, names)
  const isKept = names.delete(name) && wire.parsedStatements[name] !== undefined
  names.add(name)
  if (isKept) return
  // It may be there all the same: prepared for a table that has become another one, or by a query that failed.
  wire.close({ type: 'S', name })
  wire.parse({ name, text })
  const [oldest] = names
  if (names.size <= MOST_PREPARED || oldest === undefined) return
  names.delete(oldest)
  delete wire.parsedStatements[oldest]
  wire.close({ type: 'S', name: oldest })
}

/** Asks the server, on a connection of its own as the protocol wants, to stop what the client runs. */
export function cancelRunning(client: PoolClient): void {
  const { host, port, processID, secretKey } = client as unknown as {
    host: string
    port: number
    processID: number
    secretKey: number
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.on('error', () => socket.destroy())
  const message = Buffer.alloc(16)
  message.writeInt32BE(16, 0)
  message.writeInt32BE(80_877_102, 4)
  message.writeInt32BE(processID, 8)
  message.writeInt32BE(secretKey, 12)
  socket.end(message)
}
