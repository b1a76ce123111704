/** The rules by which the owners of queries share readers and connections. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  FairSlots,
  type FairSlotsOptions,
  type Slot,
} from '../../packages/server/src/query/engines/slots/fair-slots.ts'
import { refuse } from '../../packages/server/src/query/errors.ts'

const NEVER = new AbortController()

/** Grants in the order in which they were made. */
function openSlots(slots: number, maxWaiting = 1000, options: FairSlotsOptions = {}) {
  const fair = new FairSlots(slots, maxWaiting, options)
  const granted: { owner: string; slot: Slot }[] = []
  const refused: string[] = []
  const ask = (owner: string, running = NEVER): void => {
    fair.acquire({ owner }, running).then(
      (slot) => void granted.push({ owner, slot }),
      () => void refused.push(owner),
    )
  }
  const owners = (): string => granted.map(({ owner }) => owner).join('')
  return { fair, granted, refused, ask, owners }
}

const settled = (): Promise<void> => new Promise(setImmediate)

test('one owner never takes the last slot, and the first query of another starts at once', async () => {
  const { granted, ask, owners } = openSlots(4)
  for (let count = 0; count < 32; count++) ask('a')
  await settled()
  assert.equal(owners(), 'aaa')
  ask('b')
  await settled()
  assert.equal(owners(), 'aaab')
  ask('b')
  ask('c')
  granted[0]?.slot.release()
  await settled()
  assert.equal(owners(), 'aaabc', 'a released slot goes to the owner that has none')
})

test('a single slot is passed round', async () => {
  const { granted, ask, owners } = openSlots(1)
  for (const owner of 'aaabbc') ask(owner)
  for (let count = 0; count < 6; count++) {
    await settled()
    granted[count]?.slot.release()
  }
  assert.equal(owners(), 'abcaba')
})

test('a slot that is released twice is free once', async () => {
  const { granted, ask, owners } = openSlots(1)
  for (const owner of 'abc') ask(owner)
  await settled()
  granted[0]?.slot.release()
  granted[0]?.slot.release()
  await settled()
  assert.equal(owners(), 'ab')
})

test('half of the slots are left to others if they ask too, or did so in the last seconds', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { granted, ask, owners } = openSlots(6, 1000, { isHalfForOthers: true })
  for (let count = 0; count < 6; count++) ask('a')
  await settled()
  assert.equal(owners(), 'aaaaa', 'alone')
  ask('b')
  await settled()
  for (const { slot } of granted.splice(0)) slot.release()
  await settled()
  for (const { slot } of granted.splice(0)) slot.release()
  now += 9000
  for (let count = 0; count < 6; count++) ask('a')
  await settled()
  assert.equal(owners(), 'aaa', 'the other may come back')
  ask('b')
  await settled()
  assert.equal(owners(), 'aaab')
  granted[3]?.slot.release()
  now += 10_000
  granted[0]?.slot.release()
  await settled()
  assert.equal(owners(), 'aaabaaa', 'and has not: two that were free and the one released')
})

test('an aborted wait takes no slot', async () => {
  const { granted, refused, ask, owners, fair } = openSlots(1)
  const abort = new AbortController()
  ask('a')
  ask('b', abort)
  ask('c')
  await settled()
  abort.abort()
  granted[0]?.slot.release()
  await settled()
  assert.deepEqual([owners(), refused, fair.waiting], ['ac', ['b'], 0])
})

test('a full queue refuses the owner with the most queries, not a new one', async () => {
  const { refused, ask, fair } = openSlots(2, 4)
  for (let count = 0; count < 5; count++) ask('a')
  ask('b')
  await settled()
  assert.deepEqual([refused, fair.waiting], [[], 4])
  ask('a')
  await settled()
  assert.deepEqual(refused, ['a'], 'one more of the same owner is refused')
  for (const owner of 'bc') ask(owner)
  await settled()
  assert.deepEqual(refused, ['a', 'a', 'a'], 'the newest of the owner with the most makes room')
  assert.equal(fair.waiting, 4)
})

