/**
 * Feeds while nodes are killed, and PostgreSQL and NATS restarted: every acknowledged message arrives exactly once and in order.
 * FEED_LOSS_SECONDS is the duration for each installation; FEED_LOSS_ONLY names one of them.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { IS_LONG_RUN } from '../support/engines.ts'
import { startNats, whyWithoutNats } from '../support/nats-server.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { Nodes } from './loss/nodes.ts'
import { httpPublisher, type Publisher, streamPublisher } from './loss/publishers.ts'
import { canResume, type Subscriber, subscriber, type Wish } from './loss/subscribers.ts'
import { judge, type Verdict } from './loss/verdict.ts'

/** With four installations, five minutes in all. */
const LONG_SECONDS = 75
const SECONDS = Number(process.env.FEED_LOSS_SECONDS ?? (IS_LONG_RUN ? LONG_SECONDS : 0))
const SUBSCRIBERS = Number(process.env.FEED_LOSS_SUBSCRIBERS ?? 200)
const BETWEEN_FAULTS_MS = 4_000
const DOWN_MS = 1_000

interface Fault {
  readonly name: string
  cause(): Promise<void>
}

interface Installation {
  readonly nodes: Nodes
  readonly faults: readonly Fault[]
}

type Open = (folder: string, t: TestContext) => Promise<Installation>

const installations: Readonly<Record<string, { readonly open: Open; readonly skip?: string | undefined }>> = {
  SQLite: { open: (folder, t) => onSqlite(folder, t, []) },
  'SQLite with two workers': { open: (folder, t) => onSqlite(folder, t, ['--workers', '2']) },
  'two nodes on PostgreSQL': { open: onPostgres },
  'two nodes with NATS': { open: onNats, skip: whyWithoutNats() },
}

describe('feeds lose nothing', {
  skip: SECONDS === 0 && 'runs in npm run test:all, or with FEED_LOSS_SECONDS=20',
}, () => {
  for (const [name, { open, skip }] of Object.entries(installations)) {
    const isWanted = (process.env.FEED_LOSS_ONLY ?? name) === name
    test(name, { skip: isWanted ? (skip ?? false) : 'not wanted', timeout: (SECONDS + 240) * 1000 }, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'gatehouse-loss-'))
      t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
      const verdict = await runWithFaults(await open(folder, t), t)
      t.diagnostic(JSON.stringify({ ...verdict, examples: undefined }))
      assert.deepEqual(verdict.examples, [])
      const { lost, duplicated, outOfOrder, invented, stale, backwards, notRecovered } = verdict
      assert.deepEqual(
        { lost, duplicated, outOfOrder, invented, stale, backwards, notRecovered },
        { lost: 0, duplicated: 0, outOfOrder: 0, invented: 0, stale: 0, backwards: 0, notRecovered: 0 },
      )
    })
  }
})

async function runWithFaults({ nodes, faults }: Installation, t: TestContext): Promise<Verdict> {
  const publishers = createPublishers(nodes)
  const everyPublisher = [...publishers.values()].flat()
  const subscribers = Array.from({ length: SUBSCRIBERS }, (_, index) => subscriber(nodes, chooseWishes(index)))
  const following = subscribers.map((one) => one.run())
  const all = subscribers.flatMap(({ received }) => received)
  await until('everyone is subscribed', 30_000, () => all.every(({ isConfirmed }) => isConfirmed))
  const publishing = everyPublisher.map((one) => one.run())
  const sentBy = new Map([...publishers].map(([feed, list]) => [feed, list.map(({ sent }) => sent)]))
  await until('everyone has a position', 30_000, () => all.every(canResume))

  const caused: string[] = []
  const end = Date.now() + SECONDS * 1000
  for (let index = 0; Date.now() < end; index++) {
    await sleep(BETWEEN_FAULTS_MS)
    const fault = faults[index % faults.length]
    caused.push(fault?.name ?? '')
    await fault?.cause()
  }
  for (const one of everyPublisher) one.stop()
  await Promise.all(publishing)
  const isComplete = (): boolean => {
    const { lost, stale } = judge(sentBy, subscribers)
    return lost + stale === 0
  }
  await until('everything has arrived', 10_000, async () => {
    await sleep(500)
    return isComplete()
  }).catch(() => {})
  await sleep(1_000)
  for (const one of subscribers) one.stop()
  await Promise.all(following)
  t.diagnostic(`faults: ${caused.join(', ')}`)
  t.diagnostic(`closes: ${JSON.stringify(countCloses(subscribers))}`)
  assert.deepEqual(nodes.faults, [])
  return judge(sentBy, subscribers)
}

