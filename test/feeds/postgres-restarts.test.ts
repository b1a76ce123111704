/** Feeds on PostgreSQL while the server restarts and connections break: what was acknowledged is passed on once and in order. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { FeedStore } from '../../packages/server/src/feeds/engine.ts'
import { openPostgresFeeds } from '../../packages/server/src/feeds/postgres/engine.ts'
import { isUnavailable } from '../../packages/server/src/lib/unavailable.ts'
import { DatabaseServers } from '../../packages/server/src/store/database/servers/servers.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { startPostgres } from '../support/postgres.ts'
import { ALL, HISTORY, Received, readAll, Workbench } from './suite/engine-under-test.ts'

const PUBLISHERS = 6
const ROUNDS = 4
const PAUSE_MS = 3000

describe('feeds while PostgreSQL restarts', { skip: IS_LONG_RUN ? false : 'runs in npm run test:all' }, () => {
  test('every acknowledged message is passed on once, in the order of its publisher', {
    timeout: 240_000,
  }, async () => {
    const server = await startPostgres()
    const servers = [new DatabaseServers(server.url), new DatabaseServers(server.url)] as const
    const onError = (error: unknown): void => console.error(error)
    const bench = await Workbench.open({
      engine: await openPostgresFeeds({ servers: servers[0], onError }),
      second: () => openPostgresFeeds({ servers: servers[1], onError }),
      close: async () => {
        for (const each of servers) await each.close()
        await server.stop()
      },
    })
    try {
      const { here, there } = await bench.createOnBoth(HISTORY)
      const receivers = [await Received.of(here, ALL), await Received.of(there, ALL)]
      const stop = new AbortController()
      const publishers = Array.from({ length: PUBLISHERS }, (_, index) =>
        publishUntil(stop.signal, index % 2 === 0 ? here : there, `T${index}`),
      )
      for (let round = 0; round < ROUNDS; round++) {
        await sleep(PAUSE_MS)
        if (round % 2 === 0) await server.restart()
        else await breakConnections(server.url)
      }
      await sleep(PAUSE_MS)
      stop.abort()
      const counts = await Promise.all(publishers)
      const { messages, through } = await readAll(here, ALL)
      for (const received of receivers) {
        await received.waitForSeq(through)
        assert.deepEqual(received.faults, [])
        assert.deepEqual(received.messages, messages)
      }
      for (const [index, count] of counts.entries())
        assert.deepEqual(
          messages.filter(({ topic }) => topic === `T${index}`).map(({ data }) => Number(data)),
          Array.from({ length: count }, (_, number) => number),
        )
    } finally {
      await bench.close()
    }
  })
})

/** Repeats a request whose outcome is not known, with its key. Returns how many were acknowledged. */
async function publishUntil(signal: AbortSignal, store: FeedStore, topic: string): Promise<number> {
  for (let number = 0; ; ) {
    try {
      await store.append([{ topic, data: String(number) }], { owner: topic, key: String(number), fingerprint: 'same' })
      number++
      if (signal.aborted) return number
    } catch (error) {
      assert.ok(isUnavailable(error), String(error))
      await sleep(20)
    }
  }
}

async function breakConnections(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse feeds'`,
  )
  await client.end()
}
