/** Follows a result by the tool `changes`, as long as the chart is on the screen. */
import type { Host } from './host.ts'
import { type ChangedRows, readChanges, readFault } from './tool-result.ts'

export interface Followed {
  readonly id: string
  readonly since: number
}

export interface FollowEvents {
  onChanges(changes: ChangedRows): void
  /** The chart needs the whole result, and another watch. */
  onIncomplete(): void
  onEnd(fault: string): void
}

/** Seconds that a call waits for a change. */
const WAIT = 25
/** Between two calls: each is a request of the user's, and an entry in the audit log. */
const PAUSE_MS = 3_000
const AFTER_FAULT_MS = 15_000
const MOST_FAULTS = 4

/** Until `signal` is aborted. */
export async function follow(host: Host, watch: Followed, events: FollowEvents, signal: AbortSignal): Promise<void> {
  let { since } = watch
  let faults = 0
  while (!signal.aborted) {
    await seen(signal)
    const started = performance.now()
    try {
      const result = await host.callTool('changes', { id: watch.id, since, wait: WAIT, format: 'json' })
      if (signal.aborted) return
      const fault = readFault(result)
      // A watch ends an hour after its last use.
      if (fault?.startsWith('mcp.no_watch')) return events.onIncomplete()
      if (fault !== undefined) return events.onEnd(fault)
      const changes = readChanges(result)
      if (changes === undefined) return events.onEnd('The client does not pass on what has changed')
      if (changes.isIncomplete) return events.onIncomplete()
      since = changes.since
      faults = 0
      events.onChanges(changes)
      await pause(PAUSE_MS - (performance.now() - started), signal)
    } catch (error) {
      if (++faults === MOST_FAULTS) return events.onEnd(error instanceof Error ? error.message : String(error))
      await pause(AFTER_FAULT_MS, signal)
    }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.max(0, milliseconds))
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Resolves when the frame is on the screen: charts further up in a chat need not be followed. */
function seen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let isNear = false
    const check = () => {
      if (!signal.aborted && (!isNear || document.hidden)) return
      observer.disconnect()
      document.removeEventListener('visibilitychange', check)
      resolve()
    }
    const observer = new IntersectionObserver((entries) => {
      isNear = entries.at(-1)?.isIntersecting === true
      check()
    })
    observer.observe(document.body)
    document.addEventListener('visibilitychange', check)
    signal.addEventListener('abort', check, { once: true })
  })
}