test('background work starts when nothing else waits, leaves the last slot free, and does not wait forever', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { fair, granted, ask, owners } = openSlots(3)
  const background: Slot[] = []
  const askInBackground = () =>
    void fair.acquireInBackground({ owner: '' }, NEVER).then((slot) => background.push(slot))
  for (let count = 0; count < 3; count++) askInBackground()
  await settled()
  assert.deepEqual([background.length, fair.waiting], [2, 1], 'the last slot is left to others')
  ask('a')
  ask('b')
  ask('c')
  await settled()
  assert.equal(owners(), 'a')
  background[0]?.release()
  await settled()
  assert.equal(owners(), 'ab', 'who waits goes before the background')
  background[1]?.release()
  await settled()
  assert.deepEqual([owners(), background.length], ['abc', 2])
  for (const owner of 'defg') ask(owner)
  granted[0]?.slot.release()
  await settled()
  assert.deepEqual([owners(), background.length], ['abcd', 2])
  now += 1000
  granted[1]?.slot.release()
  await settled()
  assert.deepEqual([owners(), background.length], ['abcd', 3], 'after a second it goes first')
  askInBackground()
  now += 1000
  granted[2]?.slot.release()
  await settled()
  assert.deepEqual([owners(), background.length], ['abcde', 3], 'but one at a time')
})

test('a single slot is passed round between queries and the background', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { fair, granted, ask, owners } = openSlots(1)
  const background: Slot[] = []
  const abort = new AbortController()
  ask('a')
  void fair.acquireInBackground({ owner: '' }, NEVER).then((slot) => background.push(slot))
  void fair.acquireInBackground({ owner: '' }, abort).catch(() => {})
  ask('b')
  await settled()
  abort.abort()
  granted[0]?.slot.release()
  await settled()
  assert.deepEqual([owners(), background.length, fair.waiting], ['ab', 0, 1])
  ask('c')
  now = 1000
  granted[1]?.slot.release()
  await settled()
  assert.deepEqual([owners(), background.length], ['ab', 1])
  background[0]?.release()
  background[0]?.release()
  await settled()
  assert.deepEqual([owners(), fair.waiting], ['abc', 0])
})

/** Slots of which some are for long work, and a clock. */
function openLongSlots(t: TestContext, slots: number, options: FairSlotsOptions) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const fair = new FairSlots(slots, 1000, options)
  const granted = new Map<string, Slot>()
  const stopped: string[] = []
  return {
    fair,
    stopped,
    granted,
    /** The name of a piece of work is its owner and its statement. */
    async ask(name: string, isLong = false) {
      const slot = fair.acquire({ owner: name.charAt(0), statement: name.slice(1), isLong }, NEVER)
      void slot.then((got) => {
        granted.set(name, got)
        got.begin(() => stopped.push(name))
      })
      await settled()
    },
    async release(name: string) {
      granted.get(name)?.release()
      granted.delete(name)
      await settled()
    },
    tick(milliseconds: number) {
      now += milliseconds
      t.mock.timers.tick(milliseconds)
    },
    held: () => [...granted.keys()].join(' '),
  }
}

test('long work never takes the slots that are left to short work of any owner', async (t) => {
  const { ask, release, tick, held, stopped, fair } = openLongSlots(t, 4, { long: 2 })
  for (const name of ['a1', 'b1', 'c1']) await ask(name)
  assert.equal(held(), 'a1 b1 c1', 'nobody knows what is long')
  tick(500)
  assert.deepEqual(stopped, ['c1'], 'the third has no slot for long work')
  await release('c1')
  await ask('c1', true)
  await ask('a2')
  await ask('c2')
  assert.equal(held(), 'a1 b1', 'what their owners ask for is expected to be long')
  for (const name of ['d1', 'e1']) await ask(name)
  assert.equal(held(), 'a1 b1 d1 e1', 'short work starts at once')
  await release('d1')
  await release('e1')
  assert.deepEqual([held(), fair.waiting], ['a1 b1', 3])
  await release('a1')
  assert.equal(held(), 'b1 a2 c1', 'its slot goes to long work that waits, and its owner may try something else')
  await release('c1')
  assert.equal(held(), 'b1 a2 c2')
  await ask('c3')
  assert.equal(held(), 'b1 a2 c2')
})

test('an owner whose work was preempted is not believed to have short work for ten seconds', async (t) => {
  const { ask, release, tick, held, stopped } = openLongSlots(t, 3, { long: 1 })
  await ask('a1')
  await ask('b1')
  tick(500)
  assert.deepEqual(stopped, ['b1'])
  await release('b1')
  tick(9000)
  await ask('b2')
  assert.equal(held(), 'a1')
  tick(1000)
  await ask('b3')
  assert.equal(held(), 'a1 b2')
})

test('what has been short is expected to be short, also for an owner of long work, unless it is long the next time', async (t) => {
  const { ask, release, tick, held, stopped } = openLongSlots(t, 3, { long: 1 })
  await ask('a1')
  tick(400)
  await release('a1')
  await ask('a2')
  tick(500)
  await ask('a1')
  assert.equal(held(), 'a2 a1')
  tick(500)
  assert.deepEqual(stopped, ['a1'], 'the same statement, with other parameters')
  await release('a1')
  tick(100)
  await ask('a3')
  await ask('a1')
  assert.equal(held(), 'a2', 'its owner is not believed for a while')
  await ask('b1')
  assert.equal(held(), 'a2 b1', 'others are, with the same statement')
})

