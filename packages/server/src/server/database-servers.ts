/** The servers of PostgreSQL, where the settings name any: what they do is logged. */
import type { Config } from '../config/config.ts'
import { nodeName } from '../store/cluster/nodes.ts'
import type { DatabaseServers, ServersEvent } from '../store/database/servers/servers.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Cleanup } from './watch/cleanup.ts'

export async function openServersIfNamed(
  { databaseUrl, data: dataFolder }: Config,
  logger: Logger,
  cleanup: Cleanup,
): Promise<DatabaseServers | undefined> {
  if (databaseUrl === '') return undefined
  const { DatabaseServers } = await import('../store/database/servers/servers.ts')
  const servers = new DatabaseServers(databaseUrl, {
    node: nodeName(),
    dataFolder,
    isNode: true,
    onEvent: (event) => logEvent(event, logger),
  })
  cleanup.add(() => servers.close())
  return servers
}

function logEvent(event: ServersEvent, logger: Logger): void {
  switch (event.kind) {
    case 'failover':
      logger.warn({ server: event.server, timeline: event.timeline }, 'the database has failed over')
      break
    case 'writes stopped':
      logger.error(
        { reason: event.reason },
        'writes are stopped: the database lacks writes that were acknowledged; see docs/high-availability.md',
      )
      break
    case 'writes accepted':
      logger.warn('writes are possible again: an operator has accepted the loss')
      break
  }
}
