/** The data of an installation opened without serving it: what commands work on while the server runs or rests. */
import type { Config } from './config.ts'
import type { ReconcileEnv } from './declarative/reconcile.ts'
import type { TablesPort } from './declarative/tables-port.ts'
import { type Assembly, createAsker } from './events/assembly.ts'
import { openBus } from './events/open-bus.ts'
import { type Clock, systemClock } from './protocol/clock.ts'
import type { GateEvent } from './protocol/gate-event.ts'
import { type AuditLog, openAuditLog } from './store/audit.ts'
import { openDataFolder } from './store/data-folder.ts'
import { type Database, openDatabase } from './store/database.ts'
import { type MasterKey, openMasterKey } from './store/master-key.ts'
import { createNodes, nodeName } from './store/nodes.ts'
import { createStores, type Stores } from './store/stores.ts'

export interface Offline {
  readonly database: Database
  readonly stores: Stores
  readonly audit: AuditLog
  readonly clock: Clock
  readonly reconcileEnv: ReconcileEnv
  readonly masterKey: MasterKey
  /** The nodes that serve this data now. */
  readonly nodes: Pick<Assembly, 'ask'>
  /** The tables of the query service, opened for as long as they are used; a running server hears of every change. */
  withTables<T>(use: (tables: TablesPort) => Promise<T>): Promise<T>
}

export async function withData<T>(config: Config, work: (data: Offline) => Promise<T>): Promise<T> {
  const clock = systemClock
  const folder = openDataFolder(config.data)
  const database = await openDatabase({ dataFolder: config.data, url: config.databaseUrl })
  const failures: unknown[] = []
  const audit = openAuditLog(database, {
    clock,
    node: nodeName(),
    onError: (error) => failures.push(error),
  })
  try {
    const masterKey = openMasterKey(folder, config.masterKey)
    const stores = createStores(database, clock)
    const reconcileEnv = {
      database,
      clock,
      environment: process.env,
      tables: undefined,
      digestKey: masterKey.derive('declared passwords'),
    }
    const withTables: Offline['withTables'] = (use) => openTables(config, database, stores, use)
    const publish = async (event: GateEvent) => void (await stores.events.append(event))
    const nodes = createAsker({ nodes: createNodes(database, clock), bus: { publish }, clock })
    return await work({ database, stores, audit, clock, reconcileEnv, masterKey, nodes, withTables })
  } finally {
    await audit.close()
    await database.close()
    folder.close()
    if (failures.length > 0) process.stderr.write(`gatehouse: the audit log could not be written: ${failures[0]}\n`)
  }
}

async function openTables<T>(
  config: Config,
  database: Database,
  stores: Stores,
  use: (tables: TablesPort) => Promise<T>,
): Promise<T> {
  const { openQuery } = await import('./query/service.ts')
  const bus = await openBus(database, stores.events, config.databaseUrl, rethrow)
  try {
    const query = await openQuery({
      bus,
      clock: systemClock,
      database: { dataFolder: config.data, databaseUrl: config.databaseUrl },
      limits: { concurrency: 1 },
      onError: rethrow,
    })
    try {
      return await use(query.tables)
    } finally {
      await query.close()
    }
  } finally {
    await bus.close()
  }
}

function rethrow(error: unknown): never {
  throw error
}
