/** Loads again and again while the page is visible. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export interface Polled<T> {
  readonly data: T | undefined
  /** The error of the last attempt; the data of the previous attempt is kept. */
  readonly error: unknown
  readonly reload: () => void
}

/** `rest` is the pause after each reply, in milliseconds; undefined loads only once. */
export function usePolling<T>(
  load: (signal: AbortSignal) => Promise<T>,
  rest: number | undefined,
  inputs: readonly unknown[],
): Polled<T> {
  const [state, setState] = useState<Pick<Polled<T>, 'data' | 'error'>>({ data: undefined, error: undefined })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const abort = new AbortController()
    const { signal } = abort
    const run = async () => {
      do {
        await visible(signal)
        try {
          const data = await latest.current(signal)
          if (!signal.aborted) setState({ data, error: undefined })
        } catch (error) {
          if (!signal.aborted) setState(({ data }) => ({ data, error }))
        }
        await pause(rest ?? 0, signal)
      } while (rest !== undefined && !signal.aborted)
    }
    void run()
    return () => abort.abort()
  }, [...inputs, rest, round])
  const reload = useCallback(() => setRound((before) => before + 1), [])
  return { ...state, reload }
}

/** Resolves at once, or when the page is looked at again. */
export function visible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (!document.hidden || signal.aborted) {
      resolve()
      return
    }
    const end = () => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener('visibilitychange', end)
      resolve()
    }
    document.addEventListener('visibilitychange', end)
    signal.addEventListener('abort', end, { once: true })
  })
}

export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}
