/** Readers with a delay of feeds in NATS: whose clock counts, other programs, other nodes, and what is not held for ever. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import type { FeedEngine, FeedReads, FeedStore } from '../../packages/server/src/feeds/engine.ts'
import type { Feed } from '../../packages/server/src/feeds/feed.ts'
import { openNatsFeeds } from '../../packages/server/src/feeds/nats/engine.ts'
import { streamName } from '../../packages/server/src/feeds/nats/subjects.ts'
import { isUnavailable } from '../../packages/server/src/lib/unavailable.ts'
import { type NatsServer, startNats, whyWithoutNats } from '../support/nats-server.ts'
import { until } from '../support/until.ts'
import {
  ALL,
  HISTORY,
  LATEST,
  only,
  publish,
  Received,
  readAll,
  show,
  Workbench,
} from './suite/engine-under-test.ts'

const DELAY = 1_500
/** What is shown comes at most so late. On a busy machine. */
const LATE_MS = 1_500
const MINUTE = 60_000

describe('readers with a delay of feeds in NATS', { skip: whyWithoutNats() ?? false }, () => {
  let server: NatsServer
  let bench: Workbench
  let program: NatsConnection
  const errors: unknown[] = []

  const open = (offset = 0): Promise<FeedEngine> =>
    openNatsFeeds({
      url: server.url,
      clock: () => Date.now() + offset,
      isDeclared: async () => true,
      onError: (error) => {
        if (!isUnavailable(error)) errors.push(error)
      },
    })

  before(async () => {
    server = await startNats()
    bench = await Workbench.open({ engine: await open(), close: async () => {} })
    program = await connect({ servers: server.url })
  })
  after(async () => {
    await program?.close()
    await bench?.close()
    await server?.close()
  })

  /** Throws if a message comes sooner than it may. */
  const follow = async (store: FeedStore) => {
    const received = await Received.of(delayed(store), ALL)
    return {
      received,
      async waitFor(count: number, since: number): Promise<void> {
        await until(`${count} messages`, DELAY + 10_000, () => received.messages.length >= count)
        const late = Date.now() - since - DELAY
        assert.ok(late >= 0 && late < LATE_MS, `${late} ms after it was old enough`)
      },
    }
  }

  test('the clocks of nodes do not count', async () => {
    const feed = bench.define(LATEST)
    const nodes = await Promise.all([open(5 * MINUTE), open(-5 * MINUTE)])
    const stores = await Promise.all(nodes.map((node) => node.open(feed, [DELAY])))
    const followers = await Promise.all(stores.map(follow))
    for (const [index, store] of stores.entries()) {
      const since = Date.now()
      await publish(store, `A=${index}`)
      await Promise.all(followers.map(({ waitFor }) => waitFor(index + 1, since)))
    }
    for (const node of nodes) await node.close()
  })

  test('what another program publishes is as old as NATS says, and each of its messages is held', async () => {
    const feed = bench.define({ ...LATEST, history: { messages: 2, time: MINUTE } })
    const store = await bench.engine.open(feed, [DELAY])
    const { received, waitFor } = await follow(store)
    const js = jetstream(program)
    const forged = headers()
    forged.set('Gatehouse-Time', '1000000000000')
    forged.set('Gatehouse-Number', '1')
    forged.set('Gatehouse-Stored', '1')
    const since = Date.now()
    for (let value = 0; value < 8; value++)
      await js.publish(`gatehouse.feeds.${feed.name}.A`, String(value), { headers: forged })
    assert.ok(Date.now() - since < DELAY, 'the machine is too slow for this test')
    assert.deepEqual(received.messages, [])
    assert.deepEqual(await delayed(store).readLast(ALL, 10), [])
    await waitFor(8, since)
    assert.deepEqual(
      received.shown,
      Array.from({ length: 8 }, (_, value) => `A=${value}`),
    )
  })

  test('readers in real time see what is declared, while more is held', async () => {
    const feed = bench.define({ keep: 'all', history: { messages: 2, time: MINUTE } })
    const store = await bench.engine.open(feed, [MINUTE])
    for (let value = 0; value < 6; value++) await publish(store, `A=${value}`, `B=${value}`)
    await publish(store, 'B')
    assert.deepEqual(show((await readAll(store, ALL)).messages), ['A=4', 'A=5'])
    assert.deepEqual(await store.readLast(only('B'), 10), [])
    const { streams } = await jetstreamManager(program)
    assert.equal((await streams.info(streamName(feed.name))).state.messages, 13)
  })

  test('another node takes over from one that has stopped', async () => {
    const feed = bench.define(HISTORY)
    const [moving, other] = [await open(), await open()]
    const store = await other.open(feed, [DELAY])
    const { received, waitFor } = await follow(store)
    const first = await moving.open(feed, [DELAY])
    await publish(first, 'A=1')
    await until('it is shown', 10_000, () => received.messages.length === 1)
    const since = Date.now()
    await publish(first, 'A=2')
    await moving.close()
    await waitFor(2, since)
    await sleep(500)
    assert.deepEqual([received.shown, received.faults], [['A=1', 'A=2'], []])
    await other.close()
  })

  test('a purge by another node leaves nothing, and what follows it comes', async () => {
    const feed = bench.define(HISTORY)
    const [here, there] = [await bench.engine.open(feed, [DELAY]), await open()]
    const store = await there.open(feed, [DELAY])
    const { received } = await follow(store)
    await publish(here, 'A=1')
    await until('it is shown', 10_000, () => received.messages.length === 1)
    await publish(here, 'A=2')
    await here.purge()
    const since = Date.now()
    const { seq } = await publish(here, 'A=3')
    for (const each of [here, store]) {
      await until('the epoch is new', 2_000, () => delayed(each).epoch === here.epoch)
      assert.deepEqual(await delayed(each).readLast(ALL, 10), [])
      assert.deepEqual(show(await each.readLast(ALL, 10)), ['A=3'])
    }
    await until('it is shown', 10_000, () => received.through >= seq)
    assert.ok(Date.now() - since >= DELAY)
    assert.deepEqual(received.shown, ['A=1', 'A=3'])
    const { streams } = await jetstreamManager(program)
    const names = await streams.names(`gatehouse.feed-copies.${feed.name}.>`).next()
    assert.equal(names.length, 2, 'the copies of the former epoch are gone')
    await there.close()
  })

  test('two nodes that move at once do so once', async () => {
    const feed = bench.define({ keep: 'all', history: { messages: 10_000, time: MINUTE } })
    const nodes = await Promise.all([open(), open(), open()])
    const stores = await Promise.all(nodes.map((node) => node.open(feed, [DELAY])))
    const followers = await Promise.all(stores.map(follow))
    let seq = 0
    for (let round = 0; round < 20; round++) {
      const appended = await Promise.all(
        stores.map((store, node) => publish(store, ...Array.from({ length: 50 }, (_, index) => `T${index}=${node}`))),
      )
      seq = Math.max(...appended.map((each) => each.seq))
      // Each read moves what it lacks.
      await Promise.all(stores.map((store) => store.readLast(ALL, 1)))
    }
    const [store] = stores
    const { messages } = await readAll(store ?? assert.fail(), ALL)
    assert.equal(messages.length, 3_000)
    for (const { received } of followers) {
      await until('all are shown', 20_000, () => received.through >= seq)
      assert.deepEqual([received.faults, received.messages], [[], messages])
    }
    assert.deepEqual((await readAll(delayed(store ?? assert.fail()), ALL)).messages, messages)
    for (const node of nodes) await node.close()
  })

  test('a copy that somebody has deleted is filled again', async () => {
    const feed = bench.define(LATEST)
    const store = await bench.engine.open(feed, [DELAY])
    await publish(store, 'A=1', 'B=1')
    const isShown = async (reads: FeedReads) => show((await readAll(reads, ALL)).messages).join() === 'A=1,B=1'
    await until('it is shown', 10_000, () => isShown(delayed(store)))
    const { streams } = await jetstreamManager(program)
    const names: string[] = await streams.names(`gatehouse.feed-copies.${feed.name}.>`).next()
    assert.equal(names.length, 2)
    for (const name of names) await streams.delete(name)
    await until('it is shown again', 10_000, () => isShown(delayed(store)).catch(() => false))
    await until('also in real time', 10_000, () => isShown(store).catch(() => false))
  })

  test('with the feed everything of it is dropped', async () => {
    const feed = bench.define(LATEST)
    const store = await bench.engine.open(feed, [DELAY, MINUTE])
    await publish(store, 'A=1')
    await bench.engine.drop(feed)
    const { streams } = await jetstreamManager(program)
    const roots = ['feeds', 'feed-copies']
    const names = await Promise.all(roots.map((root) => streams.names(`gatehouse.${root}.${feed.name}.>`).next()))
    assert.deepEqual(names.flat(), [])
  })

  test('offered subjects of another program cannot be read with a delay', async () => {
    const feed: Feed = bench.define({ ...LATEST, natsSubject: 'offered.>' })
    const { streams } = await jetstreamManager(program)
    await streams.add({ name: 'OFFERED', subjects: ['offered.>'] })
    const store = await bench.engine.open(feed, [DELAY])
    assert.equal(store.delayed(DELAY), undefined)
  })

  test('none of this was an error', () => assert.deepEqual(errors, []))

  test('over restarts of nats-server each message is shown once, in order, and none too soon', async () => {
    const feed = bench.define({ ...HISTORY, ...LATEST })
    const there = await open()
    const [here, store] = [await bench.engine.open(feed, [DELAY]), await there.open(feed, [DELAY])]
    const followers = await Promise.all([here, store].map(follow))
    const published = new Map<number, number>()
    const tooSoon = new Set<number>()
    const watch = setInterval(() => {
      for (const { received } of followers)
        for (const { seq } of received.messages) {
          const since = published.get(seq)
          if (since !== undefined && Date.now() - since < DELAY) tooSoon.add(seq)
        }
    }, 20)
    let isOver = false
    const publishing = (async () => {
      for (let value = 0; !isOver; value++) {
        const once = { owner: 'A', key: `${feed.name} ${value}`, fingerprint: 'f' }
        const since = Date.now()
        for (let isDone = false; !isDone; ) {
          isDone = await here.append([{ topic: 'A', data: String(value) }], once).then(
            ({ seq }) => published.set(seq, since) !== undefined,
            () => false,
          )
          if (!isDone) await sleep(20)
        }
      }
    })()
    for (let round = 0; round < 2; round++) {
      await sleep(1_000)
      await server.kill()
      await sleep(300)
      await server.start()
    }
    await sleep(1_000)
    isOver = true
    await publishing
    const last = Math.max(...published.keys())
    for (const { received } of followers) {
      await until('all are shown', 20_000, () => received.through >= last)
      assert.deepEqual(received.faults, [])
      assert.deepEqual(
        received.messages.map(({ data }) => Number(data)),
        Array.from(published, (_, value) => value),
      )
    }
    clearInterval(watch)
    assert.deepEqual([...tooSoon], [])
    await there.close()
  })
})

function delayed(store: FeedStore, delay = DELAY): FeedReads {
  return store.delayed(delay) ?? assert.fail('the delay is not kept')
}
