/** Runs statements of IQL for a session: plan, rights, slots and limits are those of HTTP. */
import { reads } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import { limitedCaller } from '../../http/limits/rate-limits.ts'
import { inTurns } from '../../lib/turns.ts'
import {
  type Encoding,
  execute,
  logSlow,
  type QueryCall,
  type QueryResult,
  type RunningQuery,
  readSmall,
  refuse,
  requireStepUp,
} from '../../query/index.ts'
import type { Settings } from './commands/settings.ts'
import type { SessionCaller, SessionOutput } from './contract.ts'
import type { SessionEnv } from './env.ts'
import { WireError } from './failure.ts'
import { type Execution, newExecution } from './portal/execution.ts'
import { watchSuspended } from './portal/suspension.ts'
import { encodeRows } from './rows/returned-rows.ts'
import { PortalRows, releaseAll } from './rows/row-stream.ts'
import { type BoundPortal, sizeOf, TEXT_ROWS } from './statement/iql-statement.ts'
import { noteSpan } from './statement-span.ts'
import { AUTOCOMMIT, type Block, type KeptInserts, stepsOf } from './transaction/block.ts'
import { constantRows, insertText, rowBytes, rowStatement } from './transaction/insert-values.ts'

/** Where replies go; rows in a stream wait until the client has read earlier ones. */
export type RowOutput = Pick<SessionOutput, 'write' | 'drained' | 'hasSentAll'>
export type ClientOutput = RowOutput & Pick<SessionOutput, 'watchStall'>

export class Runner {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #output: ClientOutput
  readonly #settings: Settings
  readonly #block: Block
  /** What a CancelRequest stops. */
  #current: RunningQuery | undefined
  #hasEnded = false
  readonly #id: string
  #count = 0

  constructor(
    env: SessionEnv,
    caller: SessionCaller,
    output: ClientOutput,
    settings: Settings,
    block: Block,
    id: string,
  ) {
    this.#env = env
    this.#caller = caller
    this.#output = output
    this.#settings = settings
    this.#block = block
    this.#id = id
  }

  get requestId(): string {
    return `${this.#id}-${this.#count}`
  }

  cancel(reason: string): void {
    this.#current?.stop(refuse('Limit.Cancelled', reason))
  }

  /** The connection is gone: what runs is stopped, and nothing begins any more. */
  end(): void {
    this.#hasEnded = true
    this.cancel(GONE)
  }

