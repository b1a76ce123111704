/** Removes unfinished files when a signal ends the process. */
import { rmSync } from 'node:fs'
import { constants } from 'node:os'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Returns a function that ends this. */
export function removeOnSignal(paths: readonly string[]): () => void {
  const stop = (signal: NodeJS.Signals): void => {
    for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  return () => {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}
