/** What `serve` prints besides its log: the banner of the demonstration, the link for the first administrator. */
import type { LoadedConfig } from '../../config/load.ts'
import type { RunningServer } from '../../server/start.ts'
import type { Logger } from '../../telemetry/log.ts'
import { administratorBanner, demoBanner } from '../output/banner.ts'

export async function announce(server: RunningServer, { config }: LoadedConfig, logger: Logger): Promise<void> {
  if (config.demo) process.stdout.write(demoBanner({ ...server, config }))
  else if (config.services.includes('identity')) await askForAdministrator(server, logger)
}

/**
 * The link makes anyone an administrator, so it is shown only on a terminal, and never where output is stored: by a service
 * manager, a container or a pipe. There the log names the command that prints one.
 */
async function askForAdministrator(server: RunningServer, logger: Logger): Promise<void> {
  const terminal = [process.stderr, process.stdout].find(({ isTTY }) => isTTY)
  try {
    const link = await (terminal === undefined ? undefined : server.offerAdministrator())
    if (link !== undefined) terminal?.write(administratorBanner(link))
    else if (!(await server.hasAdministrator()))
      logger.warn(
        'there is no administrator: run "gatehouse user first-admin", as the user and with the settings of this server, to get a link that creates one',
      )
  } catch (error) {
    // The database may already be unavailable; the server continues.
    logger.warn({ err: error }, 'could not determine whether there is an administrator')
  }
}
