/** Opens the event bus for the engine of the database. */

import type { Events } from '../store/cluster/events.ts'
import type { Database } from '../store/database/database.ts'
import { openServers, type PostgresPlace } from '../store/database/servers/one-connection.ts'
import type { SharedFile } from '../store/database/shared-file.ts'
import type { Bus } from './bus.ts'
import { openDurableBus } from './durable-bus.ts'
import { PostgresFeed } from './postgres-feed.ts'
import { createSqliteFeed } from './sqlite-feed.ts'

export function openBus(
  database: Database,
  events: Events,
  place: PostgresPlace,
  onError: (error: unknown) => void,
  shared?: SharedFile,
): Promise<Bus> {
  if (database.engine === 'postgres')
    return openDurableBus({ events, feed: new PostgresFeed({ servers: openServers(place), events, onError }), onError })
  // Other workers are notified of events, not of every commit: most commits, such as those of refresh tokens, concern only this one.
  const announce = shared && (() => shared.committed())
  return openDurableBus({ events, feed: createSqliteFeed(database, onError, shared), onError, announce })
}
