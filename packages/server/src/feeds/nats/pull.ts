/** Reads of a stream of JetStream by short-lived pull consumers, page by page. */
import type { ConsumerConfig } from '@nats-io/jetstream'
import { type Nats, NatsUnavailable, REQUEST_MS } from './connection.ts'
import { type Delivered, delivered } from './delivered.ts'

/** What a page holds at most: a thousand messages can be a gigabyte. */
const PAGE_BYTES = 4 << 20
const INACTIVE_NS = 15e9

export interface Consumer {
  readonly name: string
  /** How many messages it will deliver. */
  readonly pending: number
}

export async function openConsumer(
  nats: Nats,
  stream: string,
  { filter, ...config }: Partial<ConsumerConfig> & { readonly filter: string },
): Promise<Consumer> {
  const { name, num_pending } = await nats.run(() =>
    nats.consumers.add(stream, {
      ack_policy: 'none',
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: INACTIVE_NS,
      filter_subject: filter,
      ...config,
    }),
  )
  return { name, pending: num_pending }
}

/** Its server removes it after a while otherwise. */
export function closeConsumer(nats: Nats, stream: string, { name }: Consumer): void {
  if (nats.isConnected) nats.connection.publish(`$JS.API.CONSUMER.DELETE.${stream}.${name}`)
}

/** The next messages, at most `count`; fewer, or none, at the end or where they are large. */
export function pull(nats: Nats, stream: string, { name }: Consumer, count: number): Promise<Delivered[]> {
  return nats.run(
    () =>
      new Promise((resolve, reject) => {
        const found: Delivered[] = []
        const inbox = nats.inbox()
        const end = (settle: () => void): void => {
          clearTimeout(timer)
          subscription.unsubscribe()
          settle()
        }
        const timer = setTimeout(
          () => end(() => reject(new NatsUnavailable('NATS did not deliver messages in time'))),
          REQUEST_MS,
        )
        const subscription = nats.connection.subscribe(inbox, {
          callback: (error, message) => {
            if (error !== null) return end(() => reject(error))
            const one = delivered(message)
            // A status: there is no more now, or the next message exceeds the bytes of the page.
            if (one === undefined) {
              if (message.headers?.code === 503) return end(() => reject(new NatsUnavailable('JetStream is not ready')))
              return end(() => resolve(found))
            }
            found.push(one)
            if (found.length === count || one.pending === 0) end(() => resolve(found))
          },
        })
        const wanted = { batch: count, no_wait: true, max_bytes: PAGE_BYTES }
        nats.connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify(wanted), { reply: inbox })
      }),
  )
}

/** Everything that the consumer delivers, in pages. */
export async function* pullAll(nats: Nats, stream: string, consumer: Consumer, page = 1_000): AsyncGenerator<Delivered[]> {
  try {
    if (consumer.pending === 0) return
    for (;;) {
      const found = await pull(nats, stream, consumer, page)
      if (found.length > 0) yield found
      if (found.length === 0 || found.at(-1)?.pending === 0) return
    }
  } finally {
    closeConsumer(nats, stream, consumer)
  }
}
