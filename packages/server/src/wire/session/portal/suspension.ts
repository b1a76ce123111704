/** A portal that the client has not continued yet: it ends when it is stopped, as by an operator or its time limit, or when others wait. */
import { refuse } from '../../../query/index.ts'
import type { SessionEnv } from '../env.ts'

/** Calls `end` with the reason, until the returned function is called. `signal` is that of the running statement. */
export function watchSuspended(
  signal: AbortSignal,
  { limits, engine }: Pick<SessionEnv, 'limits' | 'engine'>,
  end: (reason: unknown) => void,
): () => void {
  const stop = (): void => end(signal.reason)
  if (signal.aborted) {
    stop()
    return () => {}
  }
  const check = (): void => {
    if (engine.load.waiting > 0)
      end(refuse('Limit.Cancelled', 'The portal was not continued while other queries waited'))
  }
  const timer = limits.stallMs === 0 ? undefined : setInterval(check, limits.stallMs).unref()
  signal.addEventListener('abort', stop, { once: true })
  return () => {
    clearInterval(timer)
    signal.removeEventListener('abort', stop)
  }
}
