/** Runs the statements of tools for their callers, by the query service: reads alone, a few at a time for each user. */
import { type ParameterInput, parse, readParameters, typeName } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import { type Json, parseExactly } from '../../lib/exact-json.ts'
import { createSemaphore, type Semaphore } from '../../lib/semaphore.ts'
import {
  parameterInput,
  type QueryResult,
  type QueryService,
  type ReadOutcome,
  readCursor,
  refuse,
  run,
  writeCursor,
} from '../../query/index.ts'
import type { Call } from '../protocol/features.ts'
import type { Rows, Value } from '../text/rows.ts'

export interface ReadRequest {
  readonly statement: string
  readonly parameters: Readonly<Record<string, Json>>
  readonly rows: number
  readonly after?: string | undefined
}

export interface ReadRows extends Rows {
  /** The tables that the statement names. */
  readonly tables: readonly string[]
  /** What continues behind the first so many of these rows. */
  readonly writeAfter: (shown: number) => string
}

const ENCODING = { format: 'ndjson', rows: 'arrays', integers: 'strings' } as const
/** More would not be shown: cells are cut, and so are texts. */
const RESULT_BYTES = 8 * 1024 * 1024
const AT_A_TIME = 2
const MOST_WAITING = 100

export class Statements {
  readonly #query: QueryService
  readonly #issuer: string
  readonly #turns = new Map<string, Semaphore>()

  constructor(query: QueryService, issuer: string) {
    this.#query = query
    this.#issuer = issuer
  }

  /** Throws a Refusal for everything that the caller can change. */
  async read(request: ReadRequest, call: Call): Promise<ReadRows> {
    this.refuseWrites(request.statement)
    return this.#inTurn(call.principal, () => this.#read(request, call))
  }

  /** Before rights are looked at: nobody writes here, so that nobody learns what they could write to. */
  refuseWrites(statement: string): void {
    // A SELECT has no part that writes; the parser runs once for it.
    if (/^\s*select\b/i.test(statement)) return
    const parsed = parse(statement, this.#query.planner.limits)
    const isRead = parsed.kind === 'explain' ? parsed.statement.kind === 'query' : READS.has(parsed.kind)
    if (!isRead)
      throw refuse('Request.WritesRefused', 'Agents read and never write; a person can run this in the console', {
        members: { Hint: `Show the person the statement, and ${this.#issuer}/console` },
      })
  }

  async #inTurn<Result>({ kind, subject }: Principal, act: () => Promise<Result>): Promise<Result> {
    const owner = `${kind}:${subject}`
    const turns = this.#turns.get(owner) ?? createSemaphore(AT_A_TIME, MOST_WAITING)
    this.#turns.set(owner, turns)
    const done = await turns.run(act).finally(() => {
      if (turns.running === 0) this.#turns.delete(owner)
    })
    if (done === 'full') throw refuse('Limit.Concurrency', `${MOST_WAITING} statements of yours are waiting`)
    return done.result
  }

  async #read({ statement, parameters, rows, after }: ReadRequest, call: Call): Promise<ReadRows> {
    call.signal.throwIfAborted()
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
        onBegin(running) {
          const stop = (): void => running.stop(refuse('Limit.Cancelled', 'The client closed the connection'))
          if (signal.aborted) stop()
          signal.addEventListener('abort', stop, { once: true })
          return () => signal.removeEventListener('abort', stop)
        },
        plan(planning) {
          const planned = planning.plan(statement)
          const valueSets = [readParameters(statement, planned.bound, inputs)]
          return { planned, valueSets, limits: { rows, bytes: RESULT_BYTES, skip } }
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
        tables: tables.map(({ name }) => name),
        writeAfter: (shown) => writeCursor({ kind: 'rows', rows: skip + shown }, identity),
      }
    } catch (error) {
      ran.run.fail(error)
      throw error
    }
  }
}

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
