/** Uncaught errors in a process of `serve`: they stop it in an orderly way, unless the damage is known to be local. */
import type { LocalFaults } from '../../server/faults.ts'
import type { Logger } from '../../telemetry/log.ts'

export interface Ending {
  readonly logger: Logger
  /** Handles errors that harm only a part of the process. */
  readonly faults?: LocalFaults
  /** Shuts down in an orderly way; undefined while there is nothing to shut down. */
  readonly stop: () => Promise<unknown> | undefined
  /** How long that may take: a damaged process must not hang in it. */
  readonly longestMs: number
}

/** The status is not 0, so that a service manager or the supervisor starts another process. Returns a function that removes the handlers. */
export function endOnFault({ logger, faults, stop, longestMs }: Ending): () => void {
  let isEnding = false
  // Unhandled rejections arrive here too, with their reason.
  const onFault = (error: Error, origin: string): void => {
    if (faults?.take(error) === true) return
    process.exitCode = 1
    if (isEnding) {
      logger.error({ err: error, origin }, 'another internal error while stopping the process')
      return
    }
    isEnding = true
    logger.fatal({ err: error, origin }, 'internal error with unknown effects: stopping the process')
    setTimeout(() => process.exit(1), longestMs)
    void end(stop, logger)
  }
  process.on('uncaughtException', onFault)
  return () => process.off('uncaughtException', onFault)
}

async function end(stop: Ending['stop'], logger: Logger): Promise<never> {
  try {
    await stop()
  } catch (error) {
    logger.fatal({ err: error }, 'could not stop cleanly')
  }
  process.exit(1)
}
