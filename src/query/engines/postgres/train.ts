/** Statements that go to the database and come back in one journey. The first that fails keeps those behind it from being run. */
import type { Connection, PoolClient, Submittable } from 'pg'
import type { Bindable } from '../engine.ts'
import { isOutdated } from './failure.ts'
import { preparedOn, type Wire, wireOf } from './wire.ts'

export type RawRow = (string | null)[]

export interface TrainStatement {
  readonly sql: string
  readonly parameters: readonly Bindable[]
  /** Takes each row with its length in bytes. */
  readonly onRow?: ((row: RawRow, bytes: number) => void) | undefined
  /** Rows beyond which no more are fetched. */
  readonly rows?: number | undefined
  /** Called when the statement has run, before the journey ends; `isWhole` unless rows were left. */
  readonly onDone?: ((rowsAffected: number, isWhole: boolean) => void) | undefined
}

export interface TrainFailure {
  /** Of the statement that failed; as many as there are when the commit did at the end. */
  readonly index: number
  readonly error: unknown
}

export const BEGIN: TrainStatement = { sql: 'BEGIN', parameters: [] }
export const COMMIT: TrainStatement = { sql: 'COMMIT', parameters: [] }

/** Undefined when all went well. Without a transaction of their own the statements are one, which ends with the journey. */
export function travel(client: PoolClient, statements: readonly TrainStatement[]): Promise<TrainFailure | undefined> {
  return new Promise((resolve) => void client.query(new Train(statements, resolve)))
}

/** As the protocol says it. */
const NO_LIMIT = 0

class Train implements Submittable {
  readonly #statements: readonly TrainStatement[]
  readonly #arrive: (failure: TrainFailure | undefined) => void
  #wire: Wire | undefined
  #index = 0

  constructor(statements: readonly TrainStatement[], arrive: (failure: TrainFailure | undefined) => void) {
    this.#statements = statements
    this.#arrive = arrive
  }

  submit(connection: Connection): void {
    const wire = wireOf(connection)
    const prepared = preparedOn(wire)
    this.#wire = wire
    wire.stream.cork()
    for (const { sql, parameters, rows = NO_LIMIT } of this.#statements) {
      wire.bind({ statement: prepared.use(sql), values: parameters })
      wire.execute({ portal: '', rows })
    }
    wire.sync()
    wire.stream.uncork()
  }

  handleRowDescription(): void {}

  handleDataRow(message: { fields: (string | null)[]; length: number }): void {
    this.#statements[this.#index]?.onRow?.(message.fields, message.length)
  }

  handlePortalSuspended(): void {
    this.#statements[this.#index++]?.onDone?.(0, false)
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#statements[this.#index++]?.onDone?.(rowsIn(text), true)
  }

  handleEmptyQuery(): void {}

  handleReadyForQuery(): void {
    this.#end(undefined)
  }

  /** Of the statement, of the commit at the end, or of the connection. */
  handleError(error: unknown): void {
    this.#end({ index: this.#index, error })
  }

  #end(failure: TrainFailure | undefined): void {
    if (this.#wire !== undefined) {
      const prepared = preparedOn(this.#wire)
      prepared.settle(failure === undefined)
      const failed = this.#statements[failure?.index ?? -1]
      if (failed !== undefined && isOutdated(failure?.error)) prepared.forget(failed.sql)
    }
    this.#arrive(failure)
  }
}

/** "INSERT 0 5", "UPDATE 5", "COMMIT" */
function rowsIn(tag: string): number {
  const count = Number(tag.slice(tag.lastIndexOf(' ') + 1))
  return Number.isNaN(count) ? 0 : count
}
