/** Materialized views on SQLite: evaluated in reader processes; written as short writes, or in the writer process. */
import { DATE, floorDivide, MICROS_PER_DAY, TIMESTAMP } from 'gatehouse-iql'
import { retryWhileLocked } from '../../../../store/database/write-lock.ts'
import type { Sql } from '../../emit/dialect.ts'
import { createEmission, emitQuery } from '../../emit/query.ts'
import type { WriteReply, WriteRequest, WriteStep } from '../../engine.ts'
import {
  type BuildRun,
  fillSlots,
  type KeptBucket,
  type KeptEngine,
  type KeptOutcome,
  type KeptPlan,
  type KeptQueries,
  type KeptRun,
  type KeptStatement,
  type KeptValues,
} from '../../kept-engine.ts'
import { toKeptStatement } from '../../kept-statement.ts'
import { type KeptRow, KeptStates } from '../../kept-states.ts'
import type { TablePosition } from '../../live-source.ts'
import type { ServiceStore } from '../../service-store.ts'
import { SQLITE } from '../dialect/dialect.ts'
import { createLogSql } from '../live/change-log.ts'
import type { ReaderPool } from '../processes/reader-pool.ts'
import { decodeKeptChunks, type KeptChunk, type KeptJob, type KeptJobOutcome } from '../read/kept-read.ts'
import { readHead } from '../read/live-read.ts'
import { toSqlite } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'
import {
  asideStep,
  countRows,
  countTaken,
  countWhere,
  countWrong,
  emptyStep,
  evaluated,
  keptWriteSteps,
  openAsideSteps,
  takeAsideSteps,
} from './kept-write.ts'

/** What begins so is no user. The reads of a view are those of one owner, which have the priority of a query: others would starve. */
const OWNER = 'view '
/** Rows of one commit of a build. */
const PIECE_ROWS = 20_000
/** Rows that are written in a commit shared with others, on the event loop. */
const SHARED_ROWS = 1_000

export interface SqliteKeptOptions {
  readonly pool: ReaderPool
  readonly readingStatements: StatementCache
  readonly write: (request: WriteRequest) => Promise<WriteReply>
}

/** What a view lacks. */
interface Difference {
  readonly kind: 'difference'
  readonly position: TablePosition
  readonly groups: number
  readonly milliseconds: number
  readonly rows: Readonly<Record<KeptChunk['of'], KeptValues[]>>
}

export class SqliteKeptViews implements KeptEngine {
  readonly states: KeptStates
  readonly #options: SqliteKeptOptions

  constructor(store: ServiceStore, options: SqliteKeptOptions) {
    this.states = new KeptStates(store, () => '?')
    this.#options = options
  }

  emit({ plan, touched, one, whole, starts }: KeptQueries): ReturnType<KeptEngine['emit']> {
    const emit = (query: typeof whole, isWhole: boolean): KeptStatement => {
      const emission = createEmission(SQLITE, isWhole ? { statement: query } : {})
      return toKeptStatement(emission.placeholders.positional(emitQuery(query, emission)), toSqlite)
    }
    const group = one((index, { type }) => ({ kind: 'parameter', index, type, nullable: false }))
    const least = plan.least.map(({ ordinal, value }) => {
      return { ordinal, value: toSqlite(value, plan.columns[ordinal]?.type ?? TIMESTAMP) }
    })
    return {
      statements: {
        kind: 'by group',
        touched: touched.map((query) => emit(query, false)),
        group: emit(group, true),
        whole: emit(whole, true),
        least,
      },
      starts: starts.map((query) => emit(query, false)),
    }
  }

  bucketStart({ isDate, start }: KeptBucket, time: bigint): Promise<bigint> {
    const unit = isDate ? MICROS_PER_DAY : 1n
    const value = toSqlite(floorDivide(time, unit), isDate ? DATE : TIMESTAMP)
    return retryWhileLocked(() => {
      const [found] = (this.#options.readingStatements.get(start.sql).get(...fillSlots(start, '', [value])) ??
        []) as readonly bigint[]
      if (found === undefined) throw new Error('A bucket without a start')
      return found * unit
    })
  }

