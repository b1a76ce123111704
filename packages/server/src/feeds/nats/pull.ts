/** Reads of a stream of JetStream by short-lived pull consumers, page by page. */
import type { ConsumerConfig } from '@nats-io/jetstream'
import { type Nats, NatsUnavailable, REQUEST_MS } from './connection.ts'
import { type Delivered, delivered } from './delivered.ts'

/** What a page holds at most: a thousand messages can be a gigabyte. */
const PAGE_BYTES = 4 << 20
const INACTIVE_NS = 15e9
/** How long JetStream waits for messages that were removed in the meantime. What has arrived by then is a page, too. */
const SILENT_MS = 500

export interface Consumer {
  readonly name: string
  /** About how many messages it will deliver. */
  readonly pending: number
  /** By the clock of NATS, in milliseconds. */
  readonly created: number
}

export async function openConsumer(
  nats: Nats,
  stream: string,
  { filter, ...config }: Partial<ConsumerConfig> & { readonly filter: string },
): Promise<Consumer> {
  const { name, num_pending, created } = await nats.run(() =>
    nats.consumers.add(stream, {
      ack_policy: 'none',
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: INACTIVE_NS,
      filter_subject: filter,
      ...config,
    }),
  )
  return { name, pending: num_pending, created: Date.parse(created) }
}

/** Its server removes it after a while otherwise. */
export function closeConsumer(nats: Nats, stream: string, { name }: Consumer): void {
  if (nats.isConnected) nats.connection.publish(`$JS.API.CONSUMER.DELETE.${stream}.${name}`)
}

/** What a consumer is asked for. */
export interface PullOptions {
  /** The maximum number of messages. */
  readonly count: number
  /** The number of the last message that it can deliver. Its own count is wrong in old versions where messages have been removed. */
  readonly end: number
}

/** The next messages; fewer, or none, at the end or where they are large. */
export function pull(
  nats: Nats,
  stream: string,
  { name }: Consumer,
  { count, end }: PullOptions,
): Promise<Delivered[]> {
  return nats.run(
    () =>
      new Promise((resolve, reject) => {
        const found: Delivered[] = []
        const inbox = nats.inbox()
        const finish = (settle: () => void): void => {
          clearTimeout(timer)
          subscription.unsubscribe()
          settle()
        }
        const timer = setTimeout(
          () => finish(() => reject(new NatsUnavailable('NATS did not deliver messages in time'))),
          REQUEST_MS,
        )
        const subscription = nats.connection.subscribe(inbox, {
          callback: (error, message) => {
            if (error !== null) return finish(() => reject(error))
            const one = delivered(message)
            // A status: there is no more now, or the next message exceeds the bytes of the page.
            if (one === undefined) {
              if (message.headers?.code === 503)
                return finish(() => reject(new NatsUnavailable('JetStream is not ready')))
              return finish(() => resolve(found))
            }
            found.push(one)
            if (found.length === count || one.seq >= end) return finish(() => resolve(found))
          },
        })
        const wanted = { batch: count, expires: SILENT_MS * 1e6, max_bytes: PAGE_BYTES }
        nats.connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify(wanted), { reply: inbox })
      }),
  )
}

/** Everything that the consumer delivers, in pages. */
export async function* pullAll(
  nats: Nats,
  stream: string,
  consumer: Consumer,
  { count = 1_000, end }: { readonly count?: number; readonly end: number },
): AsyncGenerator<Delivered[]> {
  try {
    for (;;) {
      const found = await pull(nats, stream, consumer, { count, end })
      if (found.length > 0) yield found
      const last = found.at(-1)
      if (last === undefined || last.seq >= end) return
    }
  } finally {
    closeConsumer(nats, stream, consumer)
  }
}

/** The next messages of a subject, from a sequence number of the stream on: at least one, if there is any. */
export async function pullPage(
  nats: Nats,
  stream: string,
  { filter, place, end }: { readonly filter: string; readonly place: number; readonly end: number },
): Promise<Delivered[]> {
  const start = { deliver_policy: 'by_start_sequence', opt_start_seq: Math.max(1, place) } as const
  const consumer = await openConsumer(nats, stream, { filter, ...start })
  for await (const page of pullAll(nats, stream, consumer, { end })) return page
  return []
}
