/** Plans live statements on a real engine, and runs the SQL of the plans. */

import { type ResultColumn, readParameters } from 'gatehouse-iql'
import { noAudit, type Principal } from 'gatehouse-protocol'
import { Availability } from '../../../packages/server/src/lib/availability.ts'
import { NO_ATTRIBUTES } from '../../../packages/server/src/query/catalogue/attributes.ts'
import { NO_COPIES, NO_LICENCES } from '../../../packages/server/src/query/catalogue/licences.ts'
import {
  type Bindable,
  bindParameters,
  type RunValues,
} from '../../../packages/server/src/query/engines/emit/parameters.ts'
import type { Engine } from '../../../packages/server/src/query/engines/engine.ts'
import { openEngine } from '../../../packages/server/src/query/engines/open.ts'
import { Keeper } from '../../../packages/server/src/query/keeper/keeper.ts'
import { KeptViews } from '../../../packages/server/src/query/kept/kept-views.ts'
import { type LivePlan, planLive } from '../../../packages/server/src/query/plan/live.ts'
import { type Planned, Planner } from '../../../packages/server/src/query/plan/planner.ts'
import { execute } from '../../../packages/server/src/query/run/execution.ts'
import { NodeCatalogue } from '../../../packages/server/src/query/run/node-catalogue.ts'
import { createStepUp } from '../../../packages/server/src/step-up/step-up.ts'
import type { TestPlace } from '../../support/engines.ts'
import { createLocalBus } from '../../support/local-bus.ts'
import { CALLERS } from '../query-server.ts'

export interface Options {
  readonly as?: string
  readonly parameters?: Readonly<Record<string, string | null>>
  /** A query of the changed keys, instead of one over the change log. `{table}` is the name of a table in the database. */
  readonly changed?: string
}

/** The parts of a row as JSON texts. */
export interface ReadRow {
  readonly row: string
  readonly key: string
  readonly route: string
}

export interface Planning {
  /** A definition or a write. */
  run(statement: string): Promise<void>
  plan(statement: string, options?: Options): LivePlan
  whole(statement: string, options?: Options): Promise<ReadRow[]>
  changes(statement: string, options: Options): Promise<ReadRow[]>
  /** The statement as the query service runs it. */
  plain(statement: string, options?: Options): Promise<string[]>
  /** The route of the statement in its family. */
  findRoute(statement: string, options?: Options): string | undefined
  close(): Promise<void>
}

const NOW = Date.parse('2026-01-31T10:00:00Z')
const LINES = { format: 'ndjson', rows: 'arrays', integers: 'numbers' } as const
const UNLIMITED = { statement: Number.MAX_SAFE_INTEGER, user: Number.MAX_SAFE_INTEGER }
const LIMITS = { skip: 0, rows: 1000, bytes: 1_000_000 }

