/** The signals that stop a server. */

const SAME_SIGNAL_MS = 1000

/**
 * Resolves at the first signal; a later one ends the process. A signal to all processes of a service or a terminal arrives
 * twice, the second time from the launcher (bin/gatehouse.js), and is one signal.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let receivedAt: number | undefined
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        receivedAt ??= performance.now()
        if (performance.now() - receivedAt > SAME_SIGNAL_MS) process.exit(1)
        resolve()
      })
    }
    if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(resolve)
  })
}

/** A signal to `npm start` ends npm and its shell but does not reach this process, so the parent is watched. */
function whenOrphaned(stop: () => void): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 250)
  watch.unref()
}
