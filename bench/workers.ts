/** Two workers beside one process, on the same work. The load generator needs a core of its own to show all of the gain. */
import { setTimeout as sleep } from 'node:timers/promises'
import { clientCredentials, gatehouse } from './identity.ts'
import { byKey, inserting, contender as queryContender, type Work } from './query.ts'
import { PORT, requests, contender as streamContender } from './streaming.ts'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Measurement } from './support/compare.ts'
import { startGatehouse } from './support/query-peers.ts'
import { gatehousePeer } from './support/stream-peers.ts'

/** A server is ready when its first worker is; connections that came then would all be of that one. */
const ALL_READY_MS = 3000

export const workers: readonly Measurement[] = [
  measurement('workers-token', 'client_credentials', (checkout, count) =>
    gatehouse(nameOf(count), checkout, clientCredentials, flags(count)),
  ),
  measurement('workers-key', 'one row by its key', (checkout, count) => onQueries(checkout, count, byKey)),
  measurement('workers-insert', 'durable inserts of one row, 64 at once', (checkout, count) =>
    onQueries(checkout, count, inserting),
  ),
  measurement('workers-stream', 'requests and replies on 64 streams', async (checkout, count) =>
    streamContender(nameOf(count), await gatehousePeer(PORT, checkout, flags(count)), async (server) => {
      await sleep(ALL_READY_MS)
      return requests(server)
    }),
  ),
]

function measurement(
  name: string,
  about: string,
  start: (checkout: Checkout, count: number) => Promise<Contender>,
): Measurement {
  return {
    name,
    about: `${about}: two workers, and one process`,
    columns: { rate: '1/s', cpu: 'ms each' },
    async subject(checkout) {
      const two = await start(checkout, 2)
      await sleep(ALL_READY_MS)
      return two
    },
    async *references() {
      yield start(HERE, 1)
    },
  }
}

async function onQueries(checkout: Checkout, count: number, work: Work): Promise<Contender> {
  const peer = await startGatehouse(checkout, {}, '', flags(count))
  return { ...queryContender(peer, work), name: nameOf(count) }
}

function flags(count: number): Readonly<Record<string, string>> {
  return { '--workers': String(count) }
}

function nameOf(count: number): string {
  return count === 1 ? 'one process' : `${count} workers`
}
