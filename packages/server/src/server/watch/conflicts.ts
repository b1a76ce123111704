/** Whether a node may still serve the database that it shares with others, and what it answers when it may not. */

import { Refusal } from 'gatehouse-protocol'
import { healthRoutes } from '../../http/health.ts'
import type { Listener } from '../../http/listener.ts'
import { Pipeline, type PipelineOptions } from '../../http/pipeline.ts'

/** How long requests may still be answered after another version has changed the database. */
const EVERY_MS = 2_000

export interface ConflictWatch {
  /** Checks now. */
  check(): Promise<void>
  stop(): void
}

/** Calls `onConflict` once, with the reason. */
export function watchConflicts(
  find: () => Promise<string | undefined>,
  onConflict: (reason: string) => void,
  onError: (error: unknown) => void,
): ConflictWatch {
  let isFound = false
  const check = async (): Promise<void> => {
    const reason = isFound ? undefined : await find()
    if (reason === undefined || isFound) return
    isFound = true
    clearInterval(timer)
    onConflict(reason)
  }
  const timer = setInterval(() => check().catch(onError), EVERY_MS)
  timer.unref()
  return { check, stop: () => clearInterval(timer) }
}

/** From now on every request is refused with the reason. The process is alive but not ready. */
export function answerClosed(
  listener: Listener,
  reason: string,
  options: Pick<PipelineOptions, 'logger' | 'metrics' | 'readAddress' | 'base'>,
): void {
  const readiness = async () => ({ status: 'unavailable' as const, checks: { process: reason } })
  const unmatched = new Refusal('server.closed', 503, `This node no longer serves requests: ${reason}`)
  const groups = [{ at: ['/healthz', '/readyz'], routes: healthRoutes(readiness) }]
  listener.announceClose()
  listener.answerWith(new Pipeline({ ...options, groups, unmatched }))
}
