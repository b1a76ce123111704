/** Opens the engine that the settings choose. Only the one in use is loaded. */
import type { Engine } from './engine.ts'
import type { EngineOptions } from './engine-options.ts'

export async function openEngine(options: EngineOptions): Promise<Engine> {
  if (options.databaseUrl === '') {
    const { openSqliteEngine } = await import('./sqlite/engine.ts')
    return openSqliteEngine(options)
  }
  const { openPostgresEngine } = await import('./postgres/engine.ts')
  return openPostgresEngine(options)
}