export async function openPlanning({ dataFolder, databaseUrl }: TestPlace): Promise<Planning> {
  const limits = {
    concurrency: 1,
    waiting: 10,
    milliseconds: 30_000,
    writeWaitMs: 5000,
    maxTables: 1000,
    temp: UNLIMITED,
  }
  const engine = await openEngine({
    dataFolder,
    databaseUrl,
    ...limits,
    availability: new Availability(() => {}),
    log: { milliseconds: 600_000, changes: 1_000_000 },
  })
  const onError = (error: unknown): void => {
    throw error
  }
  const catalogue = await NodeCatalogue.open({ engine, bus: createLocalBus(), onError })
  const planner = new Planner(engine)
  const auditTable = { catchUp: async () => {}, trim: async () => {} }
  const attributes = NO_ATTRIBUTES
  const stepUp = createStepUp({ clock: () => NOW, audit: noAudit })
  const licensed = { licences: NO_LICENCES, copies: NO_COPIES, way: 'query' } as const
  const keeper = new Keeper({ lease: engine.lease, onError })
  const kept = new KeptViews({ engine, catalogue, keeper, milliseconds: 60_000, onError })
  const env = {
    engine,
    catalogue,
    planner,
    clock: () => NOW,
    audit: noAudit,
    auditTable,
    attributes,
    stepUp,
    kept,
    ...licensed,
  }

  const planned = (statement: string, options: Options): Planned =>
    planner.planWithLiterals(createCaller(options), catalogue.snapshot, statement)
  const plan = (statement: string, options: Options = {}): LivePlan => {
    const { changed } = options
    const changedKeys = changed === undefined ? engine.dialect.changedKeys : () => onEngine(changed, engine)
    return planLive(planned(statement, options), { dialect: { ...engine.dialect, changedKeys }, finish: engine.finish })
  }
  const values = (statement: string, options: Options): RunValues => {
    const { subject, username, clientId, roles, scopes } = createCaller(options)
    const inputs = Object.entries(options.parameters ?? {}).map(
      ([name, text]) => [name, text === null ? null : { text }] as const,
    )
    const parameters = readParameters(statement, planned(statement, options).bound, new Map(inputs))
    return { parameters, subject, username, clientId, roles, scopes, milliseconds: NOW }
  }
  return {
    plan,
    async run(statement) {
      const principal = createCaller({})
      const call = { planned: planned(statement, {}), principal, rights: principal, requestId: 'setup', address: '' }
      const running = new AbortController()
      await execute({ ...call, valueSets: [[]], encoding: LINES, limits: LIMITS, running }, env)
    },
    async whole(statement, options = {}) {
      const live = plan(statement, options)
      const { columns, keyColumns = [] } = live.statement
      const parameters = bindParameters(live.emitted, values(statement, options), engine.bind)
      return split(await read(engine, live.statement.sql, [...columns, ...keyColumns], parameters), live)
    },
    async changes(statement, options) {
      const live = plan(statement, options)
      if (live.family === undefined) throw new Error(`${statement} is not read by keys`)
      const { emitted: sql, statement: changed } = live.family.changed
      const { columns, keyColumns = [], routeColumns } = changed
      const parameters = bindParameters(sql, values(statement, options), engine.bind)
      return split(await read(engine, sql.sql, [...columns, ...keyColumns, ...routeColumns], parameters), live)
    },
    async plain(statement, options = {}) {
      const { emitted: whole, bound } = planned(statement, options)
      if (whole === undefined) throw new Error(`${statement} is not a query`)
      const parameters = bindParameters(whole, values(statement, options), engine.bind)
      return (await read(engine, whole.sql, bound.columns, parameters)).map((cells) => JSON.stringify(cells))
    },
    findRoute: (statement, options = {}) =>
      plan(statement, options).family?.findRoute(values(statement, options), { integers: 'numbers' }),
    async close() {
      catalogue.close()
      await engine.close()
    },
  }
}

function createCaller({ as = 'admin' }: Options): Principal {
  const principal = CALLERS[as]
  if (principal === undefined) throw new Error(`There is no caller ${as}`)
  return principal
}

function onEngine(sql: string, { kind }: Engine): string {
  return sql.replaceAll(/\{(\w+)\}/g, (_whole, table) => `${kind === 'sqlite' ? 'main' : 'gatehouse_data'}."${table}"`)
}

async function read(
  engine: Engine,
  sql: string,
  columns: readonly ResultColumn[],
  parameters: readonly Bindable[],
): Promise<unknown[][]> {
  const names = columns.map((_column, index) => `c${index}`).join(', ')
  // Engines read the columns of a result by these names.
  const named = `WITH r (${names}) AS (${sql}) SELECT * FROM r`
  const prepared = engine.prepareRead({ sql: named, columns, keyColumns: [], cost: 'unbounded' })
  const run = { owner: 'test', parameters, encoding: LINES, limits: LIMITS }
  const chunks: Uint8Array[] = []
  for await (const chunk of prepared.readStream(run, new AbortController())) chunks.push(chunk)
  const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

function split(rows: readonly unknown[][], { statement }: LivePlan): ReadRow[] {
  const keyStart = statement.columns.length
  const routeStart = keyStart + (statement.keyColumns?.length ?? 0)
  return rows.map((cells) => ({
    row: JSON.stringify(cells.slice(0, keyStart)),
    key: JSON.stringify(cells.slice(keyStart, routeStart)),
    route: JSON.stringify(cells.slice(routeStart)),
  }))
}
