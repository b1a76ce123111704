/** Opens the event bus for the engine of the database. */

import type { Events } from '../store/cluster/events.ts'
import type { Database } from '../store/database/database.ts'
import type { SharedFile } from '../store/database/shared-file.ts'
import type { Bus } from './bus.ts'
import { openDurableBus } from './durable-bus.ts'
import { createPostgresFeed } from './postgres-feed.ts'
import { createSqliteFeed } from './sqlite-feed.ts'

export async function openBus(
  database: Database,
  events: Events,
  url: string,
  onError: (error: unknown) => void,
  shared?: SharedFile,
): Promise<Bus> {
  if (database.engine === 'postgres')
    return openDurableBus({ events, feed: createPostgresFeed({ url, events, onError }), onError })
  const bus = await openDurableBus({ events, feed: createSqliteFeed(database, onError, shared), onError })
  return shared === undefined ? bus : announcing(bus, shared)
}

/** Other workers are told of events, not of every commit: most commits, such as those of refresh tokens, bring them nothing to read. */
function announcing(bus: Bus, shared: Pick<SharedFile, 'committed'>): Bus {
  return {
    ...bus,
    async publish(event) {
      await bus.publish(event)
      shared.committed()
    },
    receive(recorded) {
      bus.receive(recorded)
      shared.committed()
    },
  }
}
