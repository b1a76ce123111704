/** The log line and the counts of every request, when it is over. */
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Context } from './context.ts'

export function createAccessLog(logger: Logger, metrics: Metrics): (context: Context, status: number) => void {
  /** There are few routes, methods and statuses, so the series of each combination are looked up once. */
  const series = new Map<string, (seconds: number) => void>()
  return (context, status) => {
    const { id, method, path, address, route, startedAt } = context
    const milliseconds = performance.now() - startedAt
    const key = `${status} ${method} ${route}`
    let count = series.get(key)
    if (count === undefined) {
      count = countRequests(metrics, method, route, status)
      series.set(key, count)
    }
    count(milliseconds / 1000)
    const level = status < 400 ? context.logLevel : 'info'
    if (!logger.isLevelEnabled(level)) return
    const ms = Math.round(milliseconds * 10) / 10
    // Only the path: the query string and the headers may contain codes and tokens. pino leaves out what is undefined.
    logger[level]({ reqId: id, req: { method, path, address }, res: { status }, ms, ...context.caller }, 'request')
  }
}

function countRequests(metrics: Metrics, method: string, route: string, status: number): (seconds: number) => void {
  const requests = metrics.counter('gatehouse_http_requests_total', { method, route, status: String(status) })
  const duration = metrics.histogram('gatehouse_http_request_seconds', { route })
  return (seconds) => {
    requests(1)
    duration(seconds)
  }
}
