/** Materialized views on PostgreSQL: one transaction of the keeper evaluates, writes, and stores the new position. */
import { DATE, floorDivide, MICROS_PER_DAY, TIMESTAMP } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import type { Pool, PoolClient } from 'pg'
import { refuse } from '../../../errors.ts'
import { quoteIdentifier } from '../../emit/dialect.ts'
import {
  type BuildRun,
  fillSlots,
  type KeptBucket,
  type KeptEngine,
  type KeptOutcome,
  type KeptPlan,
  type KeptRun,
} from '../../kept-engine.ts'
import { type KeptRow, KeptStates, type SetColumns } from '../../kept-states.ts'
import type { TablePosition } from '../../live-source.ts'
import type { ServiceStore } from '../../service-store.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { writePosition } from '../dialect/positions.ts'
import { requireTerm } from '../keeper-term.ts'
import { createLog } from '../live/change-log.ts'
import { EXISTING_LOGS, HEAD_COLUMNS } from '../live/log-heads.ts'
import { type Acquire, withClient } from '../pool.ts'
import { mustCommit } from '../protocol/pipeline.ts'
import { SCHEMA, toPostgres } from '../representation.ts'
import { withRetries } from '../retry.ts'
import { atOnce, type Evaluated, evaluateAll, evaluateTouched, lockBase } from './evaluate.ts'
import { emitKept } from './statements.ts'

export interface PostgresKeptOptions {
  readonly owner: Pool
  /** Connections of the owner for evaluations. */
  readonly acquire: Acquire
  /** The keeper has written rows of a view. */
  readonly onWritten: (view: string) => void
}

/** The longest wait for a lock. */
const LOCK_MS = 5_000

interface Change {
  readonly evaluate: (client: PoolClient) => Promise<Evaluated | undefined>
  /** The position of the view until now. */
  readonly expected: TablePosition | undefined
  readonly set: (evaluated: Evaluated) => SetColumns
  readonly finish?: (client: PoolClient) => Promise<void>
}

export class PostgresKeptViews implements KeptEngine {
  readonly states: KeptStates
  readonly emit = emitKept
  readonly #options: PostgresKeptOptions

  constructor(store: ServiceStore, options: PostgresKeptOptions) {
    this.states = new KeptStates(store, (position) => `$${position}`)
    this.#options = options
  }

  async bucketStart({ isDate, start }: KeptBucket, time: bigint): Promise<bigint> {
    const value = isDate ? toPostgres(floorDivide(time, MICROS_PER_DAY), DATE) : toPostgres(time, TIMESTAMP)
    const { rows } = await this.#options.owner.query<{ start: string }>(start.sql, fillSlots(start, '', [value]))
    return BigInt(rows[0]?.start ?? 0)
  }

  async countStaying(plan: KeptPlan): Promise<number> {
    const { staying } = atOnce(plan)
    const { rows } = await this.#options.owner.query<{ staying: string }>(staying.sql, fillSlots(staying, ''))
    return Number(rows[0]?.staying ?? 0)
  }

  async head(table: string): Promise<TablePosition | undefined> {
    const { rows } = await withClient(this.#options.owner, (client) =>
      client.query<{ epoch: string; incarnation: string; snapshot: string }>(
        `SELECT ${HEAD_COLUMNS} FROM ${EXISTING_LOGS} WHERE l.name = $1`,
        [table.toLowerCase()],
      ),
    )
    const [row] = rows
    return row && writePosition(row.epoch, row.incarnation, row.snapshot)
  }

  async follow(plan: KeptPlan, row: KeptRow, run: KeptRun): Promise<KeptOutcome> {
    try {
      return await this.#keep(plan, run, {
        evaluate: (client) => evaluateTouched(client, plan, row.position ?? ''),
        expected: row.position,
        set: (evaluated) =>
          counted(evaluated, (value) => [`rows = rows + ${value(BigInt(evaluated.inserted - evaluated.removed))}`]),
      })
    } catch (error) {
      // Perhaps only at a row as it was, which says nothing of the query as it is.
      if (error instanceof Refusal && error.code.startsWith('IQL.')) return { kind: 'lost' }
      throw error
    }
  }

  compare(plan: KeptPlan, row: KeptRow, run: KeptRun): Promise<KeptOutcome> {
    return this.#keep(plan, run, {
      evaluate: (client) => evaluateAll(client, atOnce(plan).compare),
      expected: row.position,
      set: (evaluated) =>
        counted(evaluated, (value) => [
          `done = ${value(BigInt(row.asked))}`,
          `wrong = ${value(BigInt(countWrong(evaluated)))}`,
          `zones = ${value(plan.zones ?? null)}`,
          'builds = builds + 1',
          // What retention has deleted of it was not counted.
          `rows = (SELECT count(*) FROM ${SCHEMA}.${quoteIdentifier(plan.view)})`,
        ]),
    })
  }

  build(plan: KeptPlan, run: BuildRun): Promise<KeptOutcome> {
    return this.#keep(plan, run, {
      evaluate: (client) => evaluateAll(client, atOnce(plan).build),
      expected: undefined,
      set: (evaluated) =>
        counted(evaluated, (value) => [
          `rows = ${value(BigInt(evaluated.inserted))}`,
          'progress = 1000',
          `built = ${POSTGRES.truth(true)}`,
          'builds = builds + 1',
          'done = asked',
          `zones = ${value(plan.zones ?? null)}`,
        ]),
      finish: (client) => createLog(client, run.definition, run.always),
    })
  }

  async #keep(plan: KeptPlan, { term, running }: KeptRun, change: Change): Promise<KeptOutcome> {
    const options = { owner: '', running, isLong: true, inTransaction: true }
    const outcome = await withRetries(this.#options.acquire, options, async (client): Promise<KeptOutcome> => {
      const began = performance.now()
      await client.query('BEGIN')
      await client.query(`SET LOCAL lock_timeout = ${LOCK_MS}`)
      const evaluated = (await lockBase(client, plan)) ? await change.evaluate(client) : 'stale'
      if (evaluated === undefined || evaluated === 'stale') {
        await client.query('ROLLBACK')
        return { kind: evaluated ?? 'lost' }
      }
      const { sql, parameters } = this.states.move(plan, change.expected, change.set(evaluated))
      const { rowCount } = await client.query(sql, [...parameters])
      if (rowCount === 0) throw refuse('Data.Conflict', `${plan.view} has just changed`)
      await change.finish?.(client)
      await requireTerm(client, term)
      await mustCommit(client)
      const { position, groups } = evaluated
      return { kind: 'kept', position, groups, milliseconds: performance.now() - began, wrong: countWrong(evaluated) }
    })
    if (outcome.kind === 'kept' && outcome.wrong > 0) this.#options.onWritten(plan.view)
    return outcome
  }
}

function counted({ position }: Evaluated, further: SetColumns): SetColumns {
  return (value) => [`position = ${value(position)}`, "state = 'ready'", 'error = NULL', ...further(value)]
}

function countWrong({ inserted, updated, removed }: Evaluated): number {
  return inserted + updated + removed
}