  /** Counts a statement, as HTTP counts a request, unless it was counted before. */
  admit(isCounted = false): void {
    this.#count++
    const { rateLimits } = this.#env
    if (rateLimits !== undefined && !isCounted)
      rateLimits.countCaller('query', this.#caller.address, limitedCaller(this.#caller.principal))
  }

  begin(shown: string): Execution {
    if (this.#hasEnded) throw refuse('Limit.Cancelled', GONE)
    return newExecution(this.requestId, shown, this.#caller.principal.scopes)
  }

  /** The call with the plan of this moment. */
  callOf(portal: BoundPortal, requestId: string, encoding: Encoding): QueryCall {
    const { address, principal } = this.#caller
    const planned = this.#planOf(portal, principal)
    return { principal, requestId, address, planned, valueSets: [portal.values], encoding, limits: this.#readLimits }
  }

  /** Between Bind and Execute, rights and tables can change. */
  #planOf({ planned, statement, lengths }: BoundPortal, principal: Principal) {
    const isCurrent = planned.snapshot === this.#env.catalogue.snapshot && planned.scopes === principal.scopes
    return isCurrent ? planned : statement.plan(principal, this.#env, lengths)
  }

  get #readLimits() {
    const { resultBytes } = this.#env.limits
    // A write is refused before its commit if the connection has no memory for what it returns.
    const returnedBytes = this.#caller.memory.available
    return { rows: Number.MAX_SAFE_INTEGER, bytes: resultBytes, skip: 0, returnedBytes }
  }

  /** Rows of a small result, at once; otherwise undefined. */
  readNow(call: QueryCall): { readonly bytes: Uint8Array; readonly rowCount: number } | undefined {
    this.#env.running.check(call.principal, call.requestId)
    const small = readSmall(call, this.#env)
    return small && { bytes: small.bytes ?? NO_BYTES, rowCount: small.outcome.rowCount }
  }

  /** Begins to run; the rows are in `execution.rows`. Resolves to the number of affected rows of a write. */
  async start(call: QueryCall, execution: Execution): Promise<number | undefined> {
    const running = this.#begin(execution)
    const result = await this.#watched(running, async () => {
      const ran = await execute({ ...call, running }, this.#env)
      const isCommitted = ran.kind === 'rows' && ran.rowsAffected !== undefined
      this.hold(execution, await this.#rowsOf(ran, call.encoding), isCommitted)
      return ran
    })
    if (result.kind === 'whole') execution.rowCount = result.read.outcome.rowCount
    if (result.kind !== 'rows') return undefined
    if (result.rowsAffected !== undefined) endOfWrite(execution)
    if (result.isTruncated) throw tooLarge()
    execution.rowCount = result.rows.length
    return result.rowsAffected
  }

  /** The rows of the execution, of which those that are ready take memory. */
  hold(execution: Execution, rows: PortalRows, isCommitted = false): void {
    execution.rows = rows
    const { memory } = this.#caller
    if (isCommitted) memory.takeAnyway(rows.readyBytes)
    else memory.take(rows.readyBytes)
    execution.kept = rows.readyBytes
  }

  /** Runs work that is not a statement of an engine, but is listed and can be cancelled like one. */
  whileRunning<Result>(execution: Execution, act: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const running = this.#begin(execution)
    return this.#watched(running, () => act(running.signal))
  }

  /** The same, with the time limit of an import. */
  importing<Result>(execution: Execution, act: (running: RunningQuery) => Promise<Result>): Promise<Result> {
    const running = this.#begin(execution)
    running.beginImport()
    return this.#watched(running, () => act(running))
  }

  #begin(execution: Execution): RunningQuery {
    const running = this.#env.running.begin(this.#caller.principal, execution.requestId, execution.shown)
    execution.running = running
    const timeout = Number(this.#settings.get('statement_timeout'))
    if (timeout > 0) {
      const text = `The statement ran for ${timeout} ms, which is the limit (the setting statement_timeout)`
      execution.timer = setTimeout(() => running.reachLimit(text), timeout).unref()
    }
    return running
  }

  async #watched<Result>(running: RunningQuery, act: () => Promise<Result>): Promise<Result> {
    this.#current = running
    try {
      return await act()
    } finally {
      this.#current = undefined
    }
  }

  async #rowsOf(result: QueryResult, encoding: Encoding): Promise<PortalRows> {
    switch (result.kind) {
      case 'stream':
        return new PortalRows(undefined, result.chunks)
      case 'whole':
        return new PortalRows(result.read.bytes, undefined)
      case 'rows':
        return new PortalRows(await inTurns(encodeRows(result, encoding)), undefined)
    }
  }

  /**
   * Sends rows, at most `maxRows` of them, as fast as the client reads. Resolves to their number; the execution is at its end if that is
   * less than `maxRows`, or all rows were asked for.
   */
  async send(execution: Execution, maxRows: number, output: RowOutput = this.#output): Promise<number> {
    const { rows, running } = execution
    if (rows === undefined) return 0
    if (execution.stopped !== undefined) throw execution.stopped
    if (running === undefined) return this.#sendRows(execution, rows, maxRows, output)
    return this.#watched(running, () => this.#sendRows(execution, rows, maxRows, output))
  }

  async #sendRows(execution: Execution, rows: PortalRows, maxRows: number, output: RowOutput): Promise<number> {
    const sent: Uint8Array[] = []
    let count = 0
    let isExport = false
    let coming: ReturnType<PortalRows['next']> | undefined
    while (maxRows === 0 || count < maxRows) {
      const next = await (coming ?? rows.next(maxRows === 0 ? 0 : maxRows - count))
      if (next === undefined) break
      if (maxRows > 0) count += next.rows
      if (!isExport && !rows.isDone) {
        isExport = true
        execution.running?.beginExport()
      }
      const hasRoom = output.write(next.bytes)
      if (maxRows === 0) {
        // Read while these are sent. A part of a chunk, as where the rows are limited, cannot be freed.
        coming = rows.next(0)
        coming.catch(() => {})
        sent.push(next.bytes)
        if (sent.length > MAX_UNRELEASED) sent.shift()
      }
      if (!hasRoom) await this.#drained(execution)
      // Left to the garbage collector, they would cost more than to send them: three full collections for a million rows.
      if (!hasRoom || output.hasSentAll()) releaseAll(sent)
    }
    const { outcome } = rows
    if (outcome !== undefined && outcome.truncated !== 'no') throw tooLarge()
    if (maxRows === 0) count = (outcome?.rowCount ?? execution.rowCount) - execution.sent
    return count
  }

  /** A client that does not read must not keep a reader that others wait for. */
  async #drained({ running }: Execution): Promise<void> {
    const { limits, engine } = this.#env
    const stop = (): void => {
      if (engine.load.waiting > 0)
        running?.stop(refuse('Limit.Cancelled', 'The client did not read the result while other queries waited'))
    }
    const end = limits.stallMs === 0 ? undefined : this.#output.watchStall(limits.stallMs, stop)
    try {
      await this.#output.drained()
    } finally {
      end?.()
    }
    running?.signal.throwIfAborted()
  }