function createPublishers(nodes: Nodes): Map<string, Publisher[]> {
  const topics = (name: string): string[] => [`${name}/A`, `${name}/B`]
  return new Map([
    [
      'Orders',
      [
        ...['h1', 'h2', 'h3'].map((name) => httpPublisher(nodes, 'Orders', name, topics(name))),
        ...['s1', 's2'].map((name) => streamPublisher(nodes, 'Orders', name, topics(name))),
      ],
    ],
    ['Quotes', [httpPublisher(nodes, 'Quotes', 'q1', topics('q1'))]],
    [
      'Prices',
      [httpPublisher(nodes, 'Prices', 'p1', topics('p1')), httpPublisher(nodes, 'Prices', 'p2', topics('p2'))],
    ],
  ])
}

const SINGLE = ['h1/A', 'h2/B', 'h3/*', 's1/A', 's2/*']

function chooseWishes(index: number): Wish[] {
  const topic = index % 2 === 0 ? '*' : (SINGLE[((index - 1) / 2) % SINGLE.length] ?? '*')
  return [
    { feed: 'Orders', topic, resumes: true },
    {
      feed: 'Quotes',
      topic: index % 3 === 0 ? 'q1/A' : 'q1/*',
      resumes: true,
      ...(index % 4 === 0 ? { maxRate: 2 } : {}),
    },
    { feed: 'Prices', topic: index % 3 === 0 ? 'p1/B' : '*', resumes: false },
  ]
}

function countCloses(subscribers: readonly Subscriber[]): Record<number, number> {
  const closes: Record<number, number> = {}
  for (const one of subscribers) for (const [code, count] of one.closes) closes[code] = (closes[code] ?? 0) + count
  return closes
}

function killing(nodes: Nodes, index: number): Fault {
  return {
    name: `kill -9 of node ${index + 1}`,
    async cause() {
      await nodes.kill(index)
      await sleep(Math.random() * DOWN_MS)
      await nodes.start(index)
    },
  }
}

/** Of what fails together, nothing waits for the other. */
function together(...faults: readonly Fault[]): Fault {
  return {
    name: faults.map(({ name }) => name).join(' with '),
    async cause() {
      await Promise.all(faults.map((fault) => fault.cause()))
    },
  }
}

async function onSqlite(folder: string, t: TestContext, flags: readonly string[]): Promise<Installation> {
  const nodes = await Nodes.start({ folder, count: 1, flags })
  t.after(() => nodes.stop())
  const worker: Fault = { name: 'kill -9 of a worker', cause: () => nodes.kill(0, 'worker') }
  return { nodes, faults: flags.length === 0 ? [killing(nodes, 0)] : [worker, killing(nodes, 0), worker] }
}

async function onPostgres(folder: string, t: TestContext): Promise<Installation> {
  // Of its own: other tests share theirs.
  const postgres = await startPostgres()
  const nodes = await Nodes.start({ folder, count: 2, flags: ['--database-url', postgres.url] })
  t.after(async () => {
    await nodes.stop()
    await postgres.stop()
  })
  const restart: Fault = { name: 'restart of PostgreSQL', cause: () => postgres.restart() }
  const [one, other] = [killing(nodes, 0), killing(nodes, 1)]
  return { nodes, faults: [one, restart, other, restart, together(restart, one), together(one, other)] }
}

async function onNats(folder: string, t: TestContext): Promise<Installation> {
  const [postgres, nats] = [await startPostgres(), await startNats()]
  const flags = ['--database-url', postgres.url, '--nats-url', nats.url]
  const nodes = await Nodes.start({ folder, count: 2, flags })
  t.after(async () => {
    await nodes.stop()
    await nats.close()
    await postgres.stop()
  })
  const restart: Fault = {
    name: 'kill -9 of nats-server',
    async cause() {
      await nats.kill()
      await sleep(Math.random() * DOWN_MS)
      await nats.start()
    },
  }
  const [one, other] = [killing(nodes, 0), killing(nodes, 1)]
  return { nodes, faults: [restart, one, restart, other, together(restart, one), together(one, other)] }
}
