/** Tests of every engine: followers on this node and on another. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedStore } from '../../../packages/server/src/feeds/engine.ts'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import {
  ALL,
  below,
  HISTORY,
  LATEST,
  NOT_STORED,
  only,
  publish,
  Received,
  readAll,
  show,
  type WholeRead,
  type Workbench,
} from './engine-under-test.ts'

const REQUESTS = IS_LONG_RUN ? 3000 : 150
const JOINED = IS_LONG_RUN ? 200 : 30
const PURGES = IS_LONG_RUN ? 100 : 15

export function declareFollowing(use: () => Workbench): void {
  describe('followers', () => {
    test('see what this node appends, in order', async () => {
      const store = await use().create(HISTORY)
      await publish(store, 'A=0')
      const received = await Received.of(store, only('A'), below('B/'))
      await publish(store, 'A=1', 'B/x=1', 'A=2')
      const { seq } = await publish(store, 'B/y=2', 'A=3')
      await received.waitForSeq(seq)
      assert.deepEqual(received.shown, ['A=1', 'B/x=1', 'A=2', 'B/y=2', 'A=3'])
      assert.deepEqual(received.messages, (await readAll(store, ALL)).messages.slice(1))
      assert.deepEqual(received.faults, [])
      received.following.stop()
      await publish(store, 'A=4')
      assert.equal(received.messages.length, 5)
    })

    test('see the removal of a topic as a message without data', async () => {
      const store = await use().create({ ...HISTORY, ...LATEST })
      const received = await Received.of(store, only('A'))
      await publish(store, 'A=1')
      await received.waitFor(1)
      await publish(store, 'A')
      await received.waitFor(2)
      assert.deepEqual(received.shown, ['A=1', 'A'])
    })

    test('a follower of states ends with the newest', async () => {
      const store = await use().create(LATEST)
      const received = await Received.of(store, ALL)
      let seq = 0
      for (let round = 0; round < 30; round++) seq = (await publish(store, `A=${round}`, `B=${round}`)).seq
      await received.waitForSeq(seq)
      assert.deepEqual(newest(received, 'A'), 'A=29')
      assert.deepEqual(newest(received, 'B'), 'B=29')
      assert.deepEqual(received.faults, [])
    })

    test('a feed that is not stored reaches followers', async () => {
      const store = await use().create(NOT_STORED)
      const received = await Received.of(store, only('A'))
      await publish(store, 'A=1', 'A=2')
      await publish(store, 'A=3')
      await received.waitFor(3)
      assert.deepEqual(received.shown, ['A=1', 'A=2', 'A=3'])
    })

    test('an expired topic is removed once', async () => {
      for (const kind of [
        { ...LATEST, stateTime: 1000 },
        { ...HISTORY, history: { messages: 10, time: 1000 } },
      ]) {
        const bench = use()
        const { here, there } = bench.other === undefined ? await oneStore(bench, kind) : await bench.createOnBoth(kind)
        const receivers = await Promise.all([...new Set([here, there])].map((store) => Received.of(store, ALL)))
        await publish(here, 'A=1', 'B=1')
        await bench.pass(1300)
        for (const received of receivers) await received.waitFor(4)
        await publish(here, 'C=1')
        for (const received of receivers) {
          await received.waitFor(5)
          assert.deepEqual(received.shown.toSorted(), ['A', 'A=1', 'B', 'B=1', 'C=1'])
          assert.deepEqual(received.faults, [])
        }
      }
    })

    test('between a read and what is passed on after it nothing is missing', async () => {
      const store = await use().create(HISTORY)
      await joinWhilePublishing(store, store)
    })

    test('a purge is told, and what comes after it is passed on', async () => {
      const store = await use().create(HISTORY)
      const received = await Received.of(store, ALL)
      const { seq: first } = await publish(store, 'A=1')
      await received.waitForSeq(first)
      await store.purge()
      await until('the purge is told', 1000, () => received.purges === 1)
      const { seq } = await publish(store, 'A=2')
      await received.waitForSeq(seq)
      assert.deepEqual(received.shown, ['A=1', 'A=2'])
      assert.equal(received.purges, 1)
    })
  })

  describe('messages that are appended while the feed is purged', () => {
    for (const [kind, differences] of Object.entries({ history: HISTORY, states: LATEST }))
      test(`and that are kept are passed on after the purge: ${kind}`, async () => {
        const bench = use()
        const { here, there } =
          bench.other === undefined ? await oneStore(bench, differences) : await bench.createOnBoth(differences)
        const stores = [...new Set([here, there])]
        const receivers = await Promise.all(stores.map((store) => Received.of(store, ALL)))
        for (let round = 0; round < PURGES; round++) {
          const append = (part: string) =>
            stores.flatMap((store, node) =>
              Array.from({ length: 10 }, (_, index) => publish(store, `${part}${node}/${index}=${round}`)),
            )
          await Promise.all([...append('A'), (round % 2 === 0 ? here : there).purge(), ...append('B')])
          const { messages } = await readAll(here, ALL)
          for (const received of receivers) {
            await received.waitForSeq(messages.at(-1)?.seq ?? 0)
            await until('the purge is told', 2000, () => received.purges === round + 1)
            assert.deepEqual(received.sinceLastPurge, messages)
            assert.deepEqual(received.faults, [])
          }
        }
      })
  })

  describe('followers on another node', () => {
    const nodes = (name: string, run: () => Promise<void>): void => {
      test(name, async (context) => (use().other === undefined ? context.skip('there is one node only') : run()))
    }

    nodes('see what both append, in one order', async () => {
      const { here, there } = await use().createOnBoth(HISTORY)
      const receivers = [await Received.of(here, ALL), await Received.of(there, ALL)]
      const work = Array.from({ length: REQUESTS }, (_, index) =>
        publish(index % 2 === 0 ? here : there, `A=${index}`, `B=${index}`),
      )
      const last = Math.max(...(await Promise.all(work)).map(({ seq }) => seq))
      const { messages } = await readAll(here, ALL)
      assert.equal(messages.length, 2 * REQUESTS)
      assert.deepEqual((await readAll(there, ALL)).messages, messages)
      for (const received of receivers) {
        await received.waitForSeq(last)
        assert.deepEqual(received.messages, messages)
        assert.deepEqual(received.faults, [])
      }
    })

    nodes('see at least what they want', async () => {
      const { here, there } = await use().createOnBoth(HISTORY)
      const received = await Received.of(there, only('A'))
      await publish(here, 'A=1', 'B=1')
      await received.waitFor(1)
      received.want(below('B'))
      await received.following.wantedMore()
      await publish(here, 'A=2', 'B=2', 'Bc=2')
      const { seq } = await publish(here, 'C=3')
      await received.waitForSeq(seq)
      const wanted = received.shown.filter((text) => /=2/.test(text))
      assert.deepEqual(wanted, ['A=2', 'B=2', 'Bc=2'])
      assert.equal(received.shown[0], 'A=1')
      assert.deepEqual(received.faults, [])
    })

    nodes('between a read and what is passed on after it nothing is missing', async () => {
      const { here, there } = await use().createOnBoth(HISTORY)
      await joinWhilePublishing(here, there)
    })

    nodes('a feed that is not stored reaches them', async () => {
      const { here, there } = await use().createOnBoth(NOT_STORED)
      const receivers = [await Received.of(here, only('A')), await Received.of(there, only('A'))]
      for (let round = 0; round < 20; round++) await publish(here, `A=${round}`)
      for (const received of receivers) {
        await received.waitFor(20)
        assert.deepEqual(
          received.shown,
          Array.from({ length: 20 }, (_, round) => `A=${round}`),
        )
      }
    })

    nodes('states end with the newest', async () => {
      const { here, there } = await use().createOnBoth(LATEST)
      const received = await Received.of(there, ALL)
      let seq = 0
      for (let round = 0; round < 30; round++) seq = (await publish(here, `A=${round}`, `B=${round}`)).seq
      await received.waitForSeq(seq)
      assert.deepEqual([newest(received, 'A'), newest(received, 'B')], ['A=29', 'B=29'])
      assert.deepEqual(show(await there.readLast(only('A'), 1)), ['A=29'])
    })

    nodes('a purge is told, with the new epoch', async () => {
      const { here, there } = await use().createOnBoth(HISTORY)
      const before = there.epoch
      assert.equal(before, here.epoch)
      const received = await Received.of(there, ALL)
      const told: string[] = []
      received.onPurge(() => told.push(there.epoch))
      await publish(here, 'A=1')
      await received.waitFor(1)
      await here.purge()
      await until('the purge is told', 2000, () => received.purges === 1)
      assert.deepEqual(told, [here.epoch])
      assert.notEqual(here.epoch, before)
      const { seq } = await publish(here, 'A=2')
      await received.waitForSeq(seq)
      assert.deepEqual(received.shown, ['A=1', 'A=2'])
      assert.deepEqual(show((await readAll(there, ALL)).messages), ['A=2'])
    })
  })
}

/** Somebody subscribes to one topic after another while another publishes to all of them, as fast as that goes. */
async function joinWhilePublishing(publisher: FeedStore, subscriber: FeedStore): Promise<void> {
  const topics = Array.from({ length: JOINED }, (_, index) => `A${index}`)
  const received = new Received()
  const following = subscriber.follow(received)
  const reads = new Map<string, WholeRead>()
  let isJoined = false
  let rounds = 0
  const publishing = (async () => {
    let seq = 0
    for (let rest = 10; rest > 0; rounds++) {
      if (isJoined) rest--
      // A publisher that is much faster would make each read longer than the one before.
      while (!isJoined && rounds > 10 + 5 * reads.size) await sleep(1)
      seq = (await publish(publisher, ...['B', ...topics].map((topic) => `${topic}=${rounds}`))).seq
    }
    return seq
  })()
  received.want(only('B'))
  await following.wantedMore()
  await until('something is published', 2000, () => rounds >= 10)
  for (const topic of topics) {
    received.want(only(topic))
    await following.wantedMore()
    reads.set(topic, await readAll(subscriber, only(topic), 0, { limit: 50 }))
  }
  isJoined = true
  await received.waitForSeq(await publishing)
  following.stop()
  for (const [joined, read] of reads) {
    const passedOn = received.messages.filter(({ topic, seq }) => topic === joined && seq > read.through)
    assert.deepEqual(
      [...read.messages, ...passedOn].map(({ data }) => Number(data)),
      Array.from({ length: rounds }, (_, index) => index),
    )
  }
  assert.deepEqual(received.faults, [])
}

async function oneStore(bench: Workbench, kind: Parameters<Workbench['create']>[0]) {
  const store = await bench.create(kind)
  return { here: store, there: store }
}

function newest(received: Received, wanted: string): string | undefined {
  return show(received.messages.filter(({ topic }) => topic === wanted)).at(-1)
}
