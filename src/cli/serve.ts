/** `gatehouse serve`: runs the server until it is told to stop. */
import module from 'node:module'
import { createLogger } from '../http/log.ts'
import { startServer } from '../server.ts'
import { demoBanner } from './banner.ts'
import { Usage } from './command.ts'
import { type CommandLine, readSettings } from './settings.ts'

const KEEP_AFTER_MS = 1500

export async function serve(args: readonly string[]): Promise<void> {
  const line = await readSettings(args)
  const { config, rest } = line
  if (rest.length > 0) throw new Usage(`serve takes settings only, not "${rest[0]}"`)
  const logger = createLogger(logOptions(line))
  // From here on a signal that comes while the server starts stops it in good order too.
  const told = toldToStop()
  const server = await startServer(config, { logger, settings: line })
  if (config.demo) process.stdout.write(demoBanner({ ...server, config }))
  keepCompiled()
  await told
  try {
    await server.stop()
    process.exit(0)
  } catch (error) {
    logger.fatal({ err: error }, 'could not stop cleanly')
    process.exit(1)
  }
}

/** What was compiled makes the next start quick; written now and not only at the end, which may come by force. */
function keepCompiled(): void {
  setTimeout(() => module.flushCompileCache?.(), KEEP_AFTER_MS).unref()
}

/** Whoever tries the demonstration reads the terminal: unless told otherwise, only what needs attention is written there. */
function logOptions({ config, sources }: CommandLine) {
  const quiet = config.demo
  return {
    level: quiet && sources.logLevel === 'default' ? 'warn' : config.logLevel,
    format: quiet && sources.logFormat === 'default' ? ('pretty' as const) : config.logFormat,
  }
}

/** The first signal asks, the second insists. */
function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        resolve()
      })
    }
    if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(resolve)
  })
}

/** A signal to `npm start` ends npm and the shell between us, and never reaches this process: their end is the sign. */
function whenOrphaned(stop: () => void): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 250)
  watch.unref()
}
