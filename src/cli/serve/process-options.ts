/** How a process of `serve` logs, and what it leaves for the next start. */
import module from 'node:module'
import type { LoadedConfig } from '../../config/load.ts'

const FLUSH_DELAY_MS = 1500

/** The compile cache speeds up the next start. Node writes it at exit, which a kill would skip. */
export function flushCompileCache(): void {
  setTimeout(() => module.flushCompileCache?.(), FLUSH_DELAY_MS).unref()
}

/** The demo logs only warnings, in a readable form, unless the settings say otherwise. */
export function logOptions({ config, sources }: LoadedConfig) {
  return {
    level: config.demo && sources.logLevel === 'default' ? 'warn' : config.logLevel,
    format: config.demo && sources.logFormat === 'default' ? ('pretty' as const) : config.logFormat,
  }
}
