/** Turns of the event loop: long work pauses, and callers that add more work wait for the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { BACKGROUND, inTurns, type Steps, TurnQueue } from '../../packages/server/src/lib/turns.ts'

function work(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

test('a caller that adds more work goes to the end of the queue, and waits for the next turn', async () => {
  const turns = new TurnQueue(1000)
  const done: string[] = []
  turns.add(() => {
    done.push('first')
    turns.add(() => done.push('more of the first'))
  })
  turns.add(() => done.push('second'))
  await immediate()
  assert.deepEqual(done, ['first', 'second'])
  await immediate()
  assert.deepEqual(done, ['first', 'second', 'more of the first'])
})

test('what a turn has no time for comes before what is added in it', async () => {
  const turns = new TurnQueue(1)
  const done: string[] = []
  turns.add(() => {
    work(2)
    done.push('first')
    turns.add(() => done.push('more of the first'))
  })
  turns.add(() => done.push('second'))
  await immediate()
  assert.deepEqual(done, ['first'])
  while (done.length < 3) await immediate()
  assert.deepEqual(done, ['first', 'second', 'more of the first'])
})

test('work that fails rejects its own promise only', async () => {
  const turns = new TurnQueue()
  const failing = turns.run(() => {
    throw new Error('failed')
  })
  const next = turns.run(() => 'next')
  await assert.rejects(failing, /failed/)
  assert.equal(await next, 'next')
})

test('background work yields two turns to other work after each turn', async () => {
  let steps = 0
  function* slow(): Steps<void> {
    for (; steps < 3; steps++) {
      work(BACKGROUND.milliseconds + 1)
      yield
    }
  }
  let isDone = false
  const running = Promise.resolve(inTurns(slow(), BACKGROUND)).then(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns++) await immediate()
  await running
  assert.ok(turns >= 6, `${turns} turns`)
})
