/** `gatehouse serve`: runs the server until it is told to stop. */
import { createLogger } from '../http/log.ts'
import { startServer } from '../server.ts'
import { Usage } from './command.ts'
import { readSettings } from './settings.ts'

export async function serve(args: readonly string[]): Promise<void> {
  const { config, rest } = readSettings(args)
  if (rest.length > 0) throw new Usage(`serve takes settings only, not "${rest[0]}"`)
  const logger = createLogger({ level: config.logLevel, format: config.logFormat })
  const server = await startServer(config, { logger })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      server.stop().then(
        () => process.exit(0),
        (error) => {
          logger.fatal({ err: error }, 'could not stop cleanly')
          process.exit(1)
        },
      )
    })
  }
}
