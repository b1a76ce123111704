/** Feeds in NATS beside other programs: their messages, their streams, and restarts of nats-server. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { FeedEngine, FeedStore } from '../../packages/server/src/feeds/engine.ts'
import { openNatsFeeds } from '../../packages/server/src/feeds/nats/engine.ts'
import { streamName } from '../../packages/server/src/feeds/nats/subjects.ts'
import { isUnavailable } from '../../packages/server/src/lib/unavailable.ts'
import { type NatsServer, startNats, whyWithoutNats } from '../support/nats-server.ts'
import { until } from '../support/until.ts'
import {
  ALL,
  HISTORY,
  isRefusal,
  LATEST,
  NOT_STORED,
  only,
  publish,
  Received,
  readAll,
  show,
  Workbench,
} from './suite/engine-under-test.ts'

describe('feeds in NATS', { skip: whyWithoutNats() ?? false }, () => {
  let server: NatsServer
  let bench: Workbench
  let program: NatsConnection
  const skipped: string[] = []
  const errors: unknown[] = []
  const declared = new Set<string>()

  const open = (): Promise<FeedEngine> =>
    openNatsFeeds({
      url: server.url,
      isDeclared: async (generation) => declared.has(generation),
      onError: (error) => errors.push(error),
      onSkipped: (_, reason) => skipped.push(reason),
    })

  before(async () => {
    server = await startNats()
    bench = await Workbench.open({ engine: await open(), second: open, close: async () => {} })
    program = await connect({ servers: server.url })
  })
  after(async () => {
    await program?.close()
    await bench?.close()
    await server?.close()
  })

  describe('a program that publishes to NATS', () => {
    test('its JSON is a message of the feed, and anything else is skipped', async () => {
      const { here: store, feed } = await bench.createOnBoth({ ...HISTORY, messageBytes: 100 })
      const received = await Received.of(store, ALL)
      const js = jetstream(program)
      skipped.length = 0
      const { seq } = await js.publish(`gatehouse.feeds.${feed.name}.NYSE.ACME`, '{"last": 101.250}')
      await js.publish(`gatehouse.feeds.${feed.name}.NYSE.ACME`, 'no JSON')
      await js.publish(`gatehouse.feeds.${feed.name}.NYSE.ACME`, `"${'x'.repeat(200)}"`)
      await js.publish(`gatehouse.feeds.${feed.name}.NYSE/ACME`, '1')
      await js.publish(`gatehouse.feeds.${feed.name}.NYSE.%`, '2')
      await received.waitFor(2)
      assert.deepEqual(received.shown, ['NYSE/ACME={"last": 101.250}', 'NYSE/=2'])
      assert.equal(received.messages[0]?.seq, seq)
      assert.ok(Math.abs((received.messages[0]?.time ?? 0) - Date.now()) < 10_000)
      assert.deepEqual(skipped, ['not_json', 'too_large', 'subject'])
      assert.deepEqual(show((await readAll(store, only('NYSE/ACME'))).messages), ['NYSE/ACME={"last": 101.250}'])
      await publish(store, 'NYSE/ACME=2')
      assert.equal((await store.listTopics({ prefix: 'NYSE/', after: undefined, limit: 5 }))[1]?.topic, 'NYSE/ACME')
      received.following.stop()
    })

    test('it reaches a feed that is not stored by core subjects', async () => {
      const { here, there, feed } = await bench.createOnBoth(NOT_STORED)
      const received = [await Received.of(here, ALL), await Received.of(there, only('A'))]
      program.publish(`gatehouse.feeds.${feed.name}.A`, '"direct"')
      for (const one of received) await one.waitFor(1)
      assert.deepEqual(
        received.map(({ shown }) => shown),
        [['A="direct"'], ['A="direct"']],
      )
    })

    test('it hears what is published to a feed', async () => {
      const store = await bench.create(LATEST)
      const heard: string[] = []
      program.subscribe('gatehouse.feeds.*.NYSE.>', {
        callback: (_, message) =>
          void heard.push(`${message.subject.split('.').slice(3).join('.')}=${message.string()}`),
      })
      await program.flush()
      await publish(store, 'NYSE/A.B=1', 'NYSE//=2')
      await until('it is heard', 1000, () => heard.length === 2)
      assert.deepEqual(heard, ['NYSE.A%2EB=1', 'NYSE.%.%=2'])
    })
  })

  test('nothing is missing of what is wanted, while it becomes more and messages are published', async () => {
    const { here, there, feed } = await bench.createOnBoth(HISTORY)
    const names = Array.from({ length: 150 }, (_, index) => `T/${index}`)
    const published = new Map(names.map((name) => [name, 0]))
    let isOver = false
    let seq = 0
    const publishing = (async () => {
      while (!isOver)
        for (const name of names) {
          const next = (published.get(name) ?? 0) + 1
          seq = (await publish(here, `${name}=${next}`)).seq
          published.set(name, next)
        }
    })()
    const received = new Received()
    const following = there.follow(received)
    const since = new Map<string, number>()
    for (const name of names) {
      received.want(only(name))
      await following.wantedMore()
      since.set(name, published.get(name) ?? 0)
      if (name === 'T/0') await checkFilters(program, feed.name, 'gatehouse.feeds')
    }
    await sleep(200)
    isOver = true
    await publishing
    await received.waitForSeq(seq)
    assert.deepEqual(received.faults, [])
    for (const [name, before] of since) {
      const values = received.messages.filter(({ topic }) => topic === name).map(({ data }) => Number(data))
      const first = values[0] ?? Number.POSITIVE_INFINITY
      // The one after it may have been on its way.
      assert.ok(first <= before + 2, `${name} begins at ${first}, wanted since ${before}`)
      assert.deepEqual(
        values,
        values.map((_, index) => first + index),
      )
      assert.equal(values.at(-1), published.get(name))
    }
    following.stop()
  })

  test('a node with a definition from before does not replace the stream of a feed that was declared again', async () => {
    const feed = bench.define(HISTORY)
    const earlier = { ...feed, generation: 'z-1' }
    await publish(await bench.engine.open(earlier), 'A=1')
    const later = { ...feed, generation: 'a-2' }
    const store = await bench.other?.open(later)
    assert.ok(store)
    declared.add(later.generation)
    await publish(store, 'A=2')
    await assert.rejects(bench.engine.open(earlier), /declared again/)
    await bench.engine.drop(earlier)
    assert.deepEqual(show((await readAll(store, ALL)).messages), ['A=2'])
  })

  test('the mark of a removal is forgotten after ten minutes, and a reader from before it still sees a gap', async () => {
    let later = 0
    const engine = await openNatsFeeds({
      url: server.url,
      clock: () => Date.now() + later,
      isDeclared: async () => false,
      onError: assert.ifError,
    })
    const feed = bench.define({ ...HISTORY, ...LATEST, stateTime: 1000 })
    const store = await engine.open(feed)
    const { seq: first } = await publish(store, 'A=1')
    const { seq: removed } = await publish(store, 'A')
    const held = async () => {
      const { streams } = await jetstreamManager(program)
      const { state } = await streams.info(streamName(feed.name), {
        ...{ subjects_filter: '>', deleted_details: false, offset: 0 },
      })
      return Object.keys(state.subjects ?? {}).length
    }
    assert.equal(await held(), 1)
    later = 11 * 60_000
    await until('the mark is gone', 2000, async () => (await held()) === 0)
    assert.equal((await readAll(store, only('A'), first)).hasGap, true)
    assert.equal((await readAll(store, ALL, first)).hasGap, true)
    assert.equal((await readAll(store, only('A'), removed)).hasGap, false)
    await engine.close()
  })

  test('a stream that somebody deleted is created again, with another epoch', async () => {
    const { here: store, feed } = await bench.createOnBoth({ ...HISTORY, name: 'Deleted.Prices' })
    const received = await Received.of(store, ALL)
    const { epoch } = store
    await publish(store, 'A=1')
    await received.waitFor(1)
    const manager = await jetstreamManager(program)
    await manager.streams.delete(streamName(feed.name))
    await until('it can be published to again', 2000, () => publish(store, 'A=2').then(() => true, isNotUnavailable))
    await until('followers are told', 2000, () => received.purges === 1 && store.epoch !== epoch)
    await publish(store, 'A=3')
    await until('followers go on', 2000, () => received.shown.includes('A=3'))
    received.following.stop()
  })

  describe('subjects of another program', () => {
    test('its stream is offered with history and state, and never changed', async () => {
      const manager = await jetstreamManager(program)
      await manager.streams.add({ name: 'MARKET', subjects: ['md.>'], max_msgs_per_subject: 10 })
      const js = jetstream(program)
      await js.publish('md.prices.ACME', '1')
      await js.publish('md.news.ACME', '"other"')
      await js.publish('md.prices.ACME', '2')
      const before = (await manager.streams.info('MARKET')).config
      const feed = bench.define({ ...HISTORY, ...LATEST, natsSubject: 'md.prices.>' })
      const store = await bench.engine.open(feed)
      assert.deepEqual(show((await readAll(store, ALL)).messages), ['ACME=1', 'ACME=2'])
      assert.deepEqual(show((await readAll(store, ALL, 0, { kind: 'newest' })).messages), ['ACME=2'])
      assert.deepEqual(show(await store.readLast(only('ACME'), 1)), ['ACME=2'])
      const received = await Received.of(store, only('ACME'))
      await js.publish('md.prices.ACME', '3')
      const { seq } = await publish(store, 'ACME=4')
      await received.waitForSeq(seq)
      assert.deepEqual(received.shown, ['ACME=3', 'ACME=4'])
      const seqs: number[] = []
      for (let value = 5; value < 17; value++) seqs.push((await publish(store, `ACME=${value}`)).seq)
      assert.equal((await readAll(store, only('ACME'), seq)).hasGap, true, 'the stream has dropped the next two')
      assert.equal((await readAll(store, only('ACME'), seqs[2])).hasGap, false)
      assert.equal((await readAll(store, only('ACME'), seqs.at(-1))).hasGap, false)
      await assert.rejects(publish(store, 'ACME'), isRefusal('feed.bad_message'))
      await assert.rejects(store.purge(), isRefusal('feed.bad_message'))
      await store.update({ ...feed, history: { messages: 1, time: 1000 } })
      store.close()
      await bench.engine.drop(feed)
      const { config, state } = await manager.streams.info('MARKET')
      assert.deepEqual(config, before)
      assert.equal(state.messages, 11)
    })

    test('of a pattern with a wildcard inside, topics are what follows the fixed tokens', async () => {
      const store = await bench.create({ ...NOT_STORED, natsSubject: 'venue.*.trades.>' })
      const received = await Received.of(store, ALL)
      program.publish('venue.XNYS.quotes.ACME', '1')
      program.publish('venue.XNYS.trades.ACME', '2')
      await program.flush()
      await publish(store, 'XLON/trades/ACME=3')
      await received.waitFor(2)
      assert.deepEqual(received.shown, ['XNYS/trades/ACME=2', 'XLON/trades/ACME=3'])
      await assert.rejects(publish(store, 'XLON/quotes/ACME=4'), isRefusal('feed.bad_topic'))
    })

    test('a stream that has the subjects of a feed already is an error that names both', async () => {
      const manager = await jetstreamManager(program)
      const feed = bench.define(LATEST)
      await manager.streams.add({ name: 'OTHER', subjects: [`gatehouse.feeds.${feed.name}.>`] })
      await assert.rejects(bench.engine.open(feed), {
        name: 'UnfitNats',
        message: `NATS refuses the stream gatehouse_feed_${feed.name} of a feed: subjects overlap with an existing stream`,
      })
      await manager.streams.delete('OTHER')
    })

    test('without a stream they are core subjects', async () => {
      const store = await bench.create({ ...LATEST, natsSubject: 'fx.rates.>' })
      const received = await Received.of(store, ALL)
      program.publish('fx.rates.EUR.USD', '1.10')
      await received.waitFor(1)
      await publish(store, 'EUR/CHF=0.94')
      await received.waitFor(2)
      assert.deepEqual(received.shown, ['EUR/USD=1.10', 'EUR/CHF=0.94'])
    })
  })

  test('over restarts of nats-server, each acknowledged message is seen once and in order', async () => {
    const { here, there } = await bench.createOnBoth(HISTORY)
    const receivers = [await Received.of(here, ALL), await Received.of(there, ALL)]
    let isOver = false
    const acknowledged: number[] = []
    const publisher = async (store: FeedStore, owner: string): Promise<void> => {
      for (let index = 0; !isOver; index++) {
        const key = { owner, key: String(index), fingerprint: 'f' }
        const data = JSON.stringify([owner, index])
        for (;;) {
          try {
            acknowledged.push((await store.append([{ topic: owner, data }], key)).seq)
            break
          } catch (error) {
            assert.ok(isUnavailable(error), String(error))
            await sleep(20)
          }
        }
      }
    }
    const publishing = [publisher(here, 'A'), publisher(there, 'B'), publisher(here, 'C')]
    for (let round = 0; round < 3; round++) {
      await sleep(1_000)
      await server.kill()
      await assert.rejects(
        until('it can be used', 500, () => bench.engine.check().then(() => true)),
        isUnavailable,
      )
      await server.start()
    }
    await sleep(1_500)
    isOver = true
    await Promise.all(publishing)
    const { messages } = await readAll(here, ALL)
    for (const received of receivers) {
      await received.waitForSeq(Math.max(...acknowledged))
      assert.deepEqual(received.faults, [])
      assert.deepEqual(received.messages, messages)
    }
    for (const owner of ['A', 'B', 'C']) {
      const own = messages.filter(({ topic }) => topic === owner)
      assert.deepEqual(
        show(own),
        own.map((_, index) => `${owner}=${JSON.stringify([owner, index])}`),
      )
    }
    assert.ok(messages.length > 100, `only ${messages.length} messages`)
    assert.equal(messages.length, acknowledged.length)
    assert.equal(new Set(acknowledged).size, acknowledged.length)
  })
})

/** From 2.10 on, a node receives what it wants, and purges. */
async function checkFilters(program: NatsConnection, feed: string, root: string): Promise<void> {
  const [major = 0, minor = 0] = (program.info?.version ?? '').split('.').map(Number)
  if (major === 2 && minor < 10) return
  const manager = await jetstreamManager(program)
  const [consumer] = await manager.consumers.list(streamName(feed)).next()
  assert.deepEqual(consumer?.config.filter_subjects, [`${root}.${feed}.T.0`, `${root}.${feed}`])
}

function isNotUnavailable(error: unknown): false {
  if (!isUnavailable(error)) throw error
  return false
}
