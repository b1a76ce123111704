/** How a process of `serve` logs and uses memory, and what it leaves for the next start. */
import module from 'node:module'
import { setFlagsFromString } from 'node:v8'
import type { LoadedConfig } from '../../config/load.ts'

const SETTLE_MS = 1500

/**
 * Most of what a start allocates survives. V8 would interpret that as high load and enlarge its young generation, which costs 10 MiB
 * even without load.
 */
export function keepYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Output that cannot be written, for example to a full disk, is lost, and the server continues. Commands report it. */
export function ignoreOutputErrors(): void {
  process.stdout.removeAllListeners('error').on('error', () => {})
}

/** After a start: lets the young generation grow with the load, and writes the compile cache, which speeds up the next start. Node
 *  writes it at exit, which a kill would skip. */
export function settle(): void {
  const timer = setTimeout(() => {
    setFlagsFromString('--semi-space-growth-factor=2')
    module.flushCompileCache?.()
  }, SETTLE_MS)
  timer.unref()
}

/** The demo logs only warnings, in a readable form, unless the settings say otherwise. */
export function logOptions({ config, sources }: LoadedConfig) {
  return {
    level: config.demo && sources.logLevel === 'default' ? 'warn' : config.logLevel,
    format: config.demo && sources.logFormat === 'default' ? ('pretty' as const) : config.logFormat,
  }
}
