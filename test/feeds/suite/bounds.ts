/** Tests of every engine: how many topics and bytes a feed holds. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ALL, HISTORY, isRefusal, LATEST, publish, readAll, show, type Workbench } from './engine-under-test.ts'

const TOO_MANY = isRefusal('feed.topics')
const FULL = isRefusal('feed.full')
/** JSON of this many bytes. */
const bytes = (count: number): string => `"${'x'.repeat(count - 2)}"`

export function declareBounds(use: () => Workbench): void {
  describe('bounds', () => {
    for (const [name, kind] of [
      ['states', LATEST],
      ['history', HISTORY],
    ] as const) {
      test(`topics with ${name}: a request with one too many appends nothing`, async () => {
        const store = await use().create({ ...kind, topics: 3 })
        await publish(store, 'A=1', 'B=1')
        await assert.rejects(publish(store, 'A=2', 'C=2', 'D=2'), TOO_MANY)
        assert.deepEqual(show((await readAll(store, ALL)).messages), ['A=1', 'B=1'])
        await publish(store, 'C=3')
        await publish(store, 'A=4')
        await assert.rejects(publish(store, 'D=4'), TOO_MANY)
        await publish(store, 'A')
        await publish(store, 'D=5')
        await assert.rejects(publish(store, 'E=5'), TOO_MANY)
        assert.equal((await store.usage()).topics, 3)
        assert.deepEqual(show((await readAll(store, ALL)).messages), ['B=1', 'C=3', 'D=5'])
      })

      test(`bytes of ${name}: a request with too many appends nothing`, async () => {
        const store = await use().create({ ...kind, bytes: 1000 })
        await publish(store, `A=${bytes(400)}`, `B=${bytes(400)}`)
        assert.deepEqual(await store.usage(), { topics: 2, bytes: 800 })
        await assert.rejects(publish(store, 'C=1', `D=${bytes(300)}`), FULL)
        assert.equal((await readAll(store, ALL)).messages.length, 2)
        await publish(store, `C=${bytes(200)}`)
        await assert.rejects(publish(store, 'D=1'), FULL)
        await publish(store, 'A')
        await publish(store, `D=${bytes(300)}`)
        assert.deepEqual(await store.usage(), { topics: 3, bytes: 900 })
      })
    }

    test('bytes are those of UTF-8', async () => {
      const store = await use().create(LATEST)
      await publish(store, 'A="é漢🙂"')
      assert.equal((await store.usage()).bytes, 11)
    })

    test('a new state takes the place of the one before', async () => {
      const store = await use().create({ ...LATEST, bytes: 1000 })
      for (let round = 0; round < 5; round++) await publish(store, `A=${bytes(700)}`)
      assert.deepEqual(await store.usage(), { topics: 1, bytes: 700 })
    })

    test('a refused request does not fail those at the same time', async () => {
      const store = await use().create({ ...HISTORY, topics: 2, bytes: 1000 })
      await publish(store, 'A=0', 'B=0')
      const results = await Promise.allSettled([
        publish(store, 'A=1'),
        publish(store, 'B=1', 'C=1'),
        publish(store, 'B=2'),
        publish(store, `A=${bytes(2000)}`),
        publish(store, 'A=3'),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
      )
      const { messages } = await readAll(store, ALL)
      assert.deepEqual(show(messages).toSorted(), ['A=0', 'A=1', 'A=3', 'B=0', 'B=2'])
    })

    test('topics that have expired make room', async () => {
      const store = await use().create({ ...LATEST, stateTime: 1000, topics: 2 })
      await publish(store, 'A=1', 'B=1')
      await use().pass(1300)
      assert.deepEqual((await readAll(store, ALL, 0, { kind: 'newest' })).messages, [])
      assert.deepEqual(await store.listTopics({ prefix: '', after: undefined, limit: 10 }), [])
      await publish(store, 'C=1')
      assert.deepEqual(show((await readAll(store, ALL, 0, { kind: 'newest' })).messages), ['C=1'])
    })
  })
}
