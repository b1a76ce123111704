/** Replies in memory that their clients have not read: limited in time, and in size per node. Past the limit, the caller with the most loses connections. */
import type { Metrics } from '../../telemetry/metrics.ts'

interface Unread {
  readonly caller: string
  readonly bytes: number
  readonly close: () => void
}

export interface UnreadRepliesOptions {
  /** The limit of this node. */
  readonly maxBytes?: number
  /** A client that reads nothing for this time is closed. */
  readonly stallMs?: number
  readonly metrics?: Metrics
}

export class UnreadReplies {
  readonly stallMs: number
  readonly #maxBytes: number
  readonly #metrics: Metrics | undefined
  /** Oldest first. */
  readonly #unread = new Set<Unread>()
  readonly #byCaller = new Map<string, number>()
  #bytes = 0

  constructor({ maxBytes = 128 * 1024 * 1024, stallMs = 60_000, metrics }: UnreadRepliesOptions = {}) {
    this.stallMs = stallMs
    this.#maxBytes = maxBytes
    this.#metrics = metrics
    metrics?.watch('gatehouse_query_send_queue_bytes', () => [[{}, this.#bytes]])
  }

  /** Counts bytes until they are released. Past the limit, the caller with the most loses its oldest connections. */
  hold(caller: string, bytes: number, close: () => void): () => void {
    const unread = { caller, bytes, close }
    this.#unread.add(unread)
    this.#count(unread, 1)
    while (this.#bytes > this.#maxBytes && this.#unread.size > 1) this.#closeOldest()
    return () => this.#release(unread)
  }

  #release(unread: Unread): void {
    if (this.#unread.delete(unread)) this.#count(unread, -1)
  }

  #count({ caller, bytes }: Unread, sign: 1 | -1): void {
    const sum = (this.#byCaller.get(caller) ?? 0) + sign * bytes
    this.#bytes += sign * bytes
    if (sum > 0) this.#byCaller.set(caller, sum)
    else this.#byCaller.delete(caller)
  }

  #closeOldest(): void {
    const [most] = [...this.#byCaller].reduce((a, b) => (b[1] > a[1] ? b : a))
    for (const unread of this.#unread) {
      if (unread.caller !== most) continue
      this.#release(unread)
      this.#metrics?.count('gatehouse_query_answers_aborted_total', { reason: 'queue' })
      unread.close()
      return
    }
  }
}
