/** What every answer has, whoever gives it: the security headers, the id of its request, its place in the metrics and a line in the log. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Metrics } from '../protocol/metrics.ts'
import type { Logger } from './log.ts'
import { requestCounter } from './request-counter.ts'

/** What browsers show or follow gets more, where the pages are (identity/browser/doors.ts). */
export const SECURITY_HEADERS = {
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
} as const

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/

/** The id that the caller gave its request, or one of ours. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

export interface Answered {
  readonly id: string
  readonly request: { readonly method: string; readonly url: string; readonly ip: string }
  /** The pattern of the address, never the address itself: a metric has few labels. */
  readonly route: string
  readonly status: number
  readonly milliseconds: number
}

export function noteAnswers(logger: Logger, metrics: Metrics): (answered: Answered) => void {
  const count = requestCounter(metrics)
  return ({ id, request, route, status, milliseconds }) => {
    count(route, request.method, status, milliseconds / 1000)
    if (!logger.isLevelEnabled('info')) return
    const ms = Math.round(milliseconds * 10) / 10
    logger.info({ reqId: id, req: request, res: { statusCode: status }, ms }, 'request')
  }
}
