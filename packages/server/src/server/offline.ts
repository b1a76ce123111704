/** The data of an installation for commands, without serving it; a server may run on it at the same time. Never creates or migrates it. */

import { type GateEvent, systemClock } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import type { ReconcileEnv } from '../declarative/reconcile.ts'
import type { TablesPort } from '../declarative/tables-port.ts'
import { type ClusterCaller, createClusterCaller } from '../events/cluster.ts'
import { openBus } from '../events/open-bus.ts'
import { checkStored, requireFile } from '../store/check-stored.ts'
import { lockStart } from '../store/cluster/start-lock.ts'
import { openExisting, type ResourceOptions, type Resources } from './resources.ts'
import { Cleanup } from './watch/cleanup.ts'

export interface Offline extends Resources {
  readonly reconcileEnv: ReconcileEnv
  /** The nodes that serve this data now. */
  readonly nodes: ClusterCaller
  /** Opens the tables of the query service for as long as they are used; running servers learn of every change. */
  withTables<T>(use: (tables: TablesPort) => Promise<T>): Promise<T>
}

export async function withData<T>(config: Config, work: (data: Offline) => Promise<T>): Promise<T> {
  const cleanup = new Cleanup()
  const failures: unknown[] = []
  try {
    const options = { clock: systemClock, onAuditError: (error: unknown) => failures.push(error) }
    const resources = await openPrepared(config, options, cleanup)
    const { database, stores, clock, masterKey } = resources
    const publish = async (event: GateEvent) => void (await stores.events.append(event))
    return await work({
      node: resources.node,
      clock,
      masterKey,
      servers: resources.servers,
      database,
      stores,
      audit: resources.audit,
      reconcileEnv: {
        database,
        clock,
        audit: resources.audit,
        mail: undefined,
        environment: process.env,
        tables: undefined,
        digestKey: masterKey.derive('declared passwords'),
        providerKey: masterKey.derive('providers'),
        provisioning: config.scim,
        localSignIn: config.localSignIn,
      },
      nodes: createClusterCaller({ nodes: stores.nodes, bus: { publish }, clock }),
      withTables: (use) => openTables(config, resources, use),
    })
  } finally {
    await cleanup.run()
    if (failures.length > 0) process.stderr.write(`gatehouse: the audit log could not be written: ${failures[0]}\n`)
  }
}

/** A server that starts at the same time, or another command, waits. Nothing is changed if the master key is wrong. */
async function openPrepared(config: Config, options: ResourceOptions, cleanup: Cleanup): Promise<Resources> {
  const { data: dataFolder, databaseUrl: url, masterKey } = config
  requireFile({ dataFolder, url })
  const unlock = await lockStart({ dataFolder, url })
  try {
    await checkStored({ dataFolder, url, masterKey, mustBeCurrent: true })
    return openExisting(config, options, cleanup)
  } finally {
    await unlock()
  }
}

async function openTables<T>(
  config: Config,
  { database, stores, clock, masterKey, audit }: Resources,
  use: (tables: TablesPort) => Promise<T>,
): Promise<T> {
  const { openQuery } = await import('../query/index.ts')
  const cleanup = new Cleanup()
  try {
    const bus = await openBus(database, stores.events, { url: config.databaseUrl, dataFolder: config.data }, rethrow)
    cleanup.add(() => bus.close())
    const query = await openQuery({
      bus,
      clock,
      audit,
      database: { dataFolder: config.data, databaseUrl: config.databaseUrl },
      // Row filters are bound with the definitions; no caller has values here.
      attributes: { definitions: () => stores.attributes.list(), currentValues: () => ({}) },
      // A running server writes column segments, not this process.
      limits: { concurrency: 1, columnSegments: false },
      deriveKey: masterKey.derive,
      onError: rethrow,
    })
    cleanup.add(() => query.close())
    return await use(query.tables)
  } finally {
    await cleanup.run()
  }
}

function rethrow(error: unknown): never {
  throw error
}
