/** A worker of `gatehouse serve --workers N`: a server that its supervisor starts and stops. */
import { inspect } from 'node:util'
import { type LoadedConfig, parseTexts } from '../../config/load.ts'
import { LocalFaults } from '../../server/faults.ts'
import { type RunningServer, startServer } from '../../server/start.ts'
import { longestStop } from '../../server/stop-times.ts'
import { nodeName } from '../../store/cluster/nodes.ts'
import { Link } from '../../supervisor/link.ts'
import { signInterval } from '../../supervisor/liveness.ts'
import { workerPart } from '../../supervisor/settings.ts'
import { createLogger, type Logger } from '../../telemetry/log.ts'
import { explain } from '../explain.ts'
import { announce } from './announce.ts'
import { endOnFault } from './faults.ts'
import { ignoreOutputErrors, keepYoungGeneration, logOptions, settle } from './process-options.ts'

export async function runWorker(): Promise<void> {
  keepYoungGeneration()
  ignoreOutputErrors()
  const link = new Link()
  const stopped = Promise.race([link.stopped, ownSignal()])
  const order = await link.order
  const { number, texts, sources } = order
  const settings: LoadedConfig = { texts, sources, config: workerPart(parseTexts(texts)) }
  link.sayAlive(signInterval(settings.config.workerTimeout))
  const logger = createLogger({ ...logOptions(settings), node: nodeName(), worker: number })
  const faults = new LocalFaults(logger)
  let running: RunningServer | undefined
  endOnFault({
    logger,
    faults,
    stop: () => running?.stop('failed').then(() => link.sendLastMetrics()),
    longestMs: longestStop(settings.config),
  })
  const server = await start(settings, { link, order, logger, faults, stopped })
  running = server
  if (order.isFirst) await announce(server, settings, logger)
  settle()
  const { isReplaced } = await stopped
  try {
    await server.stop(isReplaced ? 'replaced' : 'stopped')
    await link.sendLastMetrics()
    process.exit()
  } catch (error) {
    logger.fatal({ err: error }, 'could not stop cleanly')
    process.exit(1)
  }
}

interface Start {
  readonly link: Link
  readonly order: Awaited<Link['order']>
  readonly logger: Logger
  readonly faults: LocalFaults
  readonly stopped: Link['stopped']
}

/** The supervisor reports why a start is refused. */
async function start(settings: LoadedConfig, { link, order, logger, faults, stopped }: Start): Promise<RunningServer> {
  const stopping = new AbortController()
  void stopped.then(() => stopping.abort())
  try {
    const worker = link.workerLink(order)
    const server = await startServer(settings, { logger, signal: stopping.signal, worker, faults })
    link.send({ kind: 'started' })
    return server
  } catch (error) {
    if (error === stopping.signal.reason) process.exit(0)
    link.send({ kind: 'refused', reason: explain(error) ?? inspect(error) }, () => process.exit(1))
    return await new Promise<never>(() => {})
  }
}

/** A signal to all processes of a service or a terminal reaches workers too. One to a worker alone ends it, and it is replaced. */
function ownSignal(): Promise<{ readonly isReplaced: boolean }> {
  process.on('SIGHUP', () => {})
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => resolve({ isReplaced: false }))
  })
}
