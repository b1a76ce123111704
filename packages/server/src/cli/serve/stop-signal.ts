/** The signals that stop a server. */
import { readFileSync } from 'node:fs'

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

/** A signal that ends npm or its shell (`npm start`) does not reach this process, so both are watched. */
function whenOrphaned(stop: () => void): void {
  const parent = process.ppid
  const npm = readParent(parent)
  const watchesNpm = npm !== undefined && readProcFile(npm, 'cmdline').includes('npm')
  const watch = setInterval(() => {
    if (process.ppid === parent && (!watchesNpm || readParent(parent) === npm)) return
    clearInterval(watch)
    stop()
  }, 250)
  watch.unref()
}

/** Only Linux provides this. On other systems shells replace themselves with a single command, so npm is the parent. */
function readParent(pid: number): string | undefined {
  return /^PPid:\s*(\d+)$/m.exec(readProcFile(pid, 'status'))?.[1]
}

function readProcFile(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