test('long work that has waited goes first where none runs', async (t) => {
  const { ask, release, tick, held } = openLongSlots(t, 2, { long: 1 })
  await ask('a1')
  await ask('b1')
  await ask('c1', true)
  await ask('d1')
  await ask('e1')
  tick(400)
  await release('a1')
  assert.equal(held(), 'b1 d1', 'short work goes first')
  await release('b1')
  assert.equal(held(), 'd1 e1')
  tick(600)
  await ask('f1')
  await release('d1')
  assert.equal(held(), 'e1 c1')
})

test('work that begins again, and is released before it is long, keeps no slot for long work', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { fair, granted, ask } = openSlots(2, 1000, { long: 1 })
  ask('a')
  await settled()
  const [first] = granted
  first?.slot.begin(() => {})
  t.mock.timers.tick(100)
  first?.slot.begin(() => {})
  first?.slot.release()
  t.mock.timers.tick(1000)
  const slot = await fair.acquire({ owner: 'b', isLong: true }, { signal: AbortSignal.timeout(1000) })
  assert.equal(slot.becomeLong(), true)
})

test('on a busy machine work has half a second of its own time, unless short work waits', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { fair, granted, ask } = openSlots(2, 1000, { long: 1 })
  const stopped: string[] = []
  for (const owner of 'ab') ask(owner)
  await settled()
  for (const { owner, slot } of granted)
    slot.begin(
      () => stopped.push(owner),
      () => (owner === 'a' ? 500 : 10),
    )
  t.mock.timers.tick(2000)
  assert.deepEqual(stopped, [], 'one has the slot for long work, the other has hardly run')
  ask('c')
  t.mock.timers.tick(100)
  assert.deepEqual([stopped, fair.waiting], [['b'], 1])
})

test('a query that waited until its time limit is distinguished from one that ran until then', async () => {
  const { fair } = openSlots(1)
  await fair.acquire({ owner: 'a' }, NEVER)
  const late = new AbortController()
  const refused = assert.rejects(fair.acquire({ owner: 'b' }, late), { code: 'Limit.Overload', status: 503 })
  const cancelled = new AbortController()
  const stopped = assert.rejects(fair.acquire({ owner: 'b' }, cancelled), { code: 'Limit.Cancelled' })
  late.abort(refuse('Limit.Time', 'The time is over'))
  cancelled.abort(refuse('Limit.Cancelled', 'Cancelled'))
  await Promise.all([refused, stopped])
})

test('the time of who had to wait starts again with its turn', async () => {
  const { fair } = openSlots(1)
  const restarted: string[] = []
  const listRunning = (name: string) => ({ signal: NEVER.signal, restart: () => void restarted.push(name) })
  const first = await fair.acquire({ owner: 'a' }, listRunning('a'))
  const second = fair.acquire({ owner: 'b' }, listRunning('b'))
  await settled()
  assert.deepEqual(restarted, [])
  first.release()
  await second
  assert.deepEqual(restarted, ['b'])
})

test('under random use, no slot is lost or given twice, and both rules hold', async () => {
  for (let seed = 1; seed <= 200; seed++) {
    let state = seed
    const random = (below: number): number => {
      state = (state * 1103515245 + 12345) % 2147483648
      return Math.floor((state / 2147483648) * below)
    }
    const slots = 2 + random(4)
    const fair = new FairSlots(slots, 1000)
    const held: { owner: string; slot: Slot }[] = []
    const waiting = new Map<string, number>()
    for (let step = 0; step < 100; step++) {
      if (random(3) > 0) {
        const owner = 'abc'.charAt(random(3))
        waiting.set(owner, (waiting.get(owner) ?? 0) + 1)
        void fair.acquire({ owner }, NEVER).then((slot) => {
          waiting.set(owner, (waiting.get(owner) ?? 0) - 1)
          held.push({ owner, slot })
        })
      } else held.splice(random(held.length), 1)[0]?.slot.release()
      await settled()
      const holders = new Set(held.map(({ owner }) => owner))
      assert.ok(held.length <= slots)
      assert.ok(holders.size !== 1 || held.length < slots, 'one owner holds all slots')
      for (const [owner, count] of waiting)
        assert.ok(
          count === 0 || holders.has(owner) || held.length === slots,
          'an owner without a slot waits for a free one',
        )
      assert.equal(
        fair.waiting,
        [...waiting.values()].reduce((sum, count) => sum + count, 0),
      )
    }
  }
})
