/** Writes on a separate connection: one transaction, retried after serialization failures, and cancelled on demand. */

import type { Refusal } from 'gatehouse-protocol'
import type { PoolClient } from 'pg'
import { ReturnedRows } from '../bounded-rows.ts'
import type { Bindable } from '../emit/parameters.ts'
import type { WriteOutcome, WriteReply, WriteRequest, WriteStep } from '../engine.ts'
import { verdictError } from '../runtime-error.ts'
import { runOnce } from './idempotency-keys.ts'
import type { Acquire } from './pool.ts'
import { BEGIN, mustCommit, mustRun, type PipelineStatement, runCommitting } from './protocol/pipeline.ts'
import type { RawRow } from './protocol/protocol.ts'
import { rowDecoder } from './representation.ts'
import { allowClosed } from './retention/retention-triggers.ts'
import { withRetries } from './retry.ts'

/** Statements of one write that are sent in one round trip. */
const PIPELINE_SIZE = 200

export function write(acquire: Acquire, request: WriteRequest): Promise<WriteReply> {
  const isAlone = isOneStatement(request)
  const { owner, running, isShort } = request
  const options = { owner, running, isLong: !isShort, inTransaction: !isAlone }
  return withRetries(acquire, options, (client) =>
    isAlone ? runAlone(client, request) : runTransaction(client, request),
  )
}

/** Needs no explicit transaction: the statement is atomic, and durable when the server is ready for the next query. */
export function isOneStatement({ steps, idempotencyKey, mustBeWhole, erases }: WriteRequest): boolean {
  const isSingle = steps.length === 1 && steps[0]?.parameterSets.length === 1
  const isPlain = idempotencyKey === undefined && !mustBeWhole && erases === undefined
  return isSingle && steps[0]?.constraints === undefined && isPlain
}

async function runAlone(client: PoolClient, request: WriteRequest): Promise<WriteReply> {
  const run = new WriteRun(request)
  const failure = await runCommitting(client, run.statements(), [])
  if (failure !== undefined) throw failure.error
  return { outcome: run.outcome(), isReplay: false }
}

async function runTransaction(client: PoolClient, request: WriteRequest): Promise<WriteReply> {
  const run = new WriteRun(request)
  const act = async (lead: readonly PipelineStatement[]): Promise<WriteOutcome> => {
    const statements = [...lead, ...run.statements()]
    for (let start = 0; start < statements.length; start += PIPELINE_SIZE)
      await mustRun(client, statements.slice(start, start + PIPELINE_SIZE))
    return run.outcome()
  }
  if (request.idempotencyKey !== undefined) {
    await mustRun(client, [BEGIN])
    return runOnce(client, request.idempotencyKey, () => act([]))
  }
  const outcome = await act([BEGIN])
  await mustCommit(client)
  return { outcome, isReplay: false }
}

/** One run of a write: its statements, and the outcome collected from the rows that they return. */
export class WriteRun {
  readonly #request: WriteRequest
  readonly #returned: ReturnedRows<RawRow>
  #rowsAffected = 0
  /** Of the first row that may not be written. */
  #refusal: Refusal | undefined

  constructor(request: WriteRequest) {
    this.#request = request
    this.#returned = new ReturnedRows(request, rowDecoder(request.returning))
  }

  statements(): PipelineStatement[] {
    const onDone = (rowsAffected: number): void => {
      this.#rowsAffected += rowsAffected
    }
    const { steps, erases } = this.#request
    const statements = steps.flatMap(({ sql, parameterSets, constraints }) => {
      const onRow = (row: RawRow): void => this.#add(row, constraints)
      return parameterSets.map((parameters: readonly Bindable[]) => ({ sql, parameters, onRow, onDone }))
    })
    if (erases === undefined) return statements
    const { lead, tail } = allowClosed(erases)
    return [...lead, ...statements, ...tail]
  }

  /** Call before the commit of an explicit transaction. */
  outcome(): WriteOutcome {
    if (this.#refusal !== undefined) throw this.#refusal
    return this.#returned.outcome(this.#rowsAffected)
  }

  #add(raw: RawRow, constraints: WriteStep['constraints']): void {
    if (constraints !== undefined) {
      const verdict = Number(raw.pop())
      if (verdict !== -1) this.#refusal ??= verdictError(verdict, constraints)
    }
    this.#returned.add(raw)
  }
}
