/** Licensed tables beside tables without products: reads in real time, delayed and by column, and what copies cost those who write. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fanOut, contender as feedContender } from './feeds.ts'
import { byKey, inserting, RATES, type Work } from './query.ts'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { FEED_OF, gatehouseFeeds } from './support/feed-peers.ts'
import { load } from './support/http-load.ts'
import {
  buildRow,
  buildSymbol,
  type GatehousePeer,
  type QueryPeer,
  ROWS,
  ROWS_PER_SYMBOL,
  startGatehouse,
} from './support/query-peers.ts'
import { adminToken } from './support/tokens.ts'

const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 3000)
const CONNECTIONS = 16
const BATCH = 5_000

type Declared = readonly { readonly path: string; readonly body: object }[]

const WHOLE = [{ table: 'trades2' }]
/** One symbol of a thousand is of another product. */
const ONE = [{ table: 'trades2', column: 'symbol', values: ['S0'] }]
const OTHERS = [{ table: 'trades2', column: 'symbol', values: 'others' }]

const DECLARED: Readonly<Record<string, Declared>> = {
  'no product': [],
  'in real time': [product('ALL', 'realtime', WHOLE)],
  delayed: [product('ALL', 'delayed', WHOLE)],
  'by column': [product('ONE', 'none', ONE), product('REST', 'realtime', OTHERS)],
  'two accesses': [product('ONE', 'delayed', ONE), product('REST', 'realtime', OTHERS)],
  'with a copy': [
    product('ALL', 'none', WHOLE),
    { path: '/admin/entitlements', body: { product: 'ALL', user: 'admin', access: 'realtime', from: '2020-01-01' } },
  ],
  'row filter': [{ path: '/query', body: { Statement: "ALTER TABLE trades2 SET ROW FILTER (symbol NOT IN ('S0'))" } }],
}

function product(name: string, access: string, covers: readonly object[]): Declared[number] {
  return { path: '/admin/products', body: { name, delay: '1 second', default: access, covers } }
}

const READ = ['in real time', 'delayed', 'row filter', 'by column', 'two accesses'] as const

const aggregating: Work = (peer) => {
  const { aggregate } = peer
  return aggregate && (() => measure(peer, () => aggregate(), 4))
}
const bySymbol: Work = (peer) => () =>
  measure(peer, () =>
    peer.bySymbol(buildSymbol(ROWS_PER_SYMBOL + Math.floor(Math.random() * (ROWS - ROWS_PER_SYMBOL)))),
  )

export const licences: readonly Measurement[] = [
  ...(
    [
      ['key', 'one row by its key', byKey],
      ['100', '100 rows by an index', bySymbol],
      ['groups', 'sums of 1,000 groups', aggregating],
    ] as const
  ).map(([name, about, work]): Measurement => {
    return {
      name: `licence-${name}`,
      about: `${about} of a table that products cover: in real time, delayed, by a column; beside no product, and the same row filter`,
      columns: RATES,
      ratios: [
        { column: 'rate', to: 'in real time', most: 1.1 },
        { column: 'rate', to: 'delayed', most: 1.1 },
      ],
      subject: (checkout) => contender('no product', checkout, work),
      async *references() {
        for (const other of READ) yield await contender(other, HERE, work)
      },
    }
  }),
  ...[1_000, 10_000].map((subscribers): Measurement => {
    const follow = async (name: string, checkout: Checkout, declared: string) =>
      feedContender(name, await gatehouseFeeds(checkout, 'history', {}, declared), (server) =>
        fanOut(server, subscribers),
      )
    return {
      name: `licence-fanout${subscribers === 1_000 ? '' : '-10k'}`,
      about: `one publisher to ${subscribers.toLocaleString('en')} subscribers of a feed with a history, that a product covers; without one`,
      columns: { ...RATES, p50: 'ms', p99: 'ms' },
      ratios: [
        { column: 'rate', to: 'covered', most: 1 / 0.95 },
        { column: 'p99', to: 'covered', least: 1 / 1.1 },
      ],
      subject: (checkout) => follow('no product', checkout, ''),
      async *references() {
        yield await follow(
          'covered',
          HERE,
          `products: [{ name: ALL, default: realtime, covers: [{ feed: ${FEED_OF.history} }] }]\n`,
        )
      },
    }
  }),
  {
    name: 'licence-insert',
    about: 'durable inserts, 64 at once, into a table with a delayed copy; without one',
    columns: RATES,
    ratios: [{ column: 'rate', to: 'with a copy', most: 1 / 0.8 }],
    subject: (checkout) => contender('no product', checkout, inserting),
    async *references() {
      yield await contender('with a copy', HERE, inserting)
    },
  },
  {
    name: 'licence-bulk',
    about: `inserts of ${BATCH} rows in a request, into a table with a delayed copy; without one`,
    columns: RATES,
    ratios: [{ column: 'rate', to: 'with a copy', most: 2 }],
    subject: (checkout) => contender('no product', checkout, ingesting),
    async *references() {
      yield await contender('with a copy', HERE, ingesting)
    },
  },
]

const ingesting = (peer: GatehousePeer) => {
  let next = ROWS
  return () => {
    return measure(peer, () => peer.ingest(Array.from({ length: BATCH }, () => buildRow(next++))), 1, 200)
  }
}

async function contender(
  name: string,
  checkout: Checkout,
  work: Work | ((peer: GatehousePeer) => () => Promise<Figures>),
): Promise<Contender> {
  const peer = await startGatehouse(checkout)
  const headers = { authorization: `Bearer ${await adminToken(peer.port)}`, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`http://127.0.0.1:${peer.port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  for (const { path, body } of DECLARED[name] ?? []) {
    const reply = await post(path, body)
    if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`)
  }
  // A copy of rows that are there opens after a while.
  for (let tries = 0; tries < 600; tries++) {
    const { status } = await post('/query', { Statement: 'SELECT id FROM trades2 WHERE id = 5' })
    if (status === 200) break
    await sleep(100)
  }
  const run = work(peer)
  if (run === undefined) throw new Error(`${name} cannot do this`)
  return { name, measure: run, close: () => peer.stop() }
}

async function measure(
  peer: QueryPeer,
  build: () => Buffer,
  connections = CONNECTIONS,
  prepared = 1_000,
): Promise<Figures> {
  const requests = Array.from({ length: prepared }, build)
  let next = 0
  const callers = Array.from({ length: connections }, () => ({
    next: () => requests[next++ % prepared],
    onResponse(status: number, body: string) {
      if (status !== 200) throw new Error(`${status} ${body.slice(0, 300)}`)
    },
  }))
  const before = peer.use().cpuMs
  const { responses, seconds } = await load(peer.port, callers, ROUND_MS)
  return { rate: responses / seconds, cpu: (peer.use().cpuMs - before) / responses }
}