  /** The client has not asked for the rest yet. */
  suspend(execution: Execution): void {
    clearTimeout(execution.timer)
    const { rows, running } = execution
    if (rows?.isDone) this.#release(execution)
    else if (running !== undefined)
      execution.endSuspension = watchSuspended(running.signal, this.#env, (reason) => {
        execution.stopped = reason
        this.#release(execution)
      })
  }

  /**
   * Throws if the caller may not read the rest: the rows of the portal were read with the rights, the tables and the sign-in of its
   * beginning. Statements on the catalogue have no `bound`.
   */
  resume(execution: Execution, bound: BoundPortal | undefined): void {
    execution.endSuspension?.()
    try {
      if (execution.scopes !== this.#caller.principal.scopes)
        throw new WireError('57014', 'Your rights have changed since the portal began', 'Run the statement again')
      if (bound !== undefined) requireStepUp(this.callOf(bound, execution.requestId, bound.encoding), this.#env)
    } catch (error) {
      this.finish(execution, 'error', execution.sent)
      throw error
    }
  }

  /** Its end, for the metrics and the log of slow statements. Further calls do nothing. */
  finish(execution: Execution, outcome: string, rows: number): void {
    if (execution.hasEnded) return
    execution.hasEnded = true
    const { observe, slowLog, trace, engine } = this.#env
    const ms = performance.now() - execution.started
    observe(outcome, ms, rows)
    if (trace !== undefined) noteSpan(trace, engine, execution, { outcome, ms, rows })
    if (ms >= slowLog.limits.slowMs) {
      const { subject, kind, clientId } = this.#caller.principal
      const user = kind === 'user' ? subject : undefined
      logSlow(slowLog, { reqId: execution.requestId, user, client: clientId, ms, outcome, statement: execution.shown })
    }
    this.#release(execution)
  }

  #release(execution: Execution): void {
    clearTimeout(execution.timer)
    execution.endSuspension?.()
    this.#caller.memory.give(execution.kept)
    execution.kept = 0
    const { rows, running } = execution
    if (rows !== undefined && !rows.isDone) {
      running?.stop(refuse('Limit.Cancelled', 'The portal was closed'))
      rows.close().catch(() => {})
    }
    running?.end()
    execution.running = undefined
  }

  /** The client may write: the setting, and the mode of the transaction. */
  requireWritable(): void {
    if (!this.#env.allowsWrites())
      throw new WireError(
        '25006',
        'Connections of PostgreSQL clients only read here',
        'An operator can allow writes: the setting wire_writes',
      )
    const isReadOnly = this.#block.isOpen
      ? this.#block.isReadOnly
      : this.#settings.get('default_transaction_read_only') === 'on'
    if (isReadOnly) throw new WireError('25006', 'The transaction only reads')
  }

  /** Checks and keeps an INSERT; returns its number of rows. */
  keep(portal: BoundPortal, kept: KeptInserts): number {
    const call = this.callOf(portal, this.requestId, TEXT_ROWS)
    const { statement } = call.planned.bound
    if (statement.kind !== 'insert' || statement.rows.kind !== 'values')
      throw new Error('Only an INSERT of values is kept')
    requireStepUp(call, this.#env)
    const table = statement.table.name
    const rows = constantRows(statement)
    if (rows === undefined) {
      const size = sizeOf(portal) + kept.planBytes(portal.statement, call.planned.bound)
      kept.add({ statement: portal.statement, values: portal.values, table }, size)
      return statement.rows.rows.length
    }
    const text = insertText(
      table,
      statement.columns.map(({ name }) => name),
    )
    const shared = kept.rowStatement(text, () => rowStatement(text, this.#caller, this.#env))
    for (const values of rows) kept.add({ statement: shared, values, table }, rowBytes(values))
    return rows.length
  }

  /** In a block, everything else is refused. */
  requireOutsideBlock({ planned }: BoundPortal): void {
    if (!this.#block.isOpen || reads(planned.bound.statement)) return
    throw new WireError(
      '0A000',
      'In a transaction block, only COPY … FROM STDIN, and INSERT … VALUES without RETURNING and ON CONFLICT, can write',
      AUTOCOMMIT,
    )
  }

  /** Writes kept rows, all or nothing. */
  async writeKept(kept: KeptInserts): Promise<void> {
    const giveBack = kept.beginWrite()
    try {
      await this.#writeAll(kept.inserts)
    } finally {
      giveBack()
    }
  }

  async #writeAll(inserts: KeptInserts['inserts']): Promise<void> {
    if (inserts.length === 0) return
    const { principal, address } = this.#caller
    const [first, ...further] = await stepsOf(inserts, (statement) => statement.planInTurns(principal, this.#env))
    if (first === undefined) return
    const { requestId } = this
    const execution = this.begin(inserts[0]?.statement.text ?? '')
    const common = { principal, requestId, address, encoding: TEXT_ROWS, limits: this.#readLimits }
    try {
      await this.start({ ...common, ...first, further }, execution)
      this.finish(execution, 'ok', 0)
    } catch (error) {
      this.finish(execution, 'error', 0)
      throw error
    }
  }
}

/** It is committed: a request to stop, or a time limit, must not make an error of it while its rows are sent. */
function endOfWrite(execution: Execution): void {
  clearTimeout(execution.timer)
  execution.running?.end()
  execution.running = undefined
}

const GONE = 'The client closed the connection'
const NO_BYTES = new Uint8Array(0)
/** Chunks that are remembered until the socket has sent all. */
const MAX_UNRELEASED = 16

function tooLarge() {
  return refuse('Limit.Bytes', 'The result is larger than the limit (the setting query_result_bytes)')
}
