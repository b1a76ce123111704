/** Runs the statements of tools for their callers, by the query service: reads alone, a few at a time for each user. */
import { type ParameterInput, parse, printQuery, readParameters, typeName } from 'gatehouse-iql'
import { type Principal, Refusal } from 'gatehouse-protocol'
import { type Json, parseExactly } from '../../lib/exact-json.ts'
import { createSemaphore, type Semaphore } from '../../lib/semaphore.ts'
import {
  type Planned,
  type Planning,
  parameterInput,
  permit,
  type QueryResult,
  type QueryService,
  type ReadOutcome,
  type RunningQuery,
  readCursor,
  refuse,
  run,
  whenPlanned,
  writeCursor,
} from '../../query/index.ts'
import type { Trace } from '../../telemetry/trace.ts'
import type { Call } from '../protocol/features.ts'
import { shortText } from '../text/escape.ts'
import type { Rows, Value } from '../text/rows.ts'
import type { FirstRead } from '../watches/live-changes.ts'
import { type AskedStatement, askOrRefuse, Expense, Expensive, ownerKey, type ScanRules, wasWanted } from './expense.ts'
import { quoteName } from './names.ts'

export interface ReadRequest {
  readonly statement: string
  readonly parameters: Readonly<Record<string, Json>>
  readonly rows: number
  readonly after?: string | undefined
  /** A few rows that a tool reads for itself: nobody is asked. */
  readonly isInternal?: true
}

export interface ReadRows extends Rows {
  /** The tables that the statement names. */
  readonly tables: readonly string[]
  /** The cursor for what follows the first `shown` of these rows. */
  readonly writeAfter: (shown: number) => string
}

/** Whose rights a statement is planned with. */
type PlanningCall = Pick<Call, 'principal' | 'address' | 'requestId'>

const ENCODING = { format: 'ndjson', rows: 'arrays', integers: 'strings' } as const
/** More would not be shown: cells are cut, and so are texts. */
const RESULT_BYTES = 8 * 1024 * 1024
const NO_ROWS = { rows: 0, bytes: 0, skip: 0 }
/** Characters of a line of a plan. */
const MOST_PLANNED = 300
const AT_A_TIME = 2
const MOST_WAITING = 100

export class Statements {
  readonly #query: QueryService
  readonly #issuer: string
  readonly #turns = new Map<string, Semaphore>()
  readonly #expense: Expense
  readonly #trace: Trace | undefined

  constructor(query: QueryService, issuer: string, rules: () => ScanRules, trace: Trace | undefined) {
    this.#query = query
    this.#issuer = issuer
    this.#trace = trace
    this.#expense = new Expense(query, rules)
  }

