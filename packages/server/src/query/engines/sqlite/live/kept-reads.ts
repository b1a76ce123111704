/** Materialized views on SQLite: read in reader processes; written as short writes, or in the writer process. */
import { retryWhileLocked } from '../../../../store/database/write-lock.ts'
import type { TableDefinition } from '../../../catalogue/definition.ts'
import { refuse } from '../../../errors.ts'
import { quoteIdentifier } from '../../emit/dialect.ts'
import type { WriteStep } from '../../engine.ts'
import type { KeptOutcome, KeptPlan, KeptReads, KeptValues } from '../../kept-reads.ts'
import { KeptStates } from '../../kept-states.ts'
import type { TablePosition } from '../../live-source.ts'
import type { ServiceStore } from '../../service-store.ts'
import type { ReaderPool } from '../processes/reader-pool.ts'
import {
  decodeKeptChunks,
  type KeptChunk,
  type KeptJob,
  type KeptJobOutcome,
  keptWriteSteps,
} from '../read/kept-read.ts'
import { readHead } from '../read/live-read.ts'
import type { StatementCache } from '../statement-cache.ts'
import { createLogSql, dropLogSql } from './change-log.ts'

/** The owner of the reads, which no user has. */
const OWNER = ''

export class SqliteKeptReads implements KeptReads {
  readonly states: KeptStates
  readonly #pool: ReaderPool
  readonly #reading: StatementCache

  constructor(
    store: ServiceStore,
    { pool, readingStatements }: { readonly pool: ReaderPool; readonly readingStatements: StatementCache },
  ) {
    this.states = new KeptStates(store, () => '?')
    this.#pool = pool
    this.#reading = readingStatements
  }

  head(table: string): Promise<TablePosition | undefined> {
    return retryWhileLocked(() => readHead(this.#reading, table)?.position)
  }

  touched(plan: KeptPlan, position: TablePosition, signal: AbortSignal): Promise<KeptOutcome> {
    return this.#difference({ kind: 'kept', read: 'touched', plan, position }, signal)
  }

  compare(plan: KeptPlan, signal: AbortSignal): Promise<KeptOutcome> {
    return this.#difference({ kind: 'kept', read: 'compare', plan, position: '' }, signal)
  }

  async #difference(job: KeptJob, signal: AbortSignal): Promise<KeptOutcome> {
    const rows: Record<KeptChunk['of'], KeptValues[]> = { inserted: [], updated: [], deleted: [] }
    await using chunks = this.#read(job, signal)
    for (;;) {
      const next = await chunks.next()
      if (!next.done) for (const row of next.value.rows) rows[next.value.of].push(row)
      else if (next.value.kind === 'read') return { ...next.value, kind: 'difference', ...rows }
      else return { kind: next.value.kind }
    }
  }

  async *build(plan: KeptPlan, signal: AbortSignal): AsyncGenerator<readonly KeptValues[], TablePosition, void> {
    await using chunks = this.#read({ kind: 'kept', read: 'build', plan, position: '' }, signal)
    for (;;) {
      const next = await chunks.next()
      if (!next.done) yield next.value.rows
      else if (next.value.kind === 'read') return next.value.position
      else if (next.value.kind === 'stale') throw refuse('Data.Conflict', `The table ${plan.base} has just changed`)
      else throw new Error(`${plan.base} has no change log`)
    }
  }

  async *#read(job: KeptJob, signal: AbortSignal): AsyncGenerator<KeptChunk, KeptJobOutcome, void> {
    await using chunks = this.#pool.read(OWNER, job, { signal }, { onStart: () => {} })
    for (;;) {
      const next = await chunks.next()
      if (next.done) return next.value
      yield* decodeKeptChunks(next.value)
    }
  }

  readonly writeSteps = keptWriteSteps

  emptySteps(view: string): WriteStep[] {
    const empty = `DELETE FROM main.${quoteIdentifier(view)}`
    return [...dropLogSql(view), empty].map((sql) => ({ sql, parameterSets: [[]] }))
  }

  logSteps(view: TableDefinition, always: ReadonlySet<string> | undefined): WriteStep[] {
    return createLogSql(view, always).map((sql) => ({ sql, parameterSets: [[]] }))
  }
}
