/** Tests of every engine: appending, idempotency keys, what is there after a start, a removal or a purge. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PublishOnce } from '../../../packages/server/src/feeds/engine.ts'
import {
  ALL,
  createMessages,
  HISTORY,
  isRefusal,
  LATEST,
  NOT_STORED,
  only,
  publish,
  readAll,
  show,
  type Workbench,
} from './engine-under-test.ts'

export function declareAppends(use: () => Workbench): void {
  describe('appends', () => {
    test('numbers grow in the order of the messages', async () => {
      const store = await use().create(HISTORY)
      const first = await publish(store, 'A=1', 'B=2', 'A=3')
      const second = await publish(store, 'B=4')
      assert.ok(second.seq > first.seq)
      const { messages, hasGap } = await readAll(store, ALL)
      assert.deepEqual(show(messages), ['A=1', 'B=2', 'A=3', 'B=4'])
      assert.equal(messages[2]?.seq, first.seq)
      assert.equal(messages[3]?.seq, second.seq)
      assert.equal(messages[3]?.time, second.time)
      assert.equal(hasGap, false)
      assert.equal(second.isRepeated, false)
    })

    test('many requests at once keep each request together and in order', async () => {
      const store = await use().create(HISTORY)
      const requests = Array.from({ length: 40 }, (_, request) =>
        Array.from({ length: 5 }, (__, index) => `T${index % 2}=${JSON.stringify([request, index])}`),
      )
      const replies = await Promise.all(requests.map((texts) => publish(store, ...texts)))
      assert.equal(new Set(replies.map(({ seq }) => seq)).size, requests.length)
      const { messages } = await readAll(store, ALL, 0, { limit: 7 })
      assert.equal(messages.length, 200)
      for (const [request, texts] of requests.entries()) {
        const own = messages.filter(({ data }) => data?.startsWith(`[${request},`))
        assert.deepEqual(show(own), texts)
        assert.equal(own.at(-1)?.seq, replies[request]?.seq)
      }
    })

    test('a publisher does not wait behind the requests of another that came before', async () => {
      const store = await use().create(HISTORY)
      const batch = Array.from({ length: 100 }, (_, index) => `Flood=${index}`)
      let written = 0
      const flood = Array.from({ length: 60 }, async () => {
        await store.append(createMessages(...batch), undefined, 'heavy')
        written++
      })
      // The flood is being written, and most of it waits.
      await Promise.race(flood)
      await store.append(createMessages('A=1'), undefined, 'light')
      const before = written
      await Promise.all(flood)
      assert.ok(before <= 45, `${before} of 60 requests were written first`)
    })

    test('a feed that is not stored has no numbers for publishers', async () => {
      const store = await use().create(NOT_STORED)
      assert.equal((await publish(store, 'A=1')).seq, 0)
      assert.deepEqual(await store.usage(), { topics: 0, bytes: 0 })
    })

    test('data are kept character for character', async () => {
      const store = await use().create(HISTORY)
      const data = [
        '1.10',
        '-0.0',
        '12345678901234567890.12345678901234567890',
        '1E+400',
        '{"b": 1.0, "a":\t2,  "b":3 }',
        '"\\u0000 \\ud800 \\/"',
        '"’é漢字🙂 \u2028 \u007f"',
        'null',
        '""',
        `"${'x'.repeat(100_000)}"`,
      ]
      await store.append(data.map((text) => ({ topic: 'A', data: text })))
      const { messages } = await readAll(store, only('A'))
      assert.deepEqual(
        messages.map((message) => message.data),
        data,
      )
      const state = await use().create(LATEST)
      for (const text of data) {
        await state.append([{ topic: 'A', data: text }])
        assert.equal((await state.readLast(only('A'), 1))[0]?.data, text)
      }
    })

    test('what was appended is there after the feed is opened again', async () => {
      const feed = use().define(HISTORY)
      const before = await use().engine.open(feed)
      const { seq } = await publish(before, 'A=1', 'B=2')
      before.close()
      const after = await use().engine.open(feed)
      assert.equal(after.epoch, before.epoch)
      assert.match(after.epoch, /^[0-9A-Za-z]{1,16}$/)
      assert.ok((await publish(after, 'A=3')).seq > seq)
      assert.deepEqual(show((await readAll(after, ALL)).messages), ['A=1', 'B=2', 'A=3'])
    })

    test('a feed that was dropped is empty when it is declared again', async () => {
      const feed = use().define(HISTORY)
      const before = await use().engine.open(feed)
      const { epoch } = before
      await publish(before, 'A=1')
      before.close()
      await use().engine.drop(feed)
      const after = await use().engine.open(feed)
      assert.notEqual(after.epoch, epoch)
      assert.deepEqual((await readAll(after, ALL)).messages, [])
      assert.deepEqual(await after.usage(), { topics: 0, bytes: 0 })
      await publish(after, 'A=2')
      assert.deepEqual(show(await after.readLast(only('A'), 5)), ['A=2'])
    })

    test('to drop a feed that does not exist does nothing', () =>
      use().engine.drop({ name: 'Nothing', generation: 'Nothing-1' }))

    for (const kind of [HISTORY, NOT_STORED])
      test(`a feed that is declared again has nothing of the one before, which is dropped late: ${kind.history ? 'stored' : 'not stored'}`, async () => {
        const bench = use()
        const feed = bench.define(kind)
        const once = { owner: 'publisher', key: 'k', fingerprint: 'f' }
        const before = await bench.engine.open(feed)
        await before.append(createMessages('A=1'), once)
        const next = { ...feed, generation: `${feed.name}-2` }
        const after = await (bench.other ?? bench.engine).open(next)
        assert.deepEqual((await readAll(after, ALL)).messages, [])
        assert.equal((await after.append(createMessages('A=2'), once)).isRepeated, false)
        await bench.engine.drop(feed)
        await bench.other?.drop(feed)
        const again = await bench.engine.open(next)
        assert.deepEqual(show((await readAll(again, ALL)).messages), kind.history ? ['A=2'] : [])
        assert.equal((await after.append(createMessages('A=2'), once)).isRepeated, true)
      })

    test('feeds do not see one another', async () => {
      const [one, two] = [await use().create(HISTORY), await use().create(HISTORY)]
      await publish(one, 'A=1')
      await publish(two, 'A=2')
      assert.deepEqual(show((await readAll(one, ALL)).messages), ['A=1'])
      assert.deepEqual(show((await readAll(two, ALL)).messages), ['A=2'])
    })

    test('the engine can be checked', () => use().engine.check())
  })

  describe('idempotency keys', () => {
    const once = (key: string, fingerprint = 'f', owner = 'publisher'): PublishOnce => ({ owner, key, fingerprint })

    test('the same request is appended once and gets the same result', async () => {
      const store = await use().create(HISTORY)
      const first = await store.append(createMessages('A=1', 'A=2'), once('k'))
      await publish(store, 'A=3')
      const again = await store.append(createMessages('A=1', 'A=2'), once('k'))
      assert.deepEqual(again, { ...first, isRepeated: true })
      assert.deepEqual(show((await readAll(store, ALL)).messages), ['A=1', 'A=2', 'A=3'])
    })

    test('a request that is repeated after a purge is not appended again', async () => {
      const { here, there } = await twoStores(use())
      const first = await here.append(createMessages('A=1'), once('k'))
      await here.purge()
      for (const store of [here, there])
        assert.deepEqual(await store.append(createMessages('A=1'), once('k')), { ...first, isRepeated: true })
      await assert.rejects(here.append(createMessages('A=2'), once('k', 'g')), isRefusal('feed.key_used'))
      assert.deepEqual(show((await readAll(here, ALL)).messages), [])
    })

    test('another request with the key is refused, and appends nothing', async () => {
      const store = await use().create(HISTORY)
      await store.append(createMessages('A=1'), once('k'))
      await assert.rejects(store.append(createMessages('A=2'), once('k', 'g')), isRefusal('feed.key_used'))
      assert.deepEqual(show((await readAll(store, ALL)).messages), ['A=1'])
    })

    test('keys are those of an owner and of a feed', async () => {
      const [store, other] = [await use().create(HISTORY), await use().create(HISTORY)]
      const replies = [
        await store.append(createMessages('A=1'), once('k', 'f', 'one')),
        await store.append(createMessages('A=2'), once('k', 'g', 'two')),
        await other.append(createMessages('A=3'), once('k', 'h', 'one')),
      ]
      assert.ok(replies.every(({ isRepeated }) => !isRepeated))
    })

    test('requests with one key at the same time are appended once', async () => {
      const { here, there } = await twoStores(use())
      for (let round = 0; round < 5; round++) {
        const replies = await Promise.all(
          [here, there, here, there, here, there].map((store) =>
            store.append(createMessages(`A=${round}`), once(`k${round}`)),
          ),
        )
        assert.equal(replies.filter(({ isRepeated }) => !isRepeated).length, 1)
        assert.equal(new Set(replies.map(({ seq }) => seq)).size, 1)
        assert.equal(new Set(replies.map(({ time }) => time)).size, 1)
      }
      assert.deepEqual(show((await readAll(here, ALL)).messages), ['A=0', 'A=1', 'A=2', 'A=3', 'A=4'])
    })

    test('a request that was refused has not used its key', async () => {
      const store = await use().create({ ...HISTORY, topics: 1 })
      await assert.rejects(store.append(createMessages('A=1', 'B=1'), once('k')), isRefusal('feed.topics'))
      assert.equal((await store.append(createMessages('A=1'), once('k', 'g'))).isRepeated, false)
    })

    test('a feed that is not stored knows keys too', async () => {
      const store = await use().create(NOT_STORED)
      assert.equal((await store.append(createMessages('A=1'), once('k'))).isRepeated, false)
      assert.equal((await store.append(createMessages('A=1'), once('k'))).isRepeated, true)
    })
  })
}

/** Two nodes, or one that stands for both. */
async function twoStores(bench: Workbench) {
  if (bench.other !== undefined) return bench.createOnBoth(HISTORY)
  const store = await bench.create(HISTORY)
  return { here: store, there: store }
}
