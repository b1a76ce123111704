/** Sends several statements in one round trip. Once one fails, the statements after it are not run. */
import type { Connection, PoolClient, Submittable } from 'pg'
import { beginWitness } from '../../../../store/database/servers/acknowledged-writes.ts'
import { isUnreplicated } from '../../../../store/database/servers/client.ts'
import { UnfitServer } from '../../../../store/database/servers/unfit-server.ts'
import type { SqlStatement } from '../../emit/parameters.ts'
import { isOutdated } from '../failure.ts'
import { findPreparedStatements } from './prepared-statements.ts'
import { asProtocol, type ProtocolConnection, type RawRow } from './protocol.ts'

export interface PipelineStatement extends SqlStatement {
  /** Called for each row, with its length in bytes. */
  readonly onRow?: ((row: RawRow, bytes: number) => void) | undefined
  /** Rows beyond this are not fetched. */
  readonly maxRows?: number | undefined
  /** Called when the statement has run, before the round trip ends; `isWhole` unless rows were left. */
  readonly onDone?: ((rowsAffected: number, isWhole: boolean) => void) | undefined
}

export interface PipelineFailure {
  /** The index of the statement that failed; the number of statements when the commit at the end failed. */
  readonly index: number
  readonly error: unknown
}

export const BEGIN: PipelineStatement = { sql: 'BEGIN', parameters: [] }
export const COMMIT: PipelineStatement = { sql: 'COMMIT', parameters: [] }

/** Resolves with the failure, if any. Without BEGIN the statements are one implicit transaction, which ends with the round trip. */
export function runPipelined(
  client: PoolClient,
  statements: readonly PipelineStatement[],
): Promise<PipelineFailure | undefined> {
  return new Promise((resolve) => void client.query(new Pipeline(statements, resolve)))
}

/**
 * Runs statements that write and commit. Where the database can fail over, the commit is remembered: the next primary must have it.
 */
export async function runCommitting(
  client: PoolClient,
  statements: readonly PipelineStatement[],
  end: readonly PipelineStatement[],
): Promise<PipelineFailure | undefined> {
  const witness = beginWitness(client)
  const failure = await runPipelined(client, [...statements, ...(witness === undefined ? [] : [witness]), ...end])
  if (failure === undefined && isUnreplicated(client)) {
    const error = new UnfitServer('GATEHOUSE_UNREPLICATED', 'The write was stopped while it waited for a standby')
    return { index: statements.length + end.length, error }
  }
  if (failure === undefined) {
    witness?.acknowledge()
    return undefined
  }
  // As if the witness were not there.
  const isLater = witness !== undefined && failure.index > statements.length
  return isLater ? { ...failure, index: failure.index - 1 } : failure
}

/** Throws the error of the statement that fails. */
export async function mustRun(client: PoolClient, statements: readonly PipelineStatement[]): Promise<void> {
  const failure = await runPipelined(client, statements)
  if (failure !== undefined) throw failure.error
}

/** Runs these and COMMIT. */
export async function mustCommit(client: PoolClient, statements: readonly PipelineStatement[] = []): Promise<void> {
  const failure = await runCommitting(client, statements, [COMMIT])
  if (failure !== undefined) throw failure.error
}

/** The approximate number of rows that are read in one turn of the event loop. */
const ROWS_PER_TURN = 1000

/** In the protocol's Execute message. */
const NO_LIMIT = 0

class Pipeline implements Submittable {
  readonly #statements: readonly PipelineStatement[]
  readonly #resolve: (failure: PipelineFailure | undefined) => void
  #connection: ProtocolConnection | undefined
  /** The index of the statement that is running. */
  #index = 0
  #rows = 0

  constructor(statements: readonly PipelineStatement[], resolve: (failure: PipelineFailure | undefined) => void) {
    this.#statements = statements
    this.#resolve = resolve
  }

  submit(connection: Connection): void {
    const protocol = asProtocol(connection)
    const prepared = findPreparedStatements(protocol)
    this.#connection = protocol
    protocol.stream.cork()
    for (const { sql, parameters, maxRows = NO_LIMIT } of this.#statements) {
      protocol.bind({ statement: prepared.use(sql), values: parameters })
      protocol.execute({ portal: '', rows: maxRows })
    }
    protocol.sync()
    protocol.stream.uncork()
  }

  handleRowDescription(): void {}

  handleDataRow(message: { fields: RawRow; length: number }): void {
    this.#statements[this.#index]?.onRow?.(message.fields, message.length)
    if (++this.#rows % ROWS_PER_TURN === 0) this.#letOthersRun()
  }

  /** Node may read a busy socket many times in one turn. */
  #letOthersRun(): void {
    const stream = this.#connection?.stream
    stream?.pause()
    setImmediate(() => stream?.resume())
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

  /** An error of the statement, of the commit at the end, or of the connection. */
  handleError(error: unknown): void {
    this.#end({ index: this.#index, error })
  }

  #end(failure: PipelineFailure | undefined): void {
    if (this.#connection !== undefined) {
      const prepared = findPreparedStatements(this.#connection)
      prepared.settle(failure === undefined)
      const failed = this.#statements[failure?.index ?? -1]
      if (failed !== undefined && isOutdated(failure?.error)) prepared.invalidate(failed.sql)
    }
    this.#resolve(failure)
  }
}

/** The rows of a command tag: "INSERT 0 5", "UPDATE 5", "COMMIT". */
function rowsIn(tag: string): number {
  const count = Number(tag.slice(tag.lastIndexOf(' ') + 1))
  return Number.isNaN(count) ? 0 : count
}
