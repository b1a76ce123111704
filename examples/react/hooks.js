/** Hooks for React on the client library. Copy them into your application. */
import { createContext, useCallback, useContext, useEffect, useMemo, useState, useSyncExternalStore } from 'react'

/** The client: <GatehouseContext value={gate}>. Make it once, outside of components: it lives as long as the page. */
export const GatehouseContext = createContext(undefined)

/**
 * Who is signed in. It also finishes a sign-in, when the user comes back from the sign-in page. `user` is undefined if nobody is signed in,
 * `isKnown` is false until that has been found out. `error` is what went wrong, also if the user has cancelled: show it, and offer `signIn`
 * again. `retry` asks again, after the server could not be reached.
 */
export function useUser() {
  const gate = useContext(GatehouseContext)
  const [found, setFound] = useState(UNKNOWN)
  const [attempt, setAttempt] = useState(0)
  const fail = useCallback((error) => setFound({ user: undefined, error, isKnown: true }), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt asks again
  const ask = useCallback(
    (signal) => {
      const tell = (result) =>
        signal.aborted || setFound({ user: undefined, error: undefined, isKnown: true, ...result })
      gate.auth.user().then(
        (user) => tell({ user }),
        (error) => tell({ error }),
      )
    },
    [gate, attempt],
  )
  useMounted(ask)
  return {
    ...found,
    retry: () => setAttempt(attempt + 1),
    signIn: () => gate.auth.signIn().catch(fail),
    signOut: () => gate.auth.signOut().catch(fail),
  }
}

/**
 * The rows of a statement, read again when a value in it changes: useQuery(sql`select … where symbol = ${symbol}`).
 * `rows` is undefined until the first ones are there; they stay while others are read.
 */
export function useQuery(statement) {
  const gate = useContext(GatehouseContext)
  const [result, setResult] = useState({ rows: undefined, error: undefined })
  const stable = useStable(statement)
  const read = useCallback(
    (signal) => {
      gate.query(stable, { signal }).then(
        (rows) => signal.aborted || setResult({ rows, error: undefined }),
        (error) => signal.aborted || setResult({ rows: undefined, error }),
      )
    },
    [gate, stable],
  )
  useMounted(read)
  return result
}

/** As useQuery, but the rows keep themselves up to date. */
export function useLive(statement, { maxRate = 5 } = {}) {
  const gate = useContext(GatehouseContext)
  const stable = useStable(statement)
  const live = useOpen(
    useCallback(() => gate.live(stable, { maxRate }), [gate, stable, maxRate]),
    NO_ROWS,
  )
  const rows = useSyncExternalStore(live.subscribe, () => live.rows)
  const error = useSyncExternalStore(live.subscribe, () => live.error)
  return { rows, error }
}

/**
 * The messages of a topic of a feed, or of a pattern such as `Price/*`: `value` is the newest data, `values` has it by topic. Components that
 * follow the same topic with the same `maxRate` share one subscription; the server has one for each topic, so use the same rate everywhere.
 */
export function useFeed(feed, topic, { maxRate = 5 } = {}) {
  const gate = useContext(GatehouseContext)
  const subscription = useOpen(
    useCallback(() => gate.feed(feed).subscribe(topic, { maxRate }), [gate, feed, topic, maxRate]),
    NO_MESSAGES,
  )
  const value = useSyncExternalStore(subscription.subscribe, () => subscription.value)
  const values = useSyncExternalStore(subscription.subscribe, () => subscription.values)
  const error = useSyncExternalStore(subscription.subscribe, () => subscription.error)
  return { value, values, error }
}

/** The state of the connection: connecting, online, lapsed, offline or ended. */
export function useConnection() {
  const { stream } = useContext(GatehouseContext)
  return useSyncExternalStore(
    useCallback((listener) => stream.on('state', listener), [stream]),
    () => stream.state,
  )
}

const UNKNOWN = { user: undefined, error: undefined, isKnown: false }
const NO_ROWS = { rows: [], error: undefined, subscribe: () => () => {} }
const NO_MESSAGES = { value: undefined, values: new Map(), error: undefined, subscribe: () => () => {} }

/** What `open` returns, closed when the component is removed or `open` changes. Until then, what was opened before stays to be shown. */
function useOpen(open, nothing) {
  const [opened, setOpened] = useState(nothing)
  const begin = useCallback(() => {
    const store = open()
    setOpened(store)
    return () => store.close()
  }, [open])
  useMounted(begin)
  return opened
}

/**
 * Calls `begin` after the component is mounted, and what it returns, with its signal aborted, when the component is removed. StrictMode mounts
 * each component twice within one task: waiting for the end of it, nothing is requested or subscribed to twice.
 */
function useMounted(begin) {
  useEffect(() => {
    const controller = new AbortController()
    let end
    queueMicrotask(() => {
      if (!controller.signal.aborted) end = begin(controller.signal)
    })
    return () => {
      end?.()
      controller.abort()
    }
  }, [begin])
}

/** A template makes another statement at each call; this stays the same until its text or a value changes. */
function useStable(statement) {
  const { text, parameters } = statement.compile()
  const key = JSON.stringify([text, parameters])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the statement
  return useMemo(() => statement, [key])
}
