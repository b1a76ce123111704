/** `gatehouse serve --workers N`: the process that supervises the workers. */
import { fileURLToPath } from 'node:url'
import { VERSION } from 'gatehouse-protocol'
import type { LoadedConfig } from '../../config/load.ts'
import { startReplicationIfSet } from '../../server/replication.ts'
import { longestStop } from '../../server/stop-times.ts'
import { nodeName } from '../../store/cluster/nodes.ts'
import { Supervisor } from '../../supervisor/supervisor.ts'
import { createLogger } from '../../telemetry/log.ts'
import type { Arguments } from '../args.ts'
import { loadSettings } from '../settings.ts'
import { endOnFault } from './faults.ts'
import { logOptions } from './process-options.ts'
import { stopSignal } from './stop-signal.ts'

const PROGRAM = fileURLToPath(new URL('../../../bin/worker.js', import.meta.url))

export async function serveWithWorkers(args: Arguments, settings: LoadedConfig): Promise<void> {
  const { workers, demo } = settings.config
  const logger = createLogger({ ...logOptions(settings), node: nodeName() })
  const supervisor = new Supervisor({ program: PROGRAM, settings, logger })
  endOnFault({ logger, stop: () => supervisor.stop(), longestMs: longestStop(settings.config) })
  const signalled = stopSignal()
  logger.info({ version: VERSION, runtime: process.versions.node, workers }, 'starting')
  const starting = supervisor.start()
  const replicating = starting.then(() => startReplicationIfSet(settings.config, logger))
  replicating.catch(() => {})
  // A demonstration ends with its terminal, which sends this signal too.
  if (!demo)
    process.on('SIGHUP', () => starting.then(() => supervisor.reload(() => loadSettings(args))).catch(() => {}))
  try {
    await Promise.race([signalled, starting.then(() => signalled), supervisor.failed])
  } catch (error) {
    await supervisor.stop()
    throw error
  }
  const isClean = await supervisor.stop()
  await (await replicating.catch(() => undefined))?.stop()
  if (!isClean) logger.fatal('a worker could not stop cleanly')
  process.exit(isClean ? (process.exitCode ?? 0) : 1)
}
