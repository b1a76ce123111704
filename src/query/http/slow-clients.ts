/** Clients that read slowly or not at all: their answers hold neither a reader that others wait for nor unbounded memory. */
import type { Context } from '../../http/context.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { refuse } from '../errors.ts'
import { ownerOf, type RunningQuery } from '../run/running.ts'

export interface SlowClientLimits {
  /** How long a client may read nothing of a streamed answer while other queries wait; 0 is without limit. */
  readonly stallMs: number
  /** The bytes of whole answers that may be queued for all clients of this node. */
  readonly sendQueueBytes: number
}

export interface SlowClientOptions extends SlowClientLimits {
  /** Whether queries wait for a reader or a connection. */
  readonly isContended: () => boolean
  readonly metrics?: Metrics | undefined
}

interface Queued {
  readonly owner: string
  readonly bytes: number
  readonly context: Context
}

export class SlowClients {
  readonly #options: SlowClientOptions
  /** Oldest first. */
  readonly #queued = new Set<Queued>()
  #bytes = 0

  constructor(options: SlowClientOptions) {
    this.#options = options
    options.metrics?.watch('gatehouse_query_send_queue_bytes', () => [[{}, this.#bytes]])
  }

  /**
   * A streamed answer keeps its reader until the client has read it. It is aborted when the client has read nothing for a while and
   * other queries wait. The timeout of the socket is used because it also sees progress within one large write.
   */
  watch(context: Context, running: RunningQuery): void {
    const { response } = context
    const { stallMs, isContended } = this.#options
    if (stallMs === 0) return
    // Before the server's own listener, which sets the timeout of an idle connection; a pipelined response must not inherit this one.
    response.prependOnceListener('finish', () => void response.setTimeout(0))
    response.setTimeout(stallMs, () => {
      const isStalled = response.writableLength > 0 && !response.destroyed
      if (!isStalled || !isContended()) return void response.setTimeout(stallMs)
      running.stop(refuse('Limit.Cancelled', 'The client did not read the result while other queries waited'))
      this.#abort(context, 'stalled')
    })
  }

  /** Counts the bytes of a whole answer until they are sent. Beyond the limit, the owner with the most loses its oldest answers. */
  addQueued(context: Context, bytes: number): void {
    if (bytes === 0 || context.response.closed) return
    const release = this.hold(context, bytes)
    context.response.once('close', release)
  }

  /** Counts bytes that wait for the client until they are released. */
  hold(context: Context, bytes: number): () => void {
    const queued = { owner: ownerOf(context.principal), bytes, context }
    this.#queued.add(queued)
    this.#bytes += bytes
    while (this.#bytes > this.#options.sendQueueBytes && this.#queued.size > 1) this.#dropOne()
    return () => this.#remove(queued)
  }

  #remove(queued: Queued): void {
    if (this.#queued.delete(queued)) this.#bytes -= queued.bytes
  }

  #dropOne(): void {
    const sums = new Map<string, number>()
    for (const { owner, bytes } of this.#queued) sums.set(owner, (sums.get(owner) ?? 0) + bytes)
    const [largest] = [...sums].reduce((a, b) => (b[1] > a[1] ? b : a))
    const oldest = [...this.#queued].find(({ owner }) => owner === largest)
    if (oldest === undefined) return
    this.#remove(oldest)
    this.#abort(oldest.context, 'queue')
  }

  #abort(context: Context, reason: 'stalled' | 'queue'): void {
    this.#options.metrics?.count('gatehouse_query_answers_aborted_total', { reason })
    context.log.info({ reason }, 'aborted an answer that the client did not read')
    context.response.destroy()
  }
}
