/** Retries with growing, random pauses, so that callers that failed together do not retry together. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/** The pause after the last of this many failures: half of a time that doubles with each failure, and up to as much again at random. */
export function pauseAfter(failures: number, { firstMs, longestMs }: Backoff): number {
  const longest = Math.min(firstMs * 2 ** (failures - 1), longestMs)
  return (longest / 2) * (1 + Math.random())
}

export interface RetryOptions extends Backoff {
  /** The most attempts. */
  readonly attempts: number
  readonly mayRetry: (error: unknown) => boolean
}

export async function retry<Result>(run: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await run()
    } catch (error) {
      if (failures >= options.attempts || !options.mayRetry(error)) throw error
      await sleep(pauseAfter(failures, options))
    }
  }
}

/** Again and again, until it succeeds or the signal is aborted. */
export async function retryUntilDone(
  run: () => Promise<void>,
  backoff: Backoff,
  onError: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      await run()
      return
    } catch (error) {
      onError(error)
      await sleep(pauseAfter(failures, backoff), undefined, { ref: false, signal }).catch(() => {})
    }
  }
}
