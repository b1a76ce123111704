/** The stores of a temporary database, for tests without a server. */
import type { Clock } from 'gatehouse-protocol'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores as Stores } from '../../packages/server/src/store/stores.ts'
import type { TestPlace } from './engines.ts'
import { createTestClock } from './server.ts'

export interface OpenStores {
  readonly database: Database
  readonly stores: Stores
  readonly clock: Clock & { advance(milliseconds: number): void }
  close(): Promise<void>
}

export async function openStores(place: TestPlace, clock = createTestClock()): Promise<OpenStores> {
  const database = await openDatabase({ dataFolder: place.dataFolder, url: place.databaseUrl })
  return { database, stores: createStores(database, clock), clock, close: () => database.close() }
}
