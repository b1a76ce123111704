/** The connections of a node to PostgreSQL: of the schema's owner, of long queries, and of batches of short statements. */
import type { Pool, PoolClient } from 'pg'
import { Responsiveness } from '../../../store/database/servers/responsiveness.ts'
import { DatabaseServers } from '../../../store/database/servers/servers.ts'
import { readTempFileLimit } from '../../../store/database/temp-files.ts'
import type { EngineOptions } from '../engine-options.ts'
import { FairSlots } from '../slots/fair-slots.ts'
import { type Acquire, acquireFrom, createPool, type PoolOptions, withClient } from './pool.ts'
import { createBatchedReads, type PrepareBatchedRead } from './protocol/batched-read.ts'
import { createBatchedWrites, type WriteBatched } from './protocol/batched-write.ts'
import { prepareDatabase } from './setup/setup.ts'
import { StuckBackends } from './stuck-backends.ts'
import { type TempFileSetting, tempFileSetting } from './temp-files.ts'

export interface OpenDatabase {
  readonly servers: DatabaseServers
  readonly owner: Pool
  /** All others. */
  readonly pools: readonly Pool[]
  readonly slots: FairSlots
  readonly stuck: StuckBackends
  /** A connection for a query. */
  readonly acquire: Acquire
  /** A connection of the owner, for a change of the catalogue. */
  readonly acquireChange: Acquire
  /** A connection of the owner, for an evaluation of a materialized view. */
  readonly acquireKept: Acquire
  readonly prepareBatched: PrepareBatchedRead
  readonly writeBatched: WriteBatched
  readonly tempFiles: TempFileSetting
}

/** For each node, in addition to the connections of long queries. */
const CONNECTIONS = {
  owner: 2,
  /** Short statements that cannot be batched: several rows, a row filter, an idempotency key. Long ones never take these. */
  unbatched: 4,
  reads: 2,
  writes: 1,
  /** Of the keeper, opened when there are materialized views. */
  kept: 2,
}
/** The longest wait for a new connection: a server that takes longer is not available. */
const CONNECT_MS = 5000
/** How much later the database ends a statement than the server would. */
const MARGIN_MS = 2000
/** The longest wait for a lock in a batch. */
const LOCK_MS = 50
/** The longest run of a batched read. Writes have no such limit: a commit that waits for a replica must not be interrupted. */
const READ_MS = 1000

export async function openDatabase(options: EngineOptions): Promise<OpenDatabase> {
  const { databaseUrl, dataFolder, milliseconds, concurrency, waiting, availability, onStuck = () => {} } = options
  const servers = options.servers ?? new DatabaseServers(databaseUrl, { dataFolder })
  const connectMs = Math.min(milliseconds, CONNECT_MS)
  const common = { servers, connectMs, availability, responsiveness: new Responsiveness() }
  const owner = createPool({ ...common, max: CONNECTIONS.owner })
  const { role, limit } = await prepare(owner)
  const tempFiles = tempFileSetting(limit, options.temp, concurrency)
  // The limit of temporary files is set before SET ROLE, because the role has no permission to set it.
  const settings = { ...tempFiles, ...(role === '' ? {} : { role }) }
  const { queries, reads, writes } = createPools({ ...common, settings }, options)
  // PostgreSQL runs all of them with the same priority.
  const keptPool = createPool({ ...common, max: CONNECTIONS.kept, settings: { ...tempFiles } })
  const slots = new FairSlots(queries.options.max, waiting, { long: concurrency, isHalfForOthers: true })
  const stuck = new StuckBackends(owner, onStuck)
  const batches = { waiting, milliseconds, onLate: (client: PoolClient) => stuck.watchBatch(client) }
  return {
    servers,
    owner,
    pools: [queries, reads, writes, keptPool],
    slots,
    stuck,
    acquire: acquireFrom(queries, slots, stuck),
    // One at a time, because they block one another; the other connection is left for everything else.
    acquireChange: acquireFrom(owner, new FairSlots(1, waiting), stuck),
    acquireKept: acquireFrom(keptPool, new FairSlots(CONNECTIONS.kept, waiting), stuck),
    prepareBatched: createBatchedReads({ ...batches, pool: reads, connections: CONNECTIONS.reads }),
    writeBatched: createBatchedWrites({ ...batches, pool: writes }),
    tempFiles,
  }
}

/** The schema, and what depends on the privileges of the user. */
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

function createPools(common: Omit<PoolOptions, 'max'>, options: EngineOptions) {
  const { milliseconds, exportMilliseconds = milliseconds, concurrency } = options
  const create = (max: number, settings: PoolOptions['settings']): Pool =>
    createPool({ ...common, max, settings: { ...common.settings, ...settings } })
  // A portal is one statement from the first row to the last.
  const longest = Math.max(milliseconds, exportMilliseconds) + MARGIN_MS
  return {
    queries: create(concurrency + CONNECTIONS.unbatched, { statement_timeout: longest }),
    reads: create(CONNECTIONS.reads, { statement_timeout: READ_MS, lock_timeout: LOCK_MS }),
    writes: create(CONNECTIONS.writes, { statement_timeout: milliseconds + MARGIN_MS, lock_timeout: LOCK_MS }),
  }
}
