/** Counts and times every answer by its route. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../protocol/metrics.ts'

/** Routes, methods and statuses are few: the series of each is looked up once. */
export function requestCounter(metrics: Metrics) {
  const routes = new Map<string, Map<string, (seconds: number) => void>>()
  return (request: FastifyRequest, reply: FastifyReply, seconds: number): void => {
    const route = request.routeOptions.url ?? 'none'
    let answers = routes.get(route)
    if (answers === undefined) {
      answers = new Map()
      routes.set(route, answers)
    }
    const answer = `${request.method} ${reply.statusCode}`
    let count = answers.get(answer)
    if (count === undefined) {
      count = countAs(route, request.method, reply.statusCode)
      answers.set(answer, count)
    }
    count(seconds)
  }

  function countAs(route: string, method: string, status: number): (seconds: number) => void {
    const answered = metrics.counter('gatehouse_http_requests_total', { method, route, status: String(status) })
    const took = metrics.histogram('gatehouse_http_request_seconds', { route })
    return (seconds) => {
      answered(1)
      took(seconds)
    }
  }
}
