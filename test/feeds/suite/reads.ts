/** Tests of every engine: state and history, pages, what is missing from a history. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FeedStore } from '../../../packages/server/src/feeds/engine.ts'
import { ALL, below, HISTORY, LATEST, only, publish, readAll, show, type Workbench } from './engine-under-test.ts'

const HOUR = 3_600_000

export function declareReads(use: () => Workbench): void {
  describe('reads', () => {
    test('the newest message of each topic, in the order of these', async () => {
      for (const kind of [LATEST, HISTORY, { ...HISTORY, ...LATEST }]) {
        const store = await use().create(kind)
        const { seq } = await publish(store, 'A=1', 'B=1', 'C=1', 'A=2')
        const read = await readAll(store, ALL, 0, { kind: 'newest', limit: 2 })
        assert.deepEqual(show(read.messages), ['B=1', 'C=1', 'A=2'])
        assert.deepEqual(show((await readAll(store, only('A'), 0, { kind: 'newest' })).messages), ['A=2'])
        assert.deepEqual((await readAll(store, ALL, seq, { kind: 'newest' })).messages, [])
      }
    })

    test('a feed of states has no history but the state', async () => {
      const store = await use().create(LATEST)
      await publish(store, 'A=1', 'A=2')
      await publish(store, 'A=3')
      assert.deepEqual(show(await store.readLast(only('A'), 10)), ['A=3'])
      assert.deepEqual(show(await store.readLast(ALL, 10)), ['A=3'])
    })

    test('pages of topics and prefixes', async () => {
      const store = await use().create(HISTORY)
      const texts = Array.from({ length: 50 }, (_, index) => `${['A/x', 'A/y', 'B/x'][index % 3]}=${index}`)
      const { seq } = await publish(store, ...texts)
      for (const limit of [1, 7, 1000]) {
        assert.deepEqual(show((await readAll(store, ALL, 0, { limit })).messages), texts)
        const inA = await readAll(store, below('A/'), 0, { limit })
        assert.deepEqual(
          show(inA.messages),
          texts.filter((text) => text.startsWith('A/')),
        )
        const y = await readAll(store, only('A/y'), 0, { limit })
        assert.equal(y.messages.length, 17)
        assert.equal(y.hasGap, false)
      }
      const middle = (await readAll(store, ALL)).messages[24]?.seq ?? 0
      assert.deepEqual(show((await readAll(store, ALL, middle)).messages), texts.slice(25))
      const end = await store.readAfter(ALL, seq, { kind: 'history', limit: 10 })
      assert.deepEqual(end, { messages: [], through: end.through, isLast: true, hasGap: false })
      assert.deepEqual((await readAll(store, only('C'))).messages, [])
      assert.deepEqual((await readAll(store, below('A/z'))).messages, [])
    })

    test('what is appended while pages are read comes after them', async () => {
      const store = await use().create(HISTORY)
      await publish(store, 'A=1', 'A=2', 'A=3')
      const first = await store.readAfter(only('A'), 0, { kind: 'history', limit: 2 })
      await publish(store, 'A=4')
      const rest = await readAll(store, only('A'), first.through)
      assert.deepEqual([...show(first.messages), ...show(rest.messages)], ['A=1', 'A=2', 'A=3', 'A=4'])
    })

    test('the last messages, the oldest first', async () => {
      const store = await use().create(HISTORY)
      await publish(store, 'A/x=1', 'B/x=2', 'A/y=3', 'A/x=4', 'B/x=5')
      assert.deepEqual(show(await store.readLast(only('A/x'), 1)), ['A/x=4'])
      assert.deepEqual(show(await store.readLast(only('A/x'), 5)), ['A/x=1', 'A/x=4'])
      assert.deepEqual(show(await store.readLast(below('A/'), 2)), ['A/y=3', 'A/x=4'])
      assert.deepEqual(show(await store.readLast(ALL, 3)), ['A/y=3', 'A/x=4', 'B/x=5'])
      assert.deepEqual(await store.readLast(ALL, 0), [])
    })
  })

  describe('gaps', () => {
    test('what comes after a number that does not exist yet is not known', async () => {
      const store = await use().create(HISTORY)
      const { seq } = await publish(store, 'A=1')
      const options = { kind: 'history', limit: 10 } as const
      assert.equal((await store.readAfter(only('A'), seq, options)).hasGap, false)
      assert.equal((await store.readAfter(only('A'), seq + 1000, options)).hasGap, true)
    })

    test('a bound of messages leaves a gap in the topic that it cut, and in no other', async () => {
      const store = await use().create({ ...HISTORY, history: { messages: 3, time: HOUR } })
      const seqs = await publishEach(store, 'A/x=1', 'B/x=1', 'A/x=2', 'A/x=3', 'A/x=4', 'A/x=5')
      const cut = await readAll(store, only('A/x'))
      assert.deepEqual(show(cut.messages), ['A/x=3', 'A/x=4', 'A/x=5'])
      assert.equal(cut.hasGap, true)
      assert.equal((await readAll(store, only('A/x'), seqs[0])).hasGap, true, 'the second was cut')
      assert.equal((await readAll(store, only('A/x'), seqs[2])).hasGap, false, 'nothing after the second was cut')
      assert.equal((await readAll(store, only('B/x'))).hasGap, false)
      assert.equal((await readAll(store, ALL)).hasGap, true)
      assert.equal((await readAll(store, below('B/'))).hasGap, false)
      assert.equal((await readAll(store, below('A/'), seqs[2])).hasGap, false)
      assert.deepEqual(show(await store.readLast(ALL, 10)), ['B/x=1', 'A/x=3', 'A/x=4', 'A/x=5'])
    })

    test('a bound of time leaves a gap', async () => {
      const store = await use().create({ ...HISTORY, history: { messages: 100, time: 1000 } })
      const [first = 0, second = 0] = await publishEach(store, 'A=1', 'A=2')
      await use().pass(600)
      await publish(store, 'A=3')
      await use().pass(600)
      const read = await readAll(store, only('A'))
      assert.deepEqual(show(read.messages), ['A=3'])
      assert.equal(read.hasGap, true)
      assert.equal((await readAll(store, only('A'), first)).hasGap, true)
      assert.equal((await readAll(store, only('A'), second)).hasGap, false)
      assert.equal((await readAll(store, ALL)).hasGap, true)
      assert.deepEqual(show(await store.readLast(only('A'), 10)), ['A=3'])
    })

    test('when the whole history of a topic has expired, there is a gap and no topic', async () => {
      const store = await use().create({ ...HISTORY, history: { messages: 100, time: 1000 } })
      const { seq } = await publish(store, 'A=1', 'A=2')
      await use().pass(1300)
      for (const choice of [only('A'), ALL]) {
        const read = await readAll(store, choice)
        assert.deepEqual(read.messages, [])
        assert.equal(read.hasGap, true)
        assert.deepEqual((await readAll(store, choice, seq)).messages, [])
        assert.deepEqual(await store.readLast(choice, 10), [])
      }
      assert.deepEqual(await store.listTopics({ prefix: '', after: undefined, limit: 10 }), [])
    })

    test('a removal forgets state and history, and readers can see it', async () => {
      for (const kind of [HISTORY, { ...HISTORY, ...LATEST }]) {
        const store = await use().create(kind)
        const [first = 0, , removed = 0] = await publishEach(store, 'A=1', 'B=1', 'A')
        const all = await readAll(store, only('A'))
        assert.deepEqual(all.messages, [])
        assert.equal(all.hasGap, true)
        const since = await readAll(store, only('A'), first)
        assert.ok(since.hasGap || since.removals.length === 1, 'a reader that has seen the message sees the removal')
        assert.equal((await readAll(store, only('A'), removed)).hasGap, false)
        assert.equal((await readAll(store, only('B'))).hasGap, false)
        assert.deepEqual(show((await readAll(store, ALL, 0, { kind: 'newest' })).messages), ['B=1'])
        assert.deepEqual(show(await store.readLast(ALL, 10)), ['B=1'])
        await publish(store, 'A=2')
        const again = await readAll(store, only('A'))
        assert.deepEqual(show(again.messages), ['A=2'])
        assert.equal(again.hasGap, true)
        assert.deepEqual(show(await store.readLast(only('A'), 10)), ['A=2'])
      }
    })

    test('a removal within a request counts in its place', async () => {
      const store = await use().create({ ...HISTORY, ...LATEST })
      await publish(store, 'A=1', 'B=1', 'A', 'A=2', 'B=2', 'B')
      assert.deepEqual(show((await readAll(store, ALL)).messages), ['A=2'])
      assert.deepEqual(show((await readAll(store, ALL, 0, { kind: 'newest' })).messages), ['A=2'])
      assert.equal((await store.usage()).topics, 1)
    })

    test('a purge leaves nothing, and begins an epoch', async () => {
      const store = await use().create(HISTORY)
      const { epoch } = store
      const { seq } = await publish(store, 'A=1', 'A=2')
      await store.purge()
      assert.notEqual(store.epoch, epoch)
      const read = await readAll(store, ALL)
      assert.deepEqual(read.messages, [])
      assert.equal(read.hasGap, true)
      assert.deepEqual(await store.usage(), { topics: 0, bytes: 0 })
      assert.ok((await publish(store, 'A=3')).seq > seq, 'numbers still grow')
      assert.deepEqual(show((await readAll(store, ALL, seq)).messages), ['A=3'])
    })

    test('a shorter history is cut at once', async () => {
      const feed = use().define(HISTORY)
      const store = await use().engine.open(feed)
      const seqs = await publishEach(store, 'A=1', 'A=2', 'A=3', 'B=1')
      await store.update({ ...feed, history: { messages: 2, time: HOUR } })
      assert.deepEqual(show((await readAll(store, ALL)).messages), ['A=2', 'A=3', 'B=1'])
      // A longer one brings nothing back.
      await store.update(feed)
      const read = await readAll(store, only('A'))
      assert.deepEqual(show(read.messages), ['A=2', 'A=3'])
      assert.equal(read.hasGap, true)
      assert.equal((await readAll(store, only('A'), seqs[0])).hasGap, false)
      if (!use().lacks('cuts of one topic')) assert.equal((await readAll(store, only('B'))).hasGap, false)
      await store.update({ ...feed, keep: 'latest', history: undefined })
      assert.deepEqual(show(await store.readLast(ALL, 10)), ['A=3', 'B=1'])
    })
  })
}

/** One request for each, with their numbers. */
async function publishEach(store: FeedStore, ...texts: readonly string[]): Promise<number[]> {
  const seqs: number[] = []
  for (const text of texts) seqs.push((await publish(store, text)).seq)
  return seqs
}
