/** `gatehouse serve`: runs the server until it receives a signal. */
import module from 'node:module'
import type { LoadedConfig } from '../config/load.ts'
import { VERSION } from '../protocol/version.ts'
import { type RunningServer, startServer } from '../server/start.ts'
import { nodeName } from '../store/nodes.ts'
import { createLogger, type Logger } from '../telemetry/log.ts'
import type { Arguments } from './args.ts'
import { administratorBanner, demoBanner } from './banner.ts'
import { loadSettings } from './settings.ts'

const FLUSH_DELAY_MS = 1500
const SAME_SIGNAL_MS = 1000

export async function serve(args: Arguments): Promise<void> {
  const settings = await loadSettings(args)
  const { config } = settings
  const logger = createLogger({ ...logOptions(settings), node: nodeName() })
  // Listens before the start: a signal during the start must neither be lost nor end the process in the middle of it.
  const stopping = new AbortController()
  const signalled = stopSignal().then(() => stopping.abort())
  const starting = start(settings, logger, stopping.signal)
  if (!config.demo) reloadOnSignal(args, starting, logger)
  const server = await starting
  if (server === undefined) process.exit(0)
  if (config.demo) process.stdout.write(demoBanner({ ...server, config }))
  else if (config.services.includes('identity')) await askForAdministrator(server, logger)
  flushCompileCache()
  await signalled
  try {
    await server.stop()
    process.exit(0)
  } catch (error) {
    logger.fatal({ err: error }, 'could not stop cleanly')
    process.exit(1)
  }
}

/** Undefined if a signal came while it waited for its turn, before it had changed anything. */
async function start(settings: LoadedConfig, logger: Logger, signal: AbortSignal): Promise<RunningServer | undefined> {
  logger.info({ version: VERSION, runtime: process.versions.node }, 'starting')
  try {
    return await startServer(settings.config, { logger, settings, signal })
  } catch (error) {
    if (error !== signal.reason) throw error
    logger.info('stopped before it had started')
    return undefined
  }
}

/** Signals during the start wait for its end. A demonstration ends with its terminal, which sends this signal too. */
function reloadOnSignal(args: Arguments, starting: Promise<RunningServer | undefined>, logger: Logger): void {
  process.on('SIGHUP', async () => {
    try {
      const server = await starting
      if (server === undefined) return
      const next = await loadSettings(args)
      server.reload(next.config)
      logger.level = next.config.logLevel
    } catch (error) {
      logger.error({ err: error }, 'settings could not be reloaded; the earlier ones stay in force')
    }
  })
}

/**
 * The link makes anybody an administrator: it is shown on a terminal only, and never where the output is kept, as by a service
 * manager, a container or a pipe. There the log names the command that prints one.
 */
async function askForAdministrator(server: RunningServer, logger: Logger): Promise<void> {
  const terminal = [process.stderr, process.stdout].find(({ isTTY }) => isTTY)
  try {
    const link = await (terminal === undefined ? undefined : server.offerAdministrator())
    if (link !== undefined) terminal?.write(administratorBanner(link))
    else if (!(await server.hasAdministrator()))
      logger.warn('there is no administrator: "gatehouse user first-admin" prints a link with which to create one')
  } catch (error) {
    // The database may be away already; the server goes on.
    logger.warn({ err: error }, 'whether there is an administrator could not be found out')
  }
}

/** The compile cache speeds up the next start. Node writes it at exit, which a kill would skip. */
function flushCompileCache(): void {
  setTimeout(() => module.flushCompileCache?.(), FLUSH_DELAY_MS).unref()
}

/** The demo logs only warnings, in a readable form, unless the settings say otherwise. */
function logOptions({ config, sources }: LoadedConfig) {
  return {
    level: config.demo && sources.logLevel === 'default' ? 'warn' : config.logLevel,
    format: config.demo && sources.logFormat === 'default' ? ('pretty' as const) : config.logFormat,
  }
}

/**
 * Resolves at the first signal; a later one ends the process. A signal to all processes of a service or a terminal arrives
 * twice, the second time from the launcher (bin/gatehouse.js), and is one signal.
 */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let receivedAt: number | undefined
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        receivedAt ??= performance.now()
        if (performance.now() - receivedAt > SAME_SIGNAL_MS) process.exit(1)
        resolve()
      })
    }
    if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(resolve)
  })
}

/** A signal to `npm start` ends npm and its shell but does not reach this process, so the parent is watched. */
function whenOrphaned(stop: () => void): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 250)
  watch.unref()
}
