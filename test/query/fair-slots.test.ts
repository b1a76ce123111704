/** The rules by which the owners of queries share readers and connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairSlots, type FairSlotsOptions, type Slot } from '../../src/query/engines/fair-slots.ts'

const NEVER = new AbortController().signal

/** Grants in the order in which they were made. */
function openSlots(slots: number, maxWaiting = 1000, options: FairSlotsOptions = {}) {
  const fair = new FairSlots(slots, maxWaiting, options)
  const granted: { owner: string; slot: Slot }[] = []
  const refused: string[] = []
  const ask = (owner: string, signal = NEVER): void => {
    fair.acquire(owner, signal).then(
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
  ask('b', abort.signal)
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

test('work in the background starts when nobody waits, leaves the last slot, and does not wait for ever', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { fair, granted, ask, owners } = openSlots(3)
  const background: Slot[] = []
  const askInBackground = () => void fair.acquireInBackground(NEVER).then((slot) => background.push(slot))
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
  void fair.acquireInBackground(NEVER).then((slot) => background.push(slot))
  void fair.acquireInBackground(abort.signal).catch(() => {})
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
        void fair.acquire(owner, NEVER).then((slot) => {
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
