/** Two nodes that share the feeds, in PostgreSQL or in NATS, and how long a message takes from one to a subscriber of the other. */
import { randomBytes } from 'node:crypto'
import { startNats } from '../../test/support/nats-server.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import type { Checkout } from './checkout.ts'
import type { Contender, Figures } from './compare.ts'
import { type FeedServer, gatehouseFeeds } from './feed-peers.ts'
import { countMarks, markedData } from './marked-messages.ts'
import { paced, percentiles } from './percentiles.ts'

const PER_SECOND = 50

export interface FeedNodes {
  start(): Promise<readonly [FeedServer, FeedServer]>
  close(): Promise<void>
}

/** `declared` is added to the declared file of both. */
export async function openNodes(
  engine: 'postgres' | 'nats',
  checkout: Checkout,
  declared?: string,
): Promise<FeedNodes> {
  const postgres = await startPostgres()
  const nats = engine === 'nats' ? await startNats() : undefined
  const flags = {
    '--database-url': postgres.url,
    '--master-key': randomBytes(32).toString('base64'),
    '--issuer': 'http://localhost:15489',
    ...(nats === undefined ? {} : { '--nats-url': nats.url }),
  }
  const [here, there] = [
    await gatehouseFeeds(checkout, 'history', flags, declared),
    await gatehouseFeeds(checkout, 'history', flags, declared),
  ]
  return {
    start: async () => [await here.start(), await there.start()],
    async close() {
      await here.close()
      await there.close()
      await nats?.close()
      await postgres.stop()
    },
  }
}

/** Unloaded: a message every 20 ms. */
export async function twoNodes(
  name: string,
  engine: 'postgres' | 'nats',
  checkout: Checkout,
  milliseconds: number,
): Promise<Contender> {
  const nodes = await openNodes(engine, checkout)
  return {
    name,
    async measure(): Promise<Figures> {
      const [one, other] = await nodes.start()
      try {
        const [publisher, subscriber] = [await one.connect(), await other.connect({ token: one.tokens[0] })]
        await subscriber.subscribe()
        const latencies: number[] = []
        let isTimed = false
        countMarks(
          subscriber.socket,
          () => {},
          (latency) => isTimed && latencies.push(latency),
        )
        const publish = (): Promise<void> => publisher.publish(markedData())
        await paced(PER_SECOND, milliseconds / 2, publish)
        isTimed = true
        await paced(PER_SECOND, milliseconds, publish)
        for (const { socket } of [publisher, subscriber]) socket.terminate()
        return percentiles(latencies)
      } finally {
        await one.stop()
        await other.stop()
      }
    },
    close: () => nodes.close(),
  }
}
