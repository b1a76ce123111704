/** Opens the engine that the settings name. */
import { join } from 'node:path'
import type { Engine } from './engine.ts'

export interface EngineOptions {
  readonly dataFolder: string
  /** Empty for the embedded engine. */
  readonly databaseUrl: string
  /** Queries that run at once: reader processes, or connections. */
  readonly concurrency: number
  readonly waiting: number
  readonly milliseconds: number
}

/** Each engine is loaded when it is needed: a server has one. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  if (options.databaseUrl === '') {
    const { openSqliteEngine } = await import('./sqlite/engine.ts')
    return openSqliteEngine({
      path: join(options.dataFolder, 'query.db'),
      readers: options.concurrency,
      waitingReads: options.waiting,
    })
  }
  const { openPostgresEngine } = await import('./postgres/engine.ts')
  return openPostgresEngine({
    url: options.databaseUrl,
    connections: options.concurrency,
    waitingQueries: options.waiting,
    milliseconds: options.milliseconds,
  })
}
