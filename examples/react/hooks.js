/** Hooks for React on the client library. Copy them into your application. */
import { createContext, useContext, useEffect, useMemo, useState, useSyncExternalStore } from 'react'

/** The client: <GatehouseContext value={gate}>. */
export const GatehouseContext = createContext(undefined)

/**
 * The rows of a statement, read again when a value in it changes: useQuery(sql`select … where symbol = ${symbol}`).
 * `rows` is undefined until the first ones are there; they stay while others are read.
 */
export function useQuery(statement) {
  const gate = useContext(GatehouseContext)
  const [result, setResult] = useState({ rows: undefined, error: undefined })
  const stable = useStable(statement)
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    gate.query(stable, { signal }).then(
      (rows) => setResult({ rows, error: undefined }),
      (error) => signal.aborted || setResult({ rows: undefined, error }),
    )
    return () => controller.abort()
  }, [gate, stable])
  return result
}

/** As useQuery, but the rows keep themselves up to date. */
export function useLive(statement, { maxRate = 5 } = {}) {
  const gate = useContext(GatehouseContext)
  const [live, setLive] = useState(NONE)
  const stable = useStable(statement)
  useEffect(() => {
    const opened = gate.live(stable, { maxRate })
    setLive(opened)
    return () => opened.close()
  }, [gate, stable, maxRate])
  const rows = useSyncExternalStore(live.subscribe, () => live.rows)
  const error = useSyncExternalStore(live.subscribe, () => live.error)
  return { rows, error }
}

/** The state of the connection: connecting, online, lapsed, offline or ended. */
export function useConnection() {
  const { stream } = useContext(GatehouseContext)
  return useSyncExternalStore(
    (listener) => stream.on('state', listener),
    () => stream.state,
  )
}

const NONE = { rows: [], error: undefined, subscribe: () => () => {} }

/** A template makes another statement at each call; this stays the same until its text or a value changes. */
function useStable(statement) {
  const { text, parameters } = statement.compile()
  const key = JSON.stringify([text, parameters])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the statement
  return useMemo(() => statement, [key])
}
