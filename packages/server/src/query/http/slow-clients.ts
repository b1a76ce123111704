/** Clients that read slowly or not at all. Their replies must not keep a reader that others wait for. */
import type { Context } from '../../http/context.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { refuse } from '../errors.ts'
import type { RunningQuery } from '../run/running.ts'

export interface SlowClientsEnv {
  /** How long a client may read nothing of a streamed answer while other queries wait; 0 is without limit. */
  readonly limits: { readonly stallMs: number }
  /** Whose load tells whether queries wait for a reader or a connection. */
  readonly engine: { readonly load: { readonly waiting: number } }
  readonly metrics?: Metrics | undefined
}

/**
 * A streamed answer keeps its reader until the client has read it. It is aborted when the client has read nothing for a while and
 * other queries wait. The timeout of the socket is used because it also sees progress within one large write.
 */
export function abortIfStalled(
  context: Context,
  running: RunningQuery,
  { limits, engine, metrics }: SlowClientsEnv,
): void {
  const { response } = context
  const { stallMs } = limits
  if (stallMs === 0) return
  // Before the server's own listener, which sets the timeout of an idle connection; a pipelined response must not inherit this one.
  response.prependOnceListener('finish', () => void response.setTimeout(0))
  response.setTimeout(stallMs, () => {
    const isStalled = response.writableLength > 0 && !response.destroyed
    if (!isStalled || engine.load.waiting === 0) return void response.setTimeout(stallMs)
    running.stop(refuse('Limit.Cancelled', 'The client did not read the result while other queries waited'))
    metrics?.count('gatehouse_query_answers_aborted_total', { reason: 'stalled' })
    context.log.info({ reason: 'stalled' }, 'aborted an answer that the client did not read')
    response.destroy()
  })
}
