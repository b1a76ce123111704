/** The time of NATS, by which messages are old enough for readers with a delay: whatever the clocks of publishers and nodes say. */
import type { Nats } from './connection.ts'
import type { Delivered } from './delivered.ts'
import { closeConsumer, openConsumer } from './pull.ts'
import type { FeedStream, Head } from './stream.ts'

export interface EngineTime {
  /** Not later than it is, at the server that has the stream, in milliseconds. `head` was read just now. */
  now(stream: FeedStream, head: Head): Promise<number>
  /** When the message was stored. */
  of(message: Delivered): number
}

/** How long versions that do not say the time with the state of a stream are not asked again. */
const MEASURED_MS = 5_000

export class NatsTime implements EngineTime {
  readonly #nats: Nats
  /** By stream: the time of its server, and of this process when it was known. */
  readonly #measured = new Map<string, { readonly time: number; readonly at: number }>()

  constructor(nats: Nats) {
    this.#nats = nats
  }

  async now(stream: FeedStream, { time }: Head): Promise<number> {
    if (time !== undefined) return time
    const known = this.#measured.get(stream.name)
    const elapsed = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.at
    if (known !== undefined && elapsed < MEASURED_MS) return known.time + Math.floor(elapsed)
    const consumer = await openConsumer(this.#nats, stream.name, { filter: stream.subjects.all, deliver_policy: 'new' })
    closeConsumer(this.#nats, stream.name, consumer)
    this.#measured.set(stream.name, { time: consumer.created, at: performance.now() })
    return consumer.created
  }

  of({ stored }: Delivered): number {
    return stored
  }
}
