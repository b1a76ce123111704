/** Waiting: pauses that can be aborted, and the full-jitter backoff of every retry. */

/** Rejects with the reason of the signal when it is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  return abortable(passed, signal).finally(() => clearTimeout(timer))
}

/** A promise that also ends when the signal is aborted; the work behind it continues for other callers. */
export function abortable<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Milliseconds before attempt `count` (from 0): anything up to a bound that doubles, so that clients spread out. */
export function backoff(count: number, base = 500, most = 30_000): number {
  return Math.random() * Math.min(most, base * 2 ** count)
}

/** Does not keep a process of Node alive. */
export function unref(timer: unknown): void {
  ;(timer as { unref?(): void }).unref?.()
}

/** Aborted with the first of both. */
export function either(signal: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return signal === undefined ? other : AbortSignal.any([signal, other])
}

/** A promise that others settle. If nothing awaits it, a rejection is not reported. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

export function deferred<T>(): Deferred<T> {
  let settle: Pick<Deferred<T>, 'resolve' | 'reject'> | undefined
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  promise.catch(() => {})
  return { promise, ...(settle as unknown as Pick<Deferred<T>, 'resolve' | 'reject'>) }
}
