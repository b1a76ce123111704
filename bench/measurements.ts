/** All measurements. */
import { alerts } from './alerts.ts'
import { analytics } from './analytics.ts'
import { columnStores } from './column-stores.ts'
import { columns } from './columns.ts'
import { dpop } from './dpop.ts'
import { feeds } from './feeds.ts'
import { identity } from './identity.ts'
import { consoleImport, importing } from './import.ts'
import { licenceDelays } from './licence-delays.ts'
import { licences } from './licences.ts'
import { live } from './live.ts'
import { mcp } from './mcp.ts'
import { overload } from './overload.ts'
import { query } from './query.ts'
import { replication } from './replication.ts'
import { replicationOutage } from './replication-outage.ts'
import { replicationRestore } from './replication-restore.ts'
import { retention } from './retention.ts'
import { start } from './start.ts'
import {
  streamArrivals,
  streamConnects,
  streamFanOut,
  streamMemory,
  streamMemoryDeflate,
  streamRequests,
  streamSignIns,
} from './streaming.ts'
import type { Measurement } from './support/compare.ts'
import { views } from './views.ts'
import { wire } from './wire.ts'
import { wireStatements } from './wire-statements.ts'
import { workers } from './workers.ts'

export const MEASUREMENTS: readonly Measurement[] = [
  start,
  ...identity,
  ...query,
  ...dpop,
  analytics,
  ...columnStores,
  ...columns,
  importing,
  consoleImport,
  overload,
  streamRequests,
  streamSignIns,
  streamConnects,
  streamArrivals,
  streamMemory,
  streamMemoryDeflate,
  streamFanOut,
  ...wire,
  ...wireStatements,
  ...feeds,
  ...live,
  ...alerts,
  ...licences,
  ...licenceDelays,
  ...views,
  ...mcp,
  ...workers,
  replication,
  replicationOutage,
  replicationRestore,
  ...retention,
]
