/** What /readyz checks: the process, the databases, and the files of the installation. */
import type { ReadinessCheck } from '../http/health.ts'
import { unavailableReason } from '../lib/unavailable.ts'
import { WritesStopped } from '../store/database/wal-sync.ts'
import type { Base } from './base.ts'
import { watchInstallation } from './installation.ts'
import type { Services } from './services.ts'
import type { ConflictWatch } from './watch/conflicts.ts'

/** Whether the server stops, and whether another node made it stop. */
export class ServerState {
  readonly #stopping = new AbortController()
  /** After an error with unknown effects. */
  isFailed = false
  /** Set once the server has started. */
  conflicts: ConflictWatch | undefined

  /** Aborted when the server begins to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  beginStop(): void {
    this.#stopping.abort()
  }

  describe(): string | undefined {
    if (this.isFailed) return 'failed'
    return this.stopping.aborted ? 'stopping' : undefined
  }
}

export function readinessChecks(
  { config, resources: { database }, logger }: Base,
  { query, feeds }: Pick<Services, 'query' | 'feeds'>,
  state: ServerState,
): Readonly<Record<string, ReadinessCheck>> {
  return {
    process: async () => state.describe(),
    database: async () => describeFailure(database.check().then(() => state.conflicts?.check())),
    ...(query === undefined ? {} : { query: async () => describeFailure(query.check()) }),
    // Elsewhere they are in the database, and as available as it is.
    ...(feeds === undefined || config.natsUrl === ''
      ? {}
      : { feeds: async () => describeFailure(feeds.service.check()) }),
    installation: watchInstallation(config, logger),
  }
}

async function describeFailure(check: Promise<void>): Promise<string | undefined> {
  try {
    await check
    return undefined
  } catch (error) {
    return error instanceof WritesStopped
      ? 'the disk failed: restart the server'
      : (unavailableReason(error) ?? 'failed')
  }
}
