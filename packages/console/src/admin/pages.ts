/** Lists of the administration, page by page. A reply to an earlier request is dropped. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { gate } from '../gate.ts'

export interface Pages<Item> {
  readonly items: readonly Item[]
  /** The first page of this list is being loaded; `items` may still be those of the list before. */
  readonly loading: boolean
  readonly error: unknown
  /** Loads the next page; undefined where there is none. */
  readonly more: (() => void) | undefined
  readonly loadingMore: boolean
  readonly reload: () => void
}

interface State<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
  readonly loading: boolean
  readonly loadingMore: boolean
  readonly error: unknown
}

const START = { items: [], next: null, loading: true, loadingMore: false, error: undefined }

/**
 * Loads the list at a path, if there is one. `delay` is the wait for the end of typing, in milliseconds; `pagePath` is the path of
 * the page that `next` names.
 */
export function usePages<Item>(path: string | undefined, delay = 0, pagePath = (next: string) => next): Pages<Item> {
  const [state, setState] = useState<State<Item>>(START)
  const [round, setRound] = useState(0)
  const current = useRef<AbortController>(undefined)
  const load = useCallback((from: string, before: readonly Item[], abort: AbortController) => {
    readPage<Item>(from, abort.signal).then(
      ({ items, next }) => {
        if (abort.signal.aborted) return
        setState({ items: [...before, ...items], next, loading: false, loadingMore: false, error: undefined })
      },
      (error) => {
        if (!abort.signal.aborted) setState((was) => ({ ...was, loading: false, loadingMore: false, error }))
      },
    )
  }, [])
  useEffect(() => {
    const abort = new AbortController()
    current.current = abort
    if (path === undefined) {
      setState({ ...START, loading: false })
      return
    }
    setState((was) => ({ ...was, loading: true, error: undefined }))
    const timer = setTimeout(load, delay, path, [], abort)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [path, round, delay])
  const { items, next, loading, loadingMore, error } = state
  return {
    items,
    loading,
    loadingMore,
    error,
    more:
      next === null || loading
        ? undefined
        : () => {
            if (loadingMore || current.current === undefined) return
            setState((was) => ({ ...was, loadingMore: true, error: undefined }))
            load(pagePath(next), items, current.current)
          },
    reload: useCallback(() => setRound((was) => was + 1), []),
  }
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

/** A page of a search can be empty although there is another one. */
async function readPage<Item>(path: string, signal: AbortSignal): Promise<Page<Item>> {
  for (let from = path; ; ) {
    const { items, next = null } = (await gate.json(from, { signal })) as Page<Item>
    if (items.length > 0 || next === null) return { items, next }
    from = next
  }
}
