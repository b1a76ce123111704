/** Slots are shared fairly among owners, and the queue is bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from '../../packages/server/src/lib/fair-queue.ts'

const never = new AbortController().signal

function claim(queue: FairQueue, owner: string, signal = never) {
  const state: { result?: 'granted' | 'full' | 'aborted'; release(): void } = { release() {} }
  const done = queue.acquire(owner, signal).then((result) => {
    state.result = typeof result === 'function' ? 'granted' : result
    if (typeof result === 'function') state.release = result
  })
  return Object.assign(state, { done })
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('one owner never holds all slots, and a released one goes to the owner with the fewest', async () => {
  const queue = new FairQueue({ slots: 2, waiting: 8 })
  const greedy = [1, 2, 3].map(() => claim(queue, 'greedy'))
  await turn()
  assert.deepEqual([queue.held, queue.waiting], [1, 2])
  const other = claim(queue, 'other')
  await other.done
  assert.equal(other.result, 'granted')
  const third = claim(queue, 'third')
  greedy[0]?.release()
  await third.done
  assert.deepEqual([greedy[1]?.result, third.result], [undefined, 'granted'])
  other.release()
  third.release()
  await greedy[1]?.done
  greedy[1]?.release()
  await greedy[2]?.done
  greedy[2]?.release()
  greedy[2]?.release()
  assert.deepEqual([queue.held, queue.waiting], [0, 0])
})

test('a full queue refuses the owner that has the most of it', async () => {
  const queue = new FairQueue({ slots: 1, waiting: 2 })
  const running = claim(queue, 'greedy')
  const waiting = [claim(queue, 'greedy'), claim(queue, 'greedy')]
  await turn()
  const late = claim(queue, 'greedy')
  await late.done
  assert.equal(late.result, 'full')
  const other = claim(queue, 'other')
  await waiting[1]?.done
  assert.deepEqual([waiting[1]?.result, queue.waiting], ['full', 2])
  running.release()
  await other.done
  assert.equal(other.result, 'granted')
})

test('a claim that is aborted leaves the queue, and more slots are granted at once', async () => {
  const queue = new FairQueue({ slots: 1, waiting: 2 })
  claim(queue, 'a')
  const abort = new AbortController()
  const gone = claim(queue, 'b', abort.signal)
  const next = claim(queue, 'c')
  await turn()
  abort.abort()
  await gone.done
  assert.deepEqual([gone.result, queue.waiting], ['aborted', 1])
  queue.setLimits({ slots: 2, waiting: 2 })
  await next.done
  assert.equal(next.result, 'granted')
})
