/** Compares two workers with one process under the same load. The full gain shows only if the load generator has a separate core. */
import { setTimeout as sleep } from 'node:timers/promises'
import { clientCredentials, gatehouse, OPENSSL, openssl } from './identity.ts'
import { byKey, inserting, contender as queryContender, type Work } from './query.ts'
import { PORT, requests, contender as streamContender } from './streaming.ts'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Measurement } from './support/compare.ts'
import { type GatehousePeer, startGatehouse, startRqlite } from './support/query-peers.ts'
import { gatehousePeer } from './support/stream-peers.ts'
import { warm } from './support/warm.ts'

/** A server is ready when its first worker is; connections that came then would all be of that one. */
const ALL_READY_MS = 3000
/** Beyond the rows that are measured. */
const WARM_ID = 1_000_000_000
const ONE = 'one process'

type Ratios = NonNullable<Measurement['ratios']>

export const workers: readonly Measurement[] = [
  measurement(
    'workers-token',
    'client_credentials',
    [{ column: 'rate', to: OPENSSL, least: 1 }],
    (checkout, count) => gatehouse(readName(count), checkout, clientCredentials, flags(count)),
    async () => openssl(),
  ),
  measurement(
    'workers-key',
    'one row by its key',
    [
      { column: 'rate', to: ONE, least: 1 },
      { column: 'rate', to: 'rqlite', least: 1.3 },
    ],
    (checkout, count) => onQueries(checkout, count, byKey, (peer) => peer.byKey(0)),
    async () => queryContender(await startRqlite(), byKey),
  ),
  measurement(
    'workers-insert',
    'durable inserts of one row, 64 at once',
    [{ column: 'rate', to: ONE, least: 1 }],
    (checkout, count) => {
      let nextId = WARM_ID
      return onQueries(checkout, count, inserting, (peer) => peer.insert(nextId++))
    },
  ),
  measurement(
    'workers-stream',
    'requests and replies on 64 streams',
    [{ column: 'rate', to: ONE, least: 1.5 }],
    async (checkout, count) =>
      streamContender(readName(count), await gatehousePeer(PORT, checkout, flags(count)), async (server) => {
        await sleep(ALL_READY_MS)
        return requests(server)
      }),
  ),
]

function measurement(
  name: string,
  about: string,
  ratios: Ratios,
  start: (checkout: Checkout, count: number) => Promise<Contender>,
  other?: () => Promise<Contender>,
): Measurement {
  return {
    name,
    about: `${about}: two workers, and one process`,
    columns: { rate: '1/s', cpu: 'ms each' },
    ratios,
    async subject(checkout) {
      const two = await start(checkout, 2)
      await sleep(ALL_READY_MS)
      return two
    },
    async *references() {
      yield start(HERE, 1)
      if (other !== undefined) yield other()
    },
  }
}

/** Each worker compiles its own code: with the warm-up of one process, two would still be compiling while they are measured. */
async function onQueries(
  checkout: Checkout,
  count: number,
  work: Work,
  request: (peer: GatehousePeer) => Buffer,
): Promise<Contender> {
  const peer = await startGatehouse(checkout, {}, '', flags(count))
  if (count > 1) await sleep(ALL_READY_MS)
  for (let further = 1; further < count; further++) await warm(peer.port, () => request(peer))
  return { ...queryContender(peer, work), name: readName(count) }
}

function flags(count: number): Readonly<Record<string, string>> {
  return { '--workers': String(count) }
}

function readName(count: number): string {
  return count === 1 ? ONE : `${count} workers`
}
