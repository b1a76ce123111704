/** What the server and the offline commands both work on: the data folder, the keys, the identity database and the audit log. */

import type { Clock } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import type { Bus } from '../events/bus.ts'
import { type Cluster, openCluster } from '../events/cluster.ts'
import { openBus } from '../events/open-bus.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import { type AuditLog, openAuditLog } from '../store/audit/audit.ts'
import { nodeName } from '../store/cluster/nodes.ts'
import { openDataFolder } from '../store/database/data-folder.ts'
import { type Database, type DatabaseOptions, openDatabase, openUnmigrated } from '../store/database/database.ts'
import type { DatabaseServers } from '../store/database/servers/servers.ts'
import { type MasterKey, openMasterKey, requireMasterKey } from '../store/keys/master-key.ts'
import { createStores, type Stores } from '../store/stores.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Cleanup } from './watch/cleanup.ts'
import type { WorkerLink } from './worker-link.ts'

export interface Resources {
  readonly node: string
  readonly clock: Clock
  readonly masterKey: MasterKey
  /** Those of PostgreSQL. */
  readonly servers: DatabaseServers | undefined
  readonly database: Database
  readonly stores: Stores
  readonly audit: AuditLog
}

export interface ResourceOptions {
  readonly clock: Clock
  readonly onAuditError: (error: unknown) => void
  readonly onStatement?: DatabaseOptions['onStatement']
  readonly onAvailability?: DatabaseOptions['onAvailability']
  readonly onMigrated?: DatabaseOptions['onMigrated']
  readonly shared?: DatabaseOptions['shared']
  readonly servers?: DatabaseOptions['servers']
}

export async function openResources(config: Config, options: ResourceOptions, cleanup: Cleanup): Promise<Resources> {
  const { onStatement, onAvailability, onMigrated, shared, servers } = options
  const masterKey = openMasterKey(openDataFolder(config.data), config.masterKey)
  const place = { dataFolder: config.data, url: config.databaseUrl, servers }
  const database = await openDatabase({ ...place, onStatement, onAvailability, onMigrated, shared })
  await servers?.recordHistory()
  return assemble(config, { masterKey, database }, options, cleanup)
}

/** Opens an installation that has been checked, without changing it. */
export function openExisting(config: Config, options: ResourceOptions, cleanup: Cleanup): Resources {
  const masterKey = requireMasterKey(config.data, config.masterKey)
  const database = openUnmigrated({ dataFolder: config.data, url: config.databaseUrl })
  return assemble(config, { masterKey, database }, options, cleanup)
}

function assemble(
  config: Config,
  { masterKey, database }: Pick<Resources, 'masterKey' | 'database'>,
  { clock, onAuditError, servers }: ResourceOptions,
  cleanup: Cleanup,
): Resources {
  cleanup.add(() => database.close())
  const node = nodeName()
  const audit = openAuditLog(database, { clock, node, onError: onAuditError })
  cleanup.add(() => audit.close())
  const stores = createStores(database, clock, {
    sessions: { idle: config.sessionIdle, absolute: config.sessionLifetime },
  })
  return { node, clock, masterKey, servers, database, stores, audit }
}

/** The event bus and the other nodes on the same database. */
export async function joinCluster(
  config: Config,
  issuer: string,
  { database, servers, stores, node, clock }: Resources,
  logger: Logger,
  cleanup: Cleanup,
  worker?: WorkerLink,
): Promise<{ readonly bus: Bus; readonly cluster: Cluster }> {
  const bus = await openBus(
    database,
    stores.events,
    { url: config.databaseUrl, dataFolder: config.data, servers },
    exceptOutages((error) => logger.warn({ err: error }, 'event bus error')),
    worker?.identityFile,
  )
  cleanup.add(() => bus.close())
  const cluster = openCluster({
    name: node,
    issuer,
    predecessor: worker?.predecessor,
    bus,
    nodes: stores.nodes,
    clock,
    onError: exceptOutages((error) => logger.warn({ err: error }, 'the other nodes could not be reached')),
  })
  cleanup.add(() => cluster.close())
  return { bus, cluster }
}
