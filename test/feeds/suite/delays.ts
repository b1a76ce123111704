/** Tests of engines: what readers with a delay see is the feed as it was that much earlier. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FeedReads, FeedStore, StoredMessage } from '../../../packages/server/src/feeds/engine.ts'
import type { Feed, TopicChoice } from '../../../packages/server/src/feeds/feed.ts'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import {
  ALL,
  below,
  createMessages,
  HISTORY,
  isRefusal,
  LATEST,
  only,
  publish,
  Received,
  readAll,
  show,
  type Workbench,
} from './engine-under-test.ts'

const [SECOND, MINUTE, DAY] = [1_000, 60_000, 86_400_000]
const DELAY = 15 * MINUTE
const ROUNDS = IS_LONG_RUN ? 200 : 8
const TOPICS = ['A', 'A/1', 'A/2', 'B/1']
const CHOICES: readonly TopicChoice[] = [ALL, below('A/'), only('A'), only('B/1')]

const KINDS: readonly (readonly [string, Partial<Feed>])[] = [
  ['states', LATEST],
  ['states for a time', { ...LATEST, stateTime: 20 * MINUTE }],
  ['a short history', { keep: 'all', history: { messages: 3, time: 5 * MINUTE } }],
  ['states and a history', { ...LATEST, history: { messages: 4, time: DAY } }],
]

export function declareDelays(use: () => Workbench): void {
  describe('readers with a delay', () => {
    for (const [name, kind] of KINDS)
      test(`see the feed as it was, with ${name}`, async () => {
        const bench = use()
        const seed = Math.floor(Math.random() * 2 ** 31)
        const random = createRandom(seed)
        const areCounted = kind.history === undefined || kind.history.time === DAY
        const store = await bench.create(kind, [DELAY, MINUTE])
        const delays = [DELAY, MINUTE].map((delay) => ({ delay, reads: delayed(store, delay) }))
        const states: { at: number; state: State }[] = []
        let now = 0
        const pass = async (milliseconds: number): Promise<void> => {
          now += milliseconds
          await bench.pass(milliseconds)
        }
        for (let round = 0; round < ROUNDS; round++) {
          await store.append(createMessages(...Array.from({ length: 1 + random(4) }, () => randomMessage(random))))
          states.push({ at: now, state: await readState(store, areCounted) })
          // To a moment at which the feed had a state that was looked at.
          const { delay, reads } = delays[random(2)] ?? assert.fail()
          const next = states.find(({ at }) => at + delay > now)
          await pass(next === undefined || random(2) === 0 ? 1 + random(4 * MINUTE) : next.at + delay - now)
          const seen = states.findLast(({ at }) => at + delay === now)
          if (seen !== undefined)
            await shows(reads, seen.state, areCounted, `seed ${seed}, round ${round}, delay ${delay}`)
        }
        for (const { at, state } of states) {
          if (at + DELAY < now) continue
          await pass(at + DELAY - now)
          await shows(delayed(store, DELAY), state, areCounted, `seed ${seed}, at ${at}`)
        }
      })

    test('are passed every message when it is old enough, in order, on every node', async () => {
      const bench = use()
      const feed = bench.define(LATEST)
      const here = await bench.engine.open(feed, [DELAY])
      const there = bench.other === undefined ? here : await bench.other.open(feed, [DELAY])
      const received = await Promise.all(
        [...new Set([here, there])].map((store) => Received.of(delayed(store, DELAY), below('A/'))),
      )
      const first = await publish(here, 'A/1=1', 'B=1', 'A/1=2')
      await bench.pass(SECOND)
      const second = await publish(here, 'A/2=1', 'A/1', 'A/1=3')
      await bench.pass(DELAY - SECOND - 1)
      await publish(here, 'A/1=young')
      for (const each of received) assert.deepEqual(each.shown, [], 'nothing is old enough')
      await bench.pass(1)
      for (const each of received) {
        await each.waitForSeq(first.seq)
        assert.deepEqual(belowA(each), ['A/1=1', 'A/1=2'])
      }
      await bench.pass(SECOND)
      for (const each of received) {
        await each.waitForSeq(second.seq)
        assert.deepEqual(belowA(each), ['A/1=1', 'A/1=2', 'A/2=1', 'A/1', 'A/1=3'])
        assert.deepEqual(each.faults, [])
      }
    })

    test('a position from beyond what they may see has a gap, whatever the newest number is', async () => {
      const bench = use()
      const store = await bench.create(HISTORY, [DELAY])
      const reads = delayed(store, DELAY)
      const { seq: seen } = await publish(store, 'A=1')
      await bench.pass(DELAY)
      await until('the first message is shown', 5_000, async () => (await reads.readLast(ALL, 1)).length === 1)
      const { seq } = await publish(store, 'A=2', 'A=3')
      const next = { kind: 'history', limit: 10 } as const
      for (const choice of [ALL, only('A')]) {
        assert.deepEqual(await hasGap(reads, choice, seen), false)
        for (const forged of [seq - 1, seq, seq + 1, 10 ** 9])
          assert.deepEqual(await hasGap(reads, choice, forged), true, String(forged))
      }
      async function hasGap(from: FeedReads, choice: TopicChoice, after: number): Promise<boolean> {
        const page = await from.readAfter(choice, after, next)
        assert.deepEqual(page.messages, [])
        return page.hasGap
      }
    })

    test('a purge forgets at once for all, and what follows comes when it is old enough', async () => {
      const bench = use()
      const store = await bench.create(HISTORY, [DELAY])
      const reads = delayed(store, DELAY)
      await publish(store, 'A=1')
      await bench.pass(DELAY)
      const received = await Received.of(reads, ALL)
      await until('the first message is shown', 5_000, async () => (await reads.readLast(ALL, 1)).length === 1)
      await publish(store, 'A=2')
      const before = reads.epoch
      await store.purge()
      await until('followers are told', 5_000, () => received.purges === 1)
      assert.notEqual(reads.epoch, before)
      assert.equal(reads.epoch, store.epoch)
      assert.deepEqual(await reads.readLast(ALL, 10), [])
      await publish(store, 'A=3')
      await bench.pass(DELAY)
      await until('it is shown', 5_000, async () => (await reads.readLast(ALL, 1)).length === 1)
      assert.deepEqual(show(await reads.readLast(ALL, 10)), ['A=3'])
      await until('followers have it', 5_000, () => received.shown.at(-1) === 'A=3')
      assert.ok(!received.shown.includes('A=2'))
    })

    test('a delay that is declared later begins with what the feed keeps', async () => {
      const bench = use()
      for (const [name, kind] of KINDS.slice(0, 1).concat(KINDS.slice(3))) {
        const feed = bench.define(kind)
        const store = await bench.engine.open(feed)
        assert.equal(store.delayed(DELAY), undefined)
        await publish(store, 'A=1', 'B=1')
        await bench.pass(DELAY + SECOND)
        await publish(store, 'B=2')
        await store.update(feed, [DELAY])
        const reads = delayed(store, DELAY)
        const state = async (): Promise<string[]> =>
          show((await readAll(reads, ALL, 0, { kind: 'newest' })).messages).sort()
        const old = kind.history === undefined ? ['A=1'] : ['A=1', 'B=1']
        assert.deepEqual(await state(), old, name)
        await publish(store, 'A=2')
        await bench.pass(DELAY)
        await until(`${name}: both are shown`, 5_000, async () => (await state()).join() === 'A=2,B=2')
        await store.update(feed, [DELAY, MINUTE])
        const sooner = show((await readAll(delayed(store, MINUTE), ALL, 0, { kind: 'newest' })).messages).sort()
        assert.deepEqual(sooner, ['A=2', 'B=2'], name)
      }
    })

    test('what is kept for them counts, and a full feed refuses instead of dropping', async () => {
      const bench = use()
      const data = JSON.stringify('x'.repeat(98))
      const store = await bench.create({ ...LATEST, bytes: 1_000 }, [DELAY])
      const append = () => store.append([{ topic: 'A', data }])
      for (let round = 0; round < 9; round++) await append()
      assert.equal((await store.usage()).bytes, 1_000, 'the state, and nine that are held')
      await assert.rejects(append(), isRefusal('feed.full'))
      await bench.pass(DELAY + MINUTE)
      await until('there is room again', 10_000, () =>
        append().then(
          () => true,
          () => false,
        ),
      )
      assert.equal((await delayed(store, DELAY).readLast(ALL, 10)).length, 1)
    })

    test('delays that no node needs any more are forgotten, and the feed goes on', async () => {
      const bench = use()
      const feed = bench.define(HISTORY)
      const store = await bench.engine.open(feed, [DELAY])
      await publish(store, 'A=1')
      await store.update(feed, [])
      await bench.pass(10 * MINUTE)
      await until('it is forgotten', 5_000, async () => (await store.usage()).bytes === 1)
      await store.update(feed, [])
      assert.equal(store.delayed(DELAY), undefined)
      await publish(store, 'A=2')
      assert.deepEqual(show(await store.readLast(ALL, 10)), ['A=1', 'A=2'])
      await bench.engine.drop(feed)
      assert.ok(!(await bench.engine.listStored()).some((generation) => generation.startsWith(feed.generation)))
    })
  })
}

function delayed(store: FeedStore, delay: number): FeedReads {
  return store.delayed(delay) ?? assert.fail('the delay is not kept')
}

interface State {
  readonly newest: readonly StoredMessage[]
  readonly history: readonly (readonly StoredMessage[])[]
  readonly last: readonly (readonly StoredMessage[])[]
  readonly topics: readonly object[]
}

/** All that readers can ask for. */
async function readState(reads: FeedReads, areCounted: boolean): Promise<State> {
  const read = async (choice: TopicChoice, kind: 'newest' | 'history') =>
    (await readAll(reads, choice, 0, { kind, limit: 5 })).messages
  return {
    newest: await read(ALL, 'newest'),
    history: await Promise.all(CHOICES.map((choice) => read(choice, 'history'))),
    last: await Promise.all(CHOICES.map((choice) => reads.readLast(choice, 3))),
    topics: (await reads.listTopics({ prefix: '', after: undefined, limit: 100 })).map(
      // Until they are swept, expired ones are counted too.
      ({ messages, ...topic }) => (areCounted ? { ...topic, messages } : topic),
    ),
  }
}

async function shows(reads: FeedReads, expected: State, areCounted: boolean, why: string): Promise<void> {
  const text = JSON.stringify(expected)
  let shown: State | undefined
  await until(`${why}: it is shown`, 5_000, async () => {
    shown = await readState(reads, areCounted)
    return JSON.stringify(shown) === text
  }).catch(() => assert.deepEqual(shown, expected, why))
}

/** An engine may pass on others too. */
function belowA({ messages }: Received): string[] {
  return show(messages.filter(({ topic }) => topic.startsWith('A/')))
}

function randomMessage(random: (below: number) => number): string {
  const topic = TOPICS[random(TOPICS.length)] ?? 'A'
  return random(6) === 0 ? topic : `${topic}=${random(1_000)}`
}

function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}
