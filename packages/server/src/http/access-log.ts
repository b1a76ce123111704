/** The last step of every request: writes the log line and counts the request. */
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Context } from './context.ts'

export function createAccessLog(logger: Logger, metrics: Metrics): (context: Context, status: number) => void {
  const count = createCounter(metrics)
  return (context, status) => {
    const { id, method, target, address, route, startedAt } = context
    const milliseconds = performance.now() - startedAt
    count(route, method, status, milliseconds / 1000)
    const level = status < 400 ? context.logLevel : 'info'
    if (!logger.isLevelEnabled(level)) return
    const ms = Math.round(milliseconds * 10) / 10
    const req = { method, url: target, ip: address }
    // pino leaves out what is undefined.
    logger[level]({ reqId: id, req, res: { statusCode: status }, ms, ...context.caller }, 'request')
  }
}

type Count = (seconds: number) => void

/** Routes, methods and statuses are few: the series of each combination is looked up once. */
function createCounter(metrics: Metrics) {
  const series = new Map<string, Map<string, Map<number, Count>>>()
  return (route: string, method: string, status: number, seconds: number): void => {
    let count = series.get(route)?.get(method)?.get(status)
    if (count === undefined) {
      const requests = metrics.counter('gatehouse_http_requests_total', { method, route, status: String(status) })
      const duration = metrics.histogram('gatehouse_http_request_seconds', { route })
      count = (took) => {
        requests(1)
        duration(took)
      }
      child(child(series, route), method).set(status, count)
    }
    count(seconds)
  }
}

function child<Key, Value>(parent: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  let found = parent.get(name)
  if (found === undefined) {
    found = new Map()
    parent.set(name, found)
  }
  return found
}
