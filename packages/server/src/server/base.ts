/** What the services of a server work with: the files that the settings name, the database, and the other nodes. */
import { type Clock, systemClock } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import { chooseIssuer } from '../config/issuer.ts'
import { effectiveWirePort } from '../config/wire.ts'
import type { Declared } from '../declarative/reconcile.ts'
import { createDemoMarket, type DemoMarket } from '../demo/market.ts'
import type { Bus } from '../events/bus.ts'
import type { Cluster } from '../events/cluster.ts'
import { logAvailability } from '../lib/availability.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import { type BuiltInClients, builtInClients } from '../store/clients/built-in-clients.ts'
import { nodeName } from '../store/cluster/nodes.ts'
import { lockStart } from '../store/cluster/start-lock.ts'
import { type StartedControllers, startControllers } from '../streaming/streaming.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Tracing } from '../telemetry/traces.ts'
import { openServersIfNamed } from './database-servers.ts'
import { agentAccess } from './options.ts'
import { checkBeforeStart, readStartFiles, type StartFiles } from './preflight.ts'
import { joinCluster, openResources, type Resources } from './resources.ts'
import { openTracingIfSet, statementSpans } from './tracing.ts'
import type { Cleanup } from './watch/cleanup.ts'
import type { WorkerLink } from './worker-link.ts'

export interface BaseOptions {
  readonly logger: Logger
  readonly clock?: Clock
  /** Ends a start that waits for another one; it is then refused with the reason of the signal. */
  readonly signal?: AbortSignal
  /** Where the server is one of several workers. */
  readonly worker?: WorkerLink
}

export interface Base {
  readonly config: Config
  readonly issuer: string
  readonly logger: Logger
  readonly clock: Clock
  /** In tests; otherwise the time of the database counts where nodes share it. */
  readonly givenClock: Clock | undefined
  readonly worker: WorkerLink | undefined
  readonly brand: StartFiles['brand']
  readonly mailTemplates: StartFiles['mailTemplates']
  readonly declared: Declared | undefined
  /** Undefined where the server is not a demonstration. */
  readonly market: DemoMarket | undefined
  readonly controllers: StartedControllers
  /** Their names. */
  readonly loadedControllers: readonly string[]
  readonly tracing: Tracing | undefined
  readonly resources: Resources
  readonly builtInClients: BuiltInClients
  readonly bus: Bus
  readonly cluster: Cluster
  /** Allows another node to start. */
  unlock(): Promise<void>
}

/** Everything that can refuse the start comes first: a refused start changes nothing. */
export async function openBase(config: Config, port: number, options: BaseOptions, cleanup: Cleanup): Promise<Base> {
  const { logger, clock = systemClock, signal, worker } = options
  const { brand, controllers, declared, mailTemplates } = await readStartFiles(config, worker?.appliesFile ?? true)
  const servers = await openServersIfNamed(config, logger, cleanup)
  const unlock = await lockStart({
    dataFolder: config.data,
    url: config.databaseUrl,
    servers,
    onWait: () => logger.info('waiting for another node to finish starting'),
    signal,
  })
  cleanup.add(unlock)
  const market = await createDemoMarket(config, declared)
  const loadedControllers = controllers.map(({ name }) => name)
  await checkBeforeStart(config, port, { declared, loadedControllers }, servers)
  const startedControllers = startControllers(controllers, clock, (error, controller) =>
    logger.error({ err: error, controller }, 'a controller could not stop'),
  )
  cleanup.add(() => startedControllers.stop())

  const issuer = chooseIssuer(config, port)
  const tracing = await openTracingIfSet(config, nodeName(), logger, cleanup)
  const resources = await openResources(
    config,
    {
      clock,
      onAuditError: exceptOutages((error) => logger.error({ err: error }, 'the audit log could not be written')),
      onAvailability: logAvailability(logger, 'identity'),
      onMigrated: (run) => logger.info(run, 'the database was migrated'),
      onStatement: tracing && statementSpans(tracing, config.databaseUrl),
      shared: worker?.identityFile,
      servers,
    },
    cleanup,
  )
  const { bus, cluster } = await joinCluster(config, issuer, resources, logger, cleanup, worker)
  return {
    config,
    issuer,
    logger,
    clock,
    givenClock: options.clock,
    worker,
    brand,
    declared,
    market,
    tracing,
    resources,
    bus,
    cluster,
    unlock,
    mailTemplates,
    controllers: startedControllers,
    loadedControllers,
    builtInClients: builtInClients({
      issuer,
      console: config.console,
      cliClient: config.cliClient,
      wire: effectiveWirePort(config) !== undefined,
      agentScopes: agentAccess(config, issuer)?.scopes,
    }),
  }
}