  /** Throws a Refusal for everything that the caller can change. */
  async read(request: ReadRequest, call: Call): Promise<ReadRows> {
    this.refuseWrites(request.statement)
    const { rules } = this.#expense
    const wanted = request.isInternal || readAnswer(request, call)
    const bound = wanted || rules.scans === 'run' ? undefined : rules.milliseconds
    try {
      return await this.inTurn(call.principal, () => this.#read(request, call, bound))
    } catch (error) {
      if (!(error instanceof Expensive)) throw error
      const plan = await this.#explain(request, call)
      return askOrRefuse(error, request, plan, call, rules, this.#issuer)
    }
  }

  /** The first read of what is run again and again: it asks, or refuses, as `read` does. */
  async readLive<Result>(asked: AskedStatement, call: Call, read: FirstRead<Result>): Promise<Result> {
    this.refuseWrites(asked.statement)
    const { rules } = this.#expense
    const isFree = readAnswer(asked, call) || rules.scans === 'run'
    try {
      return await this.inTurn(call.principal, async () => {
        if (isFree) return read(call.signal)
        await this.#requireCheap(asked, call)
        return readWithin(rules, call, read)
      })
    } catch (error) {
      if (!(error instanceof Expensive)) throw error
      const plan = await this.#explain({ ...asked, rows: 0 }, call)
      return askOrRefuse(error, asked, plan, call, rules, this.#issuer)
    }
  }

  async #requireCheap({ statement }: AskedStatement, call: Call): Promise<void> {
    const planned = await this.#plan(statement, call)
    await this.#expense.check(planned, (table, most) => this.#countRows(table, most, call))
  }

  /** The tables that a statement names. */
  async listTables(statement: string, call: PlanningCall): Promise<readonly string[]> {
    const { bound } = await this.#plan(statement, call)
    return bound.tables.map(({ name }) => name)
  }

  /** A long statement in turns: others are served meanwhile. */
  #plan(statement: string, { principal, address, requestId }: PlanningCall): Planned | Promise<Planned> {
    const call = { principal, address, requestId, encoding: ENCODING }
    const plan = (planning: Planning) => ({ planned: planning.plan(statement), valueSets: [], limits: NO_ROWS })
    return whenPlanned(() => permit({ ...call, plan }, this.#query.sessionParts).planned)
  }

  async #explain({ statement: asked, parameters }: ReadRequest, call: Call): Promise<string> {
    const parsed = parse(asked, this.#query.planner.limits)
    const isExplain = parsed.kind === 'explain' && parsed.statement.kind === 'query'
    const statement = `EXPLAIN ${isExplain ? printQuery(parsed.statement) : asked}`
    const { rows } = await this.#read({ statement, parameters, rows: 30 }, call, undefined)
    return rows.map(([line]) => shortText(String(line), MOST_PLANNED)).join('\n')
  }

  /** Up to `most`, as the caller reads the table. */
  async #countRows(table: string, most: number, call: Call): Promise<number> {
    const statement = `SELECT count(*) AS n FROM (SELECT 1 AS one FROM ${quoteName(table)} LIMIT ${most}) AS t`
    const { rows } = await this.#read(
      { statement, parameters: {}, rows: 1 },
      { ...call, requestId: `${call.requestId}.count` },
      undefined,
    )
    return Number(rows[0]?.[0])
  }

  /** Before rights are looked at: nobody writes here, so that nobody learns what they could write to. */
  refuseWrites(statement: string): void {
    // A SELECT has no part that writes; the parser runs once for it.
    if (/^\s*select\b/i.test(statement)) return
    // The error of a write that is not complete would say how to complete it.
    if (!WRITE.test(statement) && this.#isRead(statement)) return
    throw refuse('Request.WritesRefused', 'Agents read and never write; a person can run this in the console', {
      members: { Hint: `Show the person the statement, and ${this.#issuer}/console` },
    })
  }

  #isRead(statement: string): boolean {
    const parsed = parse(statement, this.#query.planner.limits)
    return parsed.kind === 'explain' ? parsed.statement.kind === 'query' : READS.has(parsed.kind)
  }

  /** A few at a time for each user. */
  async inTurn<Result>(principal: Principal, act: () => Promise<Result>): Promise<Result> {
    const owner = ownerKey(principal)
    const turns = this.#turns.get(owner) ?? createSemaphore(AT_A_TIME, MOST_WAITING)
    this.#turns.set(owner, turns)
    const done = await turns.run(act).finally(() => {
      if (turns.running === 0) this.#turns.delete(owner)
    })
    if (done === 'full') throw refuse('Limit.Concurrency', `${MOST_WAITING} statements of this user are waiting`)
    return done.result
  }

  /** `boundMs`: how long it may run, and how much it may read, before a person is asked; undefined: as long as any statement. */
  async #read(
    { statement, parameters, rows, after }: ReadRequest,
    call: Call,
    boundMs: number | undefined,
  ): Promise<ReadRows> {
    if (call.signal.aborted) throw clientLeft()
    const { principal, address, requestId, signal } = call
    const identity = `${statement}\n${JSON.stringify(parameters)}`
    const skip = after === undefined ? 0 : readSkip(after, identity)
    const inputs = new Map<string, ParameterInput>()
    for (const [name, value] of Object.entries(parameters)) inputs.set(name, parameterInput(value))
    const ran = await run(
      {
        principal,
        address,
        requestId,
        encoding: ENCODING,
        shown: statement,
        span: this.#trace?.begin('query'),
        errorOutcome: (error) => (error instanceof Expensive ? 'mcp.expensive' : undefined),
        onBegin: (running) => watchRun(running, signal, boundMs),
        plan: (planning) => {
          const planned = planning.plan(statement)
          const valueSets = [readParameters(statement, planned.bound, inputs)]
          const parts = { planned, valueSets, limits: { rows, bytes: RESULT_BYTES, skip } }
          if (boundMs === undefined) return parts
          const checking = this.#expense.check(planned, (table, most) => this.#countRows(table, most, call))
          return checking === undefined ? parts : checking.then(() => parts)
        },
      },
      this.#query.sessionParts,
    )
    try {
      const { text, outcome } = await readText(ran.result)
      ran.run.succeed(outcome.rowCount)
      const { columns, tables } = ran.parts.planned.bound
      const described = columns.map(({ name, type }) => ({ name, type: typeName(type) }))
      const isExact = described.some(({ type }) => type === 'Json')
      return {
        columns: described,
        rows:
          text === ''
            ? []
            : text
                .trimEnd()
                .split('\n')
                .map((line) => readLine(line, isExact)),
        hasMore: outcome.truncated !== 'no',
        milliseconds: ran.run.elapsed,
        licence: ran.run.labels,
        tables: tables.map(({ name }) => name),
        writeAfter: (shown) => writeCursor({ kind: 'rows', rows: skip + shown }, identity),
      }
    } catch (error) {
      ran.run.fail(error)
      throw error
    }
  }
}

/** Whether a person wants it to run, however long that takes. Throws if they do not. */
function readAnswer(asked: AskedStatement, call: Call): boolean {
  const wanted = wasWanted(call, asked)
  if (wanted === false)
    throw new Refusal('mcp.expensive', 422, 'The person does not want this statement to run', {
      members: { Hint: 'Ask for less, or ask the person what they want' },
    })
  return wanted === true
}

/** Ends a read that takes longer than is run without asking. */
async function readWithin<Result>(
  { milliseconds }: ScanRules,
  { signal }: Call,
  read: FirstRead<Result>,
): Promise<Result> {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const begin = (): void => {
    timer ??= setTimeout(() => late.abort(), milliseconds).unref()
  }
  try {
    return await read(AbortSignal.any([signal, late.signal]), begin)
  } catch (error) {
    throw late.signal.aborted ? tooLong(milliseconds) : error
  } finally {
    clearTimeout(timer)
  }
}

function tooLong(milliseconds: number): Expensive {
  return new Expensive(`It has run for ${milliseconds / 1000} s`)
}

/** Stops it when the client leaves, or when it takes longer than is run without asking. Returns what ends the watch. */
function watchRun(running: RunningQuery, signal: AbortSignal, boundMs: number | undefined): () => void {
  const leave = (): void => running.stop(clientLeft())
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  const timer = boundMs === undefined ? undefined : setTimeout(() => running.stop(tooLong(boundMs)), boundMs)
  return () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

function clientLeft(): Refusal {
  return refuse('Limit.Cancelled', 'The client closed the connection')
}

const WRITE = /^\s*(insert|update|delete|create|alter|drop|refresh|merge|truncate|grant|revoke)\b/i
const READS: ReadonlySet<string> = new Set(['query', 'explain-live', 'describe', 'show-tables'])

function readSkip(after: string, identity: string): number {
  const cursor = readCursor(after, identity)
  if (cursor.kind !== 'rows') throw refuse('Request.BadCursor', 'The cursor belongs to another request')
  return cursor.rows
}

async function readText(result: QueryResult): Promise<{ text: string; outcome: ReadOutcome }> {
  if (result.kind === 'whole') return result.read
  if (result.kind === 'rows') {
    const encoder = result.encoders.create(ENCODING)
    for (const row of result.rows) encoder.add(row)
    const truncated = result.isTruncated ? 'rows' : 'no'
    return { text: encoder.takeText(), outcome: { rowCount: result.rows.length, truncated, lastKey: [] } }
  }
  const chunks: Uint8Array[] = []
  for (;;) {
    const next = await result.chunks.next()
    if (next.done) return { text: Buffer.concat(chunks).toString(), outcome: next.value }
    chunks.push(next.value)
  }
}

/** Numbers in a column of JSON keep their digits. */
function readLine(line: string, isExact: boolean): readonly Value[] {
  return (isExact ? parseExactly(line) : JSON.parse(line)) as readonly Value[]
}
