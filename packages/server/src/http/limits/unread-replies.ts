/** Replies in memory that their clients have not read: limited in time, and in size per node. */

import { HeldBytes } from '../../lib/held-bytes.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

export interface UnreadRepliesOptions {
  /** The limit of this node. */
  readonly maxBytes?: number
  /** A client that reads nothing for this time is closed. */
  readonly stallMs?: number
  readonly metrics?: Metrics
}

export class UnreadReplies {
  readonly stallMs: number
  readonly #metrics: Metrics | undefined
  readonly #held: HeldBytes

  constructor({ maxBytes = 128 * 1024 * 1024, stallMs = 60_000, metrics }: UnreadRepliesOptions = {}) {
    this.stallMs = stallMs
    this.#metrics = metrics
    this.#held = new HeldBytes(maxBytes)
    metrics?.watch('gatehouse_query_send_queue_bytes', () => [[{}, this.#held.bytes]])
  }

  /** Counts bytes until they are released. Past the limit, the caller with the most loses its oldest connections. */
  hold(caller: string, bytes: number, close: () => void): () => void {
    return this.#held.hold(caller, bytes, () => {
      this.#metrics?.count('gatehouse_query_answers_aborted_total', { reason: 'queue' })
      close()
    })
  }
}
