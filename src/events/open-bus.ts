/** Opens the event bus for the engine of the database. */

import type { Database } from '../store/database.ts'
import type { Events } from '../store/events.ts'
import type { SharedFile } from '../store/shared-file.ts'
import type { Bus } from './bus.ts'
import { openDurableBus } from './durable-bus.ts'
import { createPostgresFeed } from './postgres-feed.ts'
import { createSqliteFeed } from './sqlite-feed.ts'

export function openBus(
  database: Database,
  events: Events,
  url: string,
  onError: (error: unknown) => void,
  shared?: SharedFile,
): Promise<Bus> {
  const feed =
    database.engine === 'sqlite'
      ? createSqliteFeed(database, onError, shared)
      : createPostgresFeed({ url, events, onError })
  return openDurableBus({ events, feed, onError })
}
