/** The ground that every service stands on: the data folder, the keys, the identity database, the audit log and the bus. */
import type { Config } from '../config.ts'
import { type Assembly, openAssembly } from '../events/assembly.ts'
import type { Bus } from '../events/bus.ts'
import { openBus } from '../events/open-bus.ts'
import type { Logger } from '../http/log.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Trace } from '../protocol/trace.ts'
import { VERSION } from '../protocol/version.ts'
import { type AuditLog, openAuditLog } from '../store/audit.ts'
import { openDataFolder } from '../store/data-folder.ts'
import { type Database, openDatabase } from '../store/database.ts'
import { type MasterKey, openMasterKey } from '../store/master-key.ts'
import { createNodes, nodeName } from '../store/nodes.ts'
import { createStores, type Stores } from '../store/stores.ts'
import type { Closing } from './closing.ts'
import { statementSpans } from './tracing.ts'

export interface Ground {
  readonly node: string
  readonly masterKey: MasterKey
  readonly database: Database
  readonly stores: Stores
  readonly audit: AuditLog
  readonly bus: Bus
  readonly assembly: Assembly
}

export interface GroundOptions {
  readonly logger: Logger
  readonly clock: Clock
  readonly trace: Trace | undefined
}

export async function openGround(
  config: Config,
  { logger, clock, trace }: GroundOptions,
  closing: Closing,
): Promise<Ground> {
  const folder = openDataFolder(config.data)
  closing.add(() => folder.close())
  const masterKey = openMasterKey(folder, config.masterKey)
  const database = await openDatabase({
    dataFolder: config.data,
    url: config.databaseUrl,
    onStatement: trace && statementSpans(trace, config.databaseUrl),
  })
  closing.add(() => database.close())
  const node = nodeName()
  const audit = openAuditLog(database, {
    clock,
    node,
    onError: (error) => logger.error({ err: error }, 'the audit log could not be written'),
  })
  closing.add(() => audit.close())
  const stores = createStores(database, clock, {
    sessions: { idle: config.sessionIdle, absolute: config.sessionLifetime },
  })
  const bus = await openBus(database, stores.events, config.databaseUrl, (error) =>
    logger.warn({ err: error }, 'the bus stumbled'),
  )
  closing.add(() => bus.close())
  const assembly = openAssembly({
    name: node,
    bus,
    nodes: createNodes(database, clock),
    clock,
    onError: (error) => logger.warn({ err: error }, 'the other nodes could not be told or heard'),
  })
  closing.add(() => assembly.close())
  return { node, masterKey, database, stores, audit, bus, assembly }
}

export function recordStart({ audit }: Ground, config: Config, closing: Closing): void {
  audit.record({ event: 'server.started', details: { version: VERSION, services: config.services } })
  closing.add(() => audit.record({ event: 'server.stopped', details: { version: VERSION } }))
}
