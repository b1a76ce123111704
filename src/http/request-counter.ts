/** Counts and times every answer by its route. */
import type { Metrics } from '../protocol/metrics.ts'

type Count = (seconds: number) => void

/** Routes, methods and statuses are few: the series of each is looked up once. */
export function requestCounter(metrics: Metrics) {
  const routes = new Map<string, Map<string, Map<number, Count>>>()
  return (route: string, method: string, status: number, seconds: number): void => {
    let count = routes.get(route)?.get(method)?.get(status)
    if (count === undefined) {
      count = countAs(route, method, status)
      inMap(inMap(routes, route), method).set(status, count)
    }
    count(seconds)
  }

  function countAs(route: string, method: string, status: number): Count {
    const answered = metrics.counter('gatehouse_http_requests_total', { method, route, status: String(status) })
    const took = metrics.histogram('gatehouse_http_request_seconds', { route })
    return (seconds) => {
      answered(1)
      took(seconds)
    }
  }
}

function inMap<Key, Value>(maps: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  let found = maps.get(name)
  if (found === undefined) {
    found = new Map()
    maps.set(name, found)
  }
  return found
}
