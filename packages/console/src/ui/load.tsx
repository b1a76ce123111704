/** Loading for a component: aborted when it is no longer wanted, shown only when it takes long, repeated on request. */
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ErrorNotice } from './notice.tsx'
import { Loading } from './spinner.tsx'

export interface Loaded<T> {
  /** The last loaded data; it stays during a reload. */
  readonly data: T | undefined
  readonly error: unknown
  readonly loading: boolean
  readonly reload: () => void
  /** Shows this instead, after a change whose result is known. */
  readonly set: (data: T) => void
}

type State<T> = Pick<Loaded<T>, 'data' | 'error' | 'loading'>

/** Loads when the component appears and when one of `inputs` changes. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<State<T>>({ data: undefined, error: undefined, loading: true })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    setState(({ data }) => ({ data, error: undefined, loading: true }))
    load(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ data, error: undefined, loading: false }),
      (error) => !abort.signal.aborted && setState(({ data }) => ({ data, error, loading: false })),
    )
    return () => abort.abort()
  }, [...inputs, round])
  const reload = useCallback(() => setRound((before) => before + 1), [])
  const set = useCallback((data: T) => setState({ data, error: undefined, loading: false }), [])
  return { ...state, reload, set }
}

/** Shows the data, the error or the waiting of `useLoad`. */
export function Await<T>({
  of: { data, error, reload },
  title,
  children,
}: {
  readonly of: Pick<Loaded<T>, 'data' | 'error' | 'reload'>
  /** What could not be done, for the error. */
  readonly title?: string
  readonly children: (data: T) => ComponentChildren
}) {
  return (
    <>
      {error !== undefined && (
        <ErrorNotice error={error} title={title ?? 'This could not be loaded'} onRetry={reload} />
      )}
      {data !== undefined ? children(data) : error === undefined && <Loading />}
    </>
  )
}

/** A value that changes quickly, such as a text that is typed: the last one, after a pause in milliseconds. */
export function useDelayed<T>(value: T, pause: number): T {
  const [delayed, setDelayed] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), pause)
    return () => clearTimeout(timer)
  }, [value])
  return delayed
}
