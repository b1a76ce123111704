/** `gatehouse serve` with one process. */

import { VERSION } from 'gatehouse-protocol'
import type { LoadedConfig } from '../../config/load.ts'
import { LocalFaults } from '../../server/faults.ts'
import { type RunningServer, type StartOptions, startServer } from '../../server/start.ts'
import { longestStop } from '../../server/stop-times.ts'
import { nodeName } from '../../store/cluster/nodes.ts'
import { createLogger, type Logger } from '../../telemetry/log.ts'
import type { Arguments } from '../args.ts'
import { loadSettings } from '../settings.ts'
import { announce } from './announce.ts'
import { endOnFault } from './faults.ts'
import { logOptions, settle } from './process-options.ts'
import { stopSignal } from './stop-signal.ts'

export async function serveAlone(args: Arguments, settings: LoadedConfig): Promise<void> {
  const logger = createLogger({ ...logOptions(settings), node: nodeName() })
  // Listens before the start: a signal during the start must neither be lost nor end the process in the middle of it.
  const stopping = new AbortController()
  const signalled = stopSignal().then(() => stopping.abort())
  const faults = new LocalFaults(logger)
  let running: RunningServer | undefined
  const takeAway = endOnFault({
    logger,
    faults,
    stop: () => running?.stop('failed'),
    longestMs: longestStop(settings.config),
  })
  const starting = start(settings, { logger, faults, signal: stopping.signal })
  // A start that is refused ends as a command does.
  starting.catch(takeAway)
  if (!settings.config.demo) reloadOnSignal(args, starting, logger)
  const server = await starting
  if (server === undefined) process.exit(0)
  running = server
  await announce(server, settings, logger)
  settle()
  await signalled
  try {
    await server.stop()
    process.exit()
  } catch (error) {
    logger.fatal({ err: error }, 'could not stop cleanly')
    process.exit(1)
  }
}

/** Undefined if a signal came while it waited for its turn, before it had changed anything. */
async function start(
  settings: LoadedConfig,
  options: StartOptions & { readonly signal: AbortSignal },
): Promise<RunningServer | undefined> {
  const { logger, signal } = options
  logger.info({ version: VERSION, runtime: process.versions.node }, 'starting')
  try {
    return await startServer(settings, options)
  } catch (error) {
    if (error !== signal.reason) throw error
    logger.info('stopped before the start was complete')
    return undefined
  }
}

/** Signals during the start wait for its end. A demonstration ends with its terminal, which sends this signal too. */
function reloadOnSignal(args: Arguments, starting: Promise<RunningServer | undefined>, logger: Logger): void {
  const reload = async (): Promise<void> => (await starting)?.reload(await loadSettings(args))
  let last = Promise.resolve()
  process.on('SIGHUP', () => {
    last = last.then(reload).catch((error) => {
      logger.error({ err: error }, 'settings could not be reloaded; the previous settings stay in effect')
    })
  })
}
