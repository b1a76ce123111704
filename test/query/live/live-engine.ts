/** An engine with its catalogue and planner, without the HTTP service: statements are run, and read as live queries read them. */

import { Availability } from '../../../packages/server/src/lib/availability.ts'
import { planChange } from '../../../packages/server/src/query/catalogue/change.ts'
import {
  type Bindable,
  bindParameters,
  type EmittedSql,
  type RunValues,
} from '../../../packages/server/src/query/engines/emit/parameters.ts'
import type { Engine } from '../../../packages/server/src/query/engines/engine.ts'
import type {
  LiveReadRequest,
  LiveReply,
  LogLimits,
  Positions,
} from '../../../packages/server/src/query/engines/live-source.ts'
import { openEngine } from '../../../packages/server/src/query/engines/open.ts'
import { type LivePlan, planLive } from '../../../packages/server/src/query/plan/live.ts'
import type { PositionedSql } from '../../../packages/server/src/query/plan/live-family.ts'
import { Planner } from '../../../packages/server/src/query/plan/planner.ts'
import { NodeCatalogue } from '../../../packages/server/src/query/run/node-catalogue.ts'
import type { TestPlace } from '../../support/engines.ts'
import { createLocalBus } from '../../support/local-bus.ts'
import { caller } from '../query-server.ts'

export interface LiveEngine {
  readonly engine: Engine
  readonly catalogue: NodeCatalogue
  /** Runs a definition or a write. Several writes succeed or fail as one. */
  run(...statements: readonly string[]): Promise<void>
  /** The SQL of the changed rows. */
  restricted(statement: string, position: string): { readonly sql: string; readonly parameters: readonly Bindable[] }
  /** The whole result. */
  read(statement: string, options?: Partial<LiveReadRequest>): Promise<LiveReply>
  /** What has changed since the positions. */
  readSince(statement: string, positions: Positions, options?: Partial<LiveReadRequest>): Promise<LiveReply>
  /** The keys of the rows that have changed since, as they were; or the whole result as it was. */
  readFormer(statement: string, positions: Positions, options?: Partial<LiveReadRequest>): Promise<LiveReply>
  close(): Promise<void>
}

const ADMIN = caller('admin', ['Platform/Admin', 'Platform/Market'], [])
const NEVER = new AbortController()
const UNLIMITED = { statement: Number.MAX_SAFE_INTEGER, user: Number.MAX_SAFE_INTEGER }
const LIMITS: LogLimits = { milliseconds: 600_000, changes: 1_000_000 }

export async function openLiveEngine(place: TestPlace, log = LIMITS): Promise<LiveEngine> {
  const { dataFolder, databaseUrl } = place
  const limits = {
    concurrency: 2,
    waiting: 100,
    milliseconds: 30_000,
    writeWaitMs: 5000,
    maxTables: 1000,
    temp: UNLIMITED,
  }
  const engine = await openEngine({ dataFolder, databaseUrl, ...limits, availability: new Availability(() => {}), log })
  const bus = createLocalBus()
  const onError = (error: unknown): void => {
    throw error
  }
  const catalogue = await NodeCatalogue.open({ engine, bus, onError })
  const planner = new Planner(engine)
  const planned = (text: string) => planner.planWithLiterals(ADMIN, catalogue.snapshot, text)
  const values = (since?: Positions): RunValues => ({
    parameters: [],
    subject: 'admin',
    username: 'admin',
    clientId: 'client',
    roles: [],
    scopes: ADMIN.scopes,
    milliseconds: Date.now(),
    ...(since === undefined ? {} : { since }),
  })
  const parameters = (plan: EmittedSql, since?: Positions) => bindParameters(plan, values(since), engine.bind)
  const request = (live: LivePlan): Omit<LiveReadRequest, 'parameters'> => ({
    owner: 'admin',
    tables: live.tables.map(({ name }) => name),
    statement: live.statement,
    encoding: { rows: 'objects', integers: 'numbers' },
    maxRows: 100_000,
    maxBytes: 100_000_000,
  })
  const plan = (text: string): LivePlan => planLive(planned(text), engine)
  const readChanged = (
    live: LivePlan,
    table: string,
    { statement, emitted: sql }: PositionedSql,
    positions: Positions,
    options: Partial<LiveReadRequest>,
  ): Promise<LiveReply> => {
    const since = { of: 'changed rows', table, position: positions.get(table) ?? '' } as const
    const bound = { statement, parameters: parameters(sql, positions) }
    return engine.live.read({ ...request(live), ...bound, since, ...options }, NEVER.signal)
  }
  return {
    engine,
    catalogue,
    restricted(statement, position) {
      const { family } = plan(statement)
      if (family === undefined) throw new Error(`Not by keys: ${statement}`)
      const { emitted: sql } = family.changed
      return { sql: sql.sql, parameters: parameters(sql, new Map([[family.table, position]])) }
    },
    async run(...statements) {
      const all = statements.map(planned)
      const change = all[0]?.emitted === undefined ? all.map(({ bound }) => bound.statement)[0] : undefined
      if (change !== undefined) {
        const step = planChange(change, catalogue.snapshot, BigInt(Date.now()) * 1000n)
        if (step !== undefined) await catalogue.change([{ change: step, fill: null }])
        return
      }
      await engine.write({
        owner: 'admin',
        tables: all.flatMap(({ bound }) => bound.tables),
        steps: all.flatMap(({ emitted: sql }) =>
          sql === undefined ? [] : [{ sql: sql.sql, parameterSets: [parameters(sql)] }],
        ),
        returning: [],
        tracksRows: false,
        isShort: true,
        rowLimit: 0,
        mustBeWhole: false,
        running: NEVER,
        idempotencyKey: undefined,
      })
    },
    read(statement, options = {}) {
      const live = plan(statement)
      return engine.live.read({ ...request(live), parameters: parameters(live.emitted), ...options }, NEVER.signal)
    },
    readSince(statement, positions, options = {}) {
      const live = plan(statement)
      const { family } = live
      if (family === undefined) throw new Error(`Not by keys: ${statement}`)
      return readChanged(live, family.table, family.changed, positions, options)
    },
    readFormer(statement, positions, options = {}) {
      const live = plan(statement)
      const { family } = live
      if (family !== undefined) return readChanged(live, family.table, family.former(), positions, options)
      const former = live.former()
      if (former === undefined) throw new Error(`Without former rows: ${statement}`)
      const since = { of: 'former result', positions } as const
      const bound = { statement: former.statement, parameters: parameters(former.emitted, positions) }
      return engine.live.read({ ...request(live), ...bound, since, ...options }, NEVER.signal)
    },
    async close() {
      catalogue.close()
      await engine.close()
      await bus.close()
    },
  }
}

/** Resolves when the listener has been called and the condition holds. */
export function committed(engine: Engine, isSeen: () => Promise<boolean>): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      isSeen().then((seen) => {
        if (!seen) return
        stop()
        resolve()
      }, reject)
    }
    const stop = engine.live.onCommit(check)
  })
}

/** Rows by key, in the order of the keys. */
export function readRows({ rows }: LiveReply): Record<string, unknown> {
  return Object.fromEntries(rows.map(({ key, row }) => [key, JSON.parse(row)]).sort())
}

export function findChanged({ changed }: LiveReply): Record<string, boolean> {
  return Object.fromEntries([...(changed ?? [])].map(([key, { wasInserted }]) => [key, wasInserted]).sort())
}