  async countStaying(plan: KeptPlan): Promise<number> {
    const { isEvaluated, values } = evaluated(plan)
    return retryWhileLocked(() => {
      const count = `SELECT ${countWhere(plan, `NOT (${isEvaluated})`)}`
      const [found] = (this.#options.readingStatements.get(count).get(...values) ?? []) as readonly bigint[]
      return Number(found ?? 0)
    })
  }

  head(table: string): Promise<TablePosition | undefined> {
    return retryWhileLocked(() => readHead(this.#options.readingStatements, table)?.position)
  }

  async follow(plan: KeptPlan, row: KeptRow, run: KeptRun): Promise<KeptOutcome> {
    const found = await this.#difference({ kind: 'kept', read: 'touched', plan, position: row.position ?? '' }, run)
    if (found.kind !== 'difference') return found
    const outcome = toOutcome(found)
    if (found.position === row.position && row.state === 'ready') return outcome
    await this.#apply(plan, row, run, found, () => [])
    return outcome
  }

  async compare(plan: KeptPlan, row: KeptRow, run: KeptRun): Promise<KeptOutcome> {
    const found = await this.#difference({ kind: 'kept', read: 'compare', plan, position: '' }, run)
    if (found.kind === 'many') return this.#replace(plan, row, run)
    if (found.kind !== 'difference') return found
    const outcome = toOutcome(found)
    const further: Parameters<KeptStates['set']>[2] = (value) => [
      `done = ${value(BigInt(row.asked))}`,
      `wrong = ${value(BigInt(outcome.wrong))}`,
      `zones = ${value(plan.zones ?? null)}`,
      'builds = builds + 1',
    ]
    await this.#apply(plan, row, run, found, further, countRows(plan))
    return outcome
  }

  /** The rows with the new position, if the view is still at the old one. */
  async #apply(
    plan: KeptPlan,
    row: KeptRow,
    run: KeptRun,
    { position, rows: { inserted, updated, deleted } }: Difference,
    further: Parameters<KeptStates['set']>[2],
    known: Sql = 'rows',
  ): Promise<void> {
    const { sql, parameters } = this.states.move(plan, row.position, (value) => [
      `position = ${value(position)}`,
      "state = 'ready'",
      'error = NULL',
      `rows = ${known} + ${value(BigInt(inserted.length - deleted.length))}`,
      ...further(value),
    ])
    const steps = keptWriteSteps(plan, [...inserted, ...updated], deleted)
    await this.#write(plan, run, [{ sql, parameterSets: [parameters], mustChange: true }, ...steps])
  }

  /** So many rows differ that they are not held in memory: they are written beside the view, and replace its rows in one commit. */
  async #replace(plan: KeptPlan, row: KeptRow, run: KeptRun): Promise<KeptOutcome> {
    await this.#write(plan, run, openAsideSteps(plan))
    const outcome = await this.#inPieces(plan, run, (rows) => this.#write(plan, run, [asideStep(plan, rows)]))
    if (outcome.kind !== 'kept') return outcome
    const { sql, parameters } = this.states.move(plan, row.position, (value) => [
      `position = ${value(outcome.position)}`,
      "state = 'ready'",
      'error = NULL',
      `rows = ${countTaken(plan, value)}`,
      `done = ${value(BigInt(row.asked))}`,
      `wrong = ${countWrong(plan, value)}`,
      `zones = ${value(plan.zones ?? null)}`,
      'builds = builds + 1',
    ])
    const taken: WriteStep = { sql, parameterSets: [parameters], mustChange: true }
    await this.#write(plan, run, [taken, ...takeAsideSteps(plan)], true)
    return { ...outcome, wrong: (await this.states.find(plan.view))?.wrong ?? 0 }
  }

  /** In pieces, without a change log; begun again after a kill. Nobody reads the rows meanwhile. */
  async build(plan: KeptPlan, run: BuildRun): Promise<KeptOutcome> {
    await this.#write(plan, run, [emptyStep(plan)])
    const outcome = await this.#inPieces(plan, run, async (rows, count) => {
      const { sql, parameters } = this.states.move(plan, undefined, (value) => [
        "state = 'building'",
        'error = NULL',
        `rows = ${value(BigInt(count))}`,
        'progress = progress + (999 - progress) / 4',
      ])
      const steps = keptWriteSteps(plan, rows, [])
      await this.#write(plan, run, [{ sql, parameterSets: [parameters], mustChange: true }, ...steps])
      run.onProgress()
    })
    if (outcome.kind !== 'kept') return outcome
    const { sql, parameters } = this.states.move(plan, undefined, (value) => [
      `position = ${value(outcome.position)}`,
      "state = 'ready'",
      'progress = 1000',
      `built = ${SQLITE.truth(true)}`,
      'error = NULL',
      'builds = builds + 1',
      'done = asked',
      `zones = ${value(plan.zones ?? null)}`,
      'wrong = 0',
    ])
    const log = createLogSql(run.definition, run.always).map((text) => ({ sql: text, parameterSets: [[]] }))
    await this.#write(plan, run, [{ sql, parameterSets: [parameters], mustChange: true }, ...log])
    return outcome
  }

  /** All rows of one snapshot. */
  async #inPieces(
    plan: KeptPlan,
    run: KeptRun,
    flush: (rows: readonly KeptValues[], count: number) => Promise<void>,
  ): Promise<KeptOutcome> {
    const began = performance.now()
    await using chunks = this.#read({ kind: 'kept', read: 'build', plan, position: '' }, run)
    let piece: KeptValues[] = []
    let count = 0
    for (;;) {
      const next = await chunks.next()
      if (!next.done) piece.push(...next.value.rows)
      if (piece.length >= PIECE_ROWS || (next.done && piece.length > 0)) {
        count += piece.length
        await flush(piece, count)
        piece = []
      }
      if (!next.done) continue
      if (next.value.kind !== 'read') return { kind: next.value.kind }
      const milliseconds = performance.now() - began
      return { kind: 'kept', position: next.value.position, groups: count, milliseconds, wrong: 0 }
    }
  }

  async #difference(job: KeptJob, run: KeptRun): Promise<Difference | Exclude<KeptOutcome, { kind: 'kept' }>> {
    const rows: Difference['rows'] = { inserted: [], updated: [], deleted: [] }
    await using chunks = this.#read(job, run)
    for (;;) {
      const next = await chunks.next()
      if (!next.done) rows[next.value.of].push(...next.value.rows)
      else if (next.value.kind === 'read') return { ...next.value, kind: 'difference', rows }
      else return { kind: next.value.kind }
    }
  }

  async *#read(job: KeptJob, { running }: KeptRun): AsyncGenerator<KeptChunk, KeptJobOutcome, void> {
    await using chunks = this.#options.pool.read(OWNER + job.plan.view, job, running)
    for (;;) {
      const next = await chunks.next()
      if (next.done) return next.value
      yield* decodeKeptChunks(next.value)
    }
  }

  async #write(plan: KeptPlan, { term, running }: KeptRun, steps: readonly WriteStep[], isLong = false): Promise<void> {
    const rows = steps.reduce((count, { parameterSets }) => count + parameterSets.length, 0)
    await this.#options.write({
      owner: undefined,
      tables: [{ name: plan.view, isLive: true }],
      steps,
      returning: [],
      tracksRows: false,
      isShort: !isLong && rows <= SHARED_ROWS,
      rowLimit: 0,
      mustBeWhole: false,
      running,
      idempotencyKey: undefined,
      term,
    })
  }
}

function toOutcome({ position, groups, milliseconds, rows }: Difference): Extract<KeptOutcome, { kind: 'kept' }> {
  const wrong = rows.inserted.length + rows.updated.length + rows.deleted.length
  return { kind: 'kept', position, groups, milliseconds, wrong }
}
