/** Measures the PostgreSQL engine of feeds without a server around it: `node bench/feeds-postgres.ts [--latency] [URL of a PostgreSQL server]`. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { FeedEngine, FeedStore, StoredMessage } from '../packages/server/src/feeds/engine.ts'
import type { Feed } from '../packages/server/src/feeds/feed.ts'
import { openPostgresFeeds } from '../packages/server/src/feeds/postgres/engine.ts'
import { DatabaseServers } from '../packages/server/src/store/database/servers/servers.ts'
import { createPostgresDatabase, SHARED_SERVER, stopOwnPostgres } from '../test/support/postgres.ts'

const [url] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isLatencyOnly = process.argv.includes('--latency')
if (url !== undefined) process.env[SHARED_SERVER] = url

const FEED: Feed = {
  ...{
    name: 'Prices',
    generation: 'Prices',
    description: '',
    class: 'Channel',
    read: 'identity',
    write: 'Platform/Admin',
  },
  ...{ keep: 'all', history: { messages: 1000, time: 3_600_000 }, stateTime: undefined },
  ...{ messageBytes: 65_536, topics: 100_000, bytes: 1 << 30, rate: 1e9, natsSubject: undefined },
}
const DATA = JSON.stringify({
  last: '101.25',
  bid: '101.24',
  ask: '101.26',
  size: 1200,
  at: '2030-01-01T00:00:00.000Z',
})

const SECONDS = 4
/** Of the database server's processes, which are on this machine: the unit of their processor time (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100

const database = await createPostgresDatabase()
const servers = [new DatabaseServers(database.url), new DatabaseServers(database.url)] as const
const onError = (error: unknown): void => console.error(error)
const [one, two]: readonly FeedEngine[] = await Promise.all(
  servers.map((each) => openPostgresFeeds({ servers: each, onError })),
)
if (one === undefined || two === undefined) throw new Error('There are no engines')
try {
  for (const [name, kind] of [
    ['history', FEED],
    ['states', { ...FEED, name: 'States', keep: 'latest', history: undefined }],
    ['not stored', { ...FEED, name: 'NotStored', history: undefined }],
  ] as const) {
    const [here, there] = [await one.open(kind), await two.open(kind)]
    console.log(name)
    if (!isLatencyOnly) {
      for (const topics of [1, 1000, 10_000]) await batches(here, 1000, topics)
      for (const publishers of [1, 200]) await singles(here, publishers)
    }
    await latency(here, there)
  }
} finally {
  await Promise.all([one.close(), two.close()])
  for (const each of servers) await each.close()
  await database.drop()
  await stopOwnPostgres()
}

/** One publisher, whose next batch follows the reply to the last. */
async function batches(store: FeedStore, size: number, topics: number): Promise<void> {
  let count = 0
  const start = performance.now()
  const [ownBefore, databaseBefore] = [process.cpuUsage(), await databaseSeconds()]
  while (performance.now() - start < SECONDS * 1000) {
    await store.append(
      Array.from({ length: size }, (_, index) => ({ topic: `T${(count + index) % topics}`, data: DATA })),
    )
    count += size
  }
  const perSecond = Math.round(count / ((performance.now() - start) / 1000))
  const { user, system } = process.cpuUsage(ownBefore)
  const perThousand = (seconds: number): string => ((seconds * 1000) / (count / 1000)).toFixed(1)
  const own = perThousand((user + system) / 1e6)
  const ofDatabase = perThousand((await databaseSeconds()) - databaseBefore)
  console.log(
    `  batches of ${size} over ${topics} topics: ${perSecond} messages/s; for 1,000 messages ${ofDatabase} ms of a processor in PostgreSQL, ${own} ms here`,
  )
}

/** The processor time that the connections of the engines have used. */
async function databaseSeconds(): Promise<number> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name = 'gatehouse feeds' and datname = current_database()`,
  )
  await client.end()
  const ticks = rows.map(({ pid }) => {
    // utime and stime, after the name in parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND
}

async function singles(store: FeedStore, publishers: number): Promise<void> {
  const times: number[] = []
  const start = performance.now()
  await Promise.all(
    Array.from({ length: publishers }, async (_, index) => {
      while (performance.now() - start < SECONDS * 1000) {
        const sent = performance.now()
        await store.append([{ topic: `T${index}`, data: DATA }])
        times.push(performance.now() - sent)
      }
    }),
  )
  const perSecond = Math.round(times.length / ((performance.now() - start) / 1000))
  console.log(`  ${publishers} publishers of single messages: ${perSecond} messages/s, ${show(times)}`)
}

/** From the call of append on one node to the delivery on the other. */
async function latency(here: FeedStore, there: FeedStore): Promise<void> {
  const sent = new Map<string, number>()
  const times: number[] = []
  const following = there.follow({
    wanted: { topics: new Set(['L']), prefixes: new Set() },
    deliver(messages: readonly StoredMessage[]) {
      for (const { data = '' } of messages) times.push(performance.now() - (sent.get(data) ?? 0))
    },
    purged() {},
  })
  await following.wantedMore()
  for (let round = 0; round < 500; round++) {
    sent.set(String(round), performance.now())
    await here.append([{ topic: 'L', data: String(round) }])
    await sleep(10)
  }
  await sleep(1000)
  following.stop()
  console.log(`  to a follower on another node: ${times.length} of 500, ${show(times)}`)
}

function show(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number): string => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`
}
