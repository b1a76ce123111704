/** Opens the engine that the settings choose. */
import { join } from 'node:path'
import type { Availability } from '../../lib/availability.ts'
import type { SharedFile } from '../../store/database/shared-file.ts'
import type { Engine, StuckStatement, TempLimits } from './engine.ts'
import type { LogLimits } from './live-source.ts'
import { DEFAULT_RESPONSE_LIMITS, type ResponseLimits } from './stored-responses.ts'

export interface EngineOptions {
  readonly dataFolder: string
  /** Empty for the embedded engine. */
  readonly databaseUrl: string
  /** Queries that run at the same time: reader processes, or connections. */
  readonly concurrency: number
  readonly waiting: number
  readonly milliseconds: number
  /** Of a result that is sent row by row; as `milliseconds` where absent. */
  readonly exportMilliseconds?: number
  /** How long a write waits for a long one of another owner before that one is stopped; only the embedded engine needs it. */
  readonly writeWaitMs: number
  /** The most tables of the embedded engine. */
  readonly maxTables: number
  readonly availability: Availability
  /** For workers on one file of the embedded engine. */
  readonly shared?: SharedFile | undefined
  /** How much of the change logs is kept. */
  readonly log: LogLimits
  /** The most bytes of temporary files. */
  readonly temp: TempLimits
  readonly responses?: ResponseLimits | undefined
  /** Called for statements that the database does not stop; the embedded engine kills its processes. */
  readonly onStuck?: ((stuck: StuckStatement) => void) | undefined
}

/** Only the engine in use is loaded. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  if (options.databaseUrl === '') {
    const { openSqliteEngine } = await import('./sqlite/engine.ts')
    return openSqliteEngine({
      path: join(options.dataFolder, 'query.db'),
      readers: options.concurrency,
      waitingReads: options.waiting,
      writeWaitMs: options.writeWaitMs,
      maxTables: options.maxTables,
      availability: options.availability,
      log: options.log,
      temp: options.temp,
      responses: options.responses ?? DEFAULT_RESPONSE_LIMITS,
      shared: options.shared,
    })
  }
  const { openPostgresEngine } = await import('./postgres/engine.ts')
  return openPostgresEngine({
    url: options.databaseUrl,
    connections: options.concurrency,
    waitingQueries: options.waiting,
    milliseconds: options.milliseconds,
    exportMilliseconds: options.exportMilliseconds ?? options.milliseconds,
    availability: options.availability,
    log: options.log,
    temp: options.temp,
    responses: options.responses ?? DEFAULT_RESPONSE_LIMITS,
    onStuck: options.onStuck ?? (() => {}),
  })
}
