/** `gatehouse serve`: runs the server until it receives a signal. */
import module from 'node:module'
import type { LoadedConfig } from '../config/load.ts'
import { VERSION } from '../protocol/version.ts'
import { type RunningServer, startServer } from '../server/start.ts'
import { nodeName } from '../store/nodes.ts'
import { createLogger, type Logger } from '../telemetry/log.ts'
import type { Arguments } from './args.ts'
import { demoBanner } from './banner.ts'
import { loadSettings } from './settings.ts'

const FLUSH_DELAY_MS = 1500

export async function serve(args: Arguments): Promise<void> {
  const settings = await loadSettings(args)
  const { config } = settings
  const logger = createLogger({ ...logOptions(settings), node: nodeName() })
  // Listens before the start, so that a signal during the start stops the server cleanly too.
  const signalled = stopSignal()
  logger.info({ version: VERSION, runtime: process.versions.node }, 'starting')
  const server = await startServer(config, { logger, settings })
  if (!config.demo) reloadOnSignal(args, server, logger)
  if (config.demo) process.stdout.write(demoBanner({ ...server, config }))
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

/** A demonstration ends with its terminal, which sends this signal too. */
function reloadOnSignal(args: Arguments, server: RunningServer, logger: Logger): void {
  process.on('SIGHUP', async () => {
    try {
      const next = await loadSettings(args)
      server.reload(next.config)
      logger.level = next.config.logLevel
    } catch (error) {
      logger.error({ err: error }, 'settings could not be reloaded; the earlier ones stay in force')
    }
  })
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

/** Resolves at the first signal; the second ends the process. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let received = false
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (received) process.exit(1)
        received = true
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
