/** The data of an installation opened without serving it: what commands work on while the server runs or rests. */
import { hostname } from 'node:os'
import type { Config } from './config.ts'
import type { ReconcileEnv } from './declarative/reconcile.ts'
import { type Clock, systemClock } from './protocol/clock.ts'
import { type AuditLog, openAuditLog } from './store/audit.ts'
import { openDataFolder } from './store/data-folder.ts'
import { type Database, openDatabase } from './store/database.ts'
import { type MasterKey, openMasterKey } from './store/master-key.ts'
import { createStores, type Stores } from './store/stores.ts'

export interface Offline {
  readonly database: Database
  readonly stores: Stores
  readonly audit: AuditLog
  readonly clock: Clock
  readonly reconcileEnv: ReconcileEnv
  readonly masterKey: MasterKey
}

export async function withData<T>(config: Config, work: (data: Offline) => Promise<T>): Promise<T> {
  const clock = systemClock
  const folder = openDataFolder(config.data)
  const database = await openDatabase({ dataFolder: config.data, url: config.databaseUrl })
  const failures: unknown[] = []
  const audit = openAuditLog(database, {
    clock,
    node: `${hostname()}:${process.pid}`,
    onError: (error) => failures.push(error),
  })
  try {
    const masterKey = openMasterKey(folder, config.masterKey)
    const reconcileEnv = {
      database,
      clock,
      environment: process.env,
      tables: undefined,
      digestKey: masterKey.derive('declared passwords'),
    }
    return await work({ database, stores: createStores(database, clock), audit, clock, reconcileEnv, masterKey })
  } finally {
    await audit.close()
    await database.close()
    folder.close()
    if (failures.length > 0) process.stderr.write(`gatehouse: the audit log could not be written: ${failures[0]}\n`)
  }
}
