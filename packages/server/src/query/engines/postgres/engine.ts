/** The PostgreSQL engine: short statements are batched, long ones have a connection of their own and can be cancelled. */
import type { Pool, PoolClient } from 'pg'
import type { Availability } from '../../../lib/availability.ts'
import { readTempFileLimit } from '../../../store/database/temp-files.ts'
import type { Engine, TempLimits } from '../engine.ts'
import { FairSlots } from '../fair-slots.ts'
import type { LogLimits } from '../live-source.ts'
import { type ResponseLimits, StoredResponses } from '../stored-responses.ts'
import { change, readCatalogue } from './catalogue.ts'
import { boundedRows } from './dialect/bounded-sql.ts'
import { POSTGRES } from './dialect/dialect.ts'
import { CommitSignal } from './live/commit-signal.ts'
import { PostgresLiveSource } from './live/live-source.ts'
import { acquireFrom, createPool, withClient } from './pool.ts'
import { createBatchedReads } from './protocol/batched-read.ts'
import { createBatchedWrites } from './protocol/batched-write.ts'
import { streamRows } from './read.ts'
import { rowReader, toPostgres } from './representation.ts'
import { Responsiveness } from './responsiveness.ts'
import { serviceTables } from './service-tables.ts'
import { prepareDatabase } from './setup/setup.ts'
import { type OnStuck, StuckBackends } from './stuck-backends.ts'
import { tempFileSetting } from './temp-files.ts'
import { deleteResponsesBefore, findResponse, isOneStatement, REQUESTS, write } from './write.ts'

export interface PostgresOptions {
  readonly url: string
  /** Of statements that run for long. */
  readonly connections: number
  readonly waitingQueries: number
  /** The time limit of a query. The database ends a statement by itself shortly after, in case the server cannot. */
  readonly milliseconds: number
  /** The same for a result that is sent row by row: its portal is one statement from the first row to the last. */
  readonly exportMilliseconds: number
  readonly availability: Availability
  readonly log: LogLimits
  readonly temp: TempLimits
  readonly responses: ResponseLimits
  readonly onStuck: OnStuck
}

/** For each node, in addition to the connections of long queries. */
const CONNECTIONS = {
  owner: 2,
  /** Short statements that cannot be batched: several rows, a row filter, an idempotency key. Long ones never take these. */
  unbatched: 4,
  reads: 2,
  writes: 1,
}
/** The longest wait for a new connection: a server that takes longer is not available. */
const CONNECT_MS = 5000
/** How much later the database ends a statement than the server would. */
const MARGIN_MS = 2000
/** The longest wait for a lock in a batch. */
const LOCK_MS = 50
/** The longest run of a batched read. Writes have no such limit: a commit that waits for a replica must not be interrupted. */
const READ_MS = 1000

export async function openPostgresEngine(options: PostgresOptions): Promise<Engine> {
  const { url, milliseconds, exportMilliseconds, waitingQueries: waiting, availability } = options
  const common = {
    url,
    connectMs: Math.min(milliseconds, CONNECT_MS),
    availability,
    responsiveness: new Responsiveness(),
  }
  const owner = createPool({ ...common, max: CONNECTIONS.owner })
  const { role, limit } = await prepare(owner)
  const tempFiles = tempFileSetting(limit, options.temp, options.connections)
  const createQueryPool = (max: number, settings = {}): Pool =>
    createPool({
      ...common,
      max,
      // Comes before SET ROLE, because the role may not set the limit.
      settings: {
        ...tempFiles,
        ...(role === '' ? {} : { role }),
        statement_timeout: milliseconds + MARGIN_MS,
        ...settings,
      },
    })
  const longest = Math.max(milliseconds, exportMilliseconds) + MARGIN_MS
  const connections = options.connections + CONNECTIONS.unbatched
  const queries = createQueryPool(connections, { statement_timeout: longest })
  const reads = createQueryPool(CONNECTIONS.reads, { lock_timeout: LOCK_MS, statement_timeout: READ_MS })
  const writes = createQueryPool(CONNECTIONS.writes, { lock_timeout: LOCK_MS })
  const pools = [queries, reads, writes]
  // PostgreSQL runs all of them with the same priority.
  const slots = new FairSlots(connections, waiting, { long: options.connections, isHalfForOthers: true })
  const stuck = new StuckBackends(owner, options.onStuck)
  const acquire = acquireFrom(queries, slots, stuck)
  // One at a time, because they block one another; the other connection is left for everything else.
  const acquireChange = acquireFrom(owner, new FairSlots(1, waiting), stuck)
  const signal = new CommitSignal(url, owner)
  const live = new PostgresLiveSource({
    signal,
    owner,
    acquire,
    limits: options.log,
  })
  const batches = { waiting, milliseconds, onLate: (client: PoolClient) => stuck.watchBatch(client) }
  const prepareBatched = createBatchedReads({ ...batches, pool: reads, connections: CONNECTIONS.reads })
  const writeBatched = createBatchedWrites({ ...batches, pool: writes })
  const responses = new StoredResponses(
    {
      table: REQUESTS,
      placeholder: (position) => `$${position}`,
      read: async (sql, parameters) => (await owner.query(sql, [...parameters])).rows,
      write: ({ sql, parameters }) => owner.query(sql, [...parameters]),
    },
    options.responses,
  )
  return {
    kind: 'postgres',
    dialect: POSTGRES,
    finish: (placeholders, text) => placeholders.numbered(text),
    bind: toPostgres,
    prepareRead(statement) {
      const { sql, columns, keyColumns } = statement
      const query = { ...statement, sql: boundedRows(sql, columns, keyColumns) }
      const readRow = rowReader([...query.columns, ...query.keyColumns])
      return {
        readBatched: prepareBatched(query, readRow),
        readStream: (run, running) => streamRows(acquire, query, readRow, run, running),
      }
    },
    async write(request) {
      try {
        const batched = request.isShort && isOneStatement(request) ? await writeBatched(request) : undefined
        if (batched !== undefined) return batched
        const reply = await write(acquire, request)
        responses.count(request, reply)
        return reply
      } finally {
        // A failed write may or may not have been committed.
        live.committed(request.tables)
      }
    },
    async loadCatalogue() {
      const rows = await withClient(owner, readCatalogue)
      live.catalogueLoaded(rows)
      return rows
    },
    change: (request) => change(acquireChange, request, tempFiles),
    findResponse: (key) => withClient(owner, (client) => findResponse(client, key)),
    deleteResponsesBefore: (time) => deleteResponsesBefore(owner, time),
    trimResponses: () => responses.trim(),
    ...serviceTables(owner),
    live,
    get load() {
      const total = pools.reduce((sum, pool) => sum + pool.totalCount, stuck.size)
      const busy = pools.reduce((sum, pool) => sum - pool.idleCount, total)
      return { busy, total, waiting: slots.waiting, stoppedWrites: 0 }
    },
    check: async () => void (await withClient(owner, readCatalogue)),
    async close() {
      await signal.close()
      await Promise.all(pools.map((pool) => pool.end()))
      await stuck.close().catch(() => {})
      await owner.end()
    },
  }
}

async function prepare(owner: Pool) {
  try {
    return await withClient(owner, async (client) => ({
      role: await prepareDatabase(client),
      limit: await readTempFileLimit(async (statement) => (await client.query(statement)).rows),
    }))
  } catch (error) {
    await owner.end()
    throw error
  }
}
