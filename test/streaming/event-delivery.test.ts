/** Events that concern thousands of connections do not hold the event loop. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { EventDelivery } from '../../packages/server/src/streaming/gateway/event-delivery.ts'

function slowReceivers(count: number, received: string[], isSlow: boolean) {
  return Array.from({ length: count }, (_receiver, number) => ({
    onEvent(event: string) {
      const end = performance.now() + (isSlow ? 1 : 0)
      while (performance.now() < end);
      received.push(`${event} ${number}`)
    },
  }))
}

test('few connections have an event at once', () => {
  // On a busy machine the process may lose the processor in the middle of one attempt, but not of each.
  const attempts = Array.from({ length: 20 }, () => {
    const received: string[] = []
    new EventDelivery(new Set(slowReceivers(3, received, false)), assert.ifError).deliver('kick')
    return received
  })
  assert.deepEqual(
    attempts.find(({ length }) => length === 3),
    ['kick 0', 'kick 1', 'kick 2'],
  )
})

test('many have it in several turns, each event after the one before; those that left or came later do not', async () => {
  const received: string[] = []
  const receivers = slowReceivers(100, received, true)
  const all = new Set(receivers.slice(0, 99))
  const delivery = new EventDelivery(all, assert.ifError)
  delivery.deliver('first')
  delivery.deliver('second')
  assert.ok(received.length < 50, `${received.length} in one turn`)
  const [left, late] = [receivers[98], receivers[99]]
  if (left !== undefined) all.delete(left)
  if (late !== undefined) all.add(late)
  for (let turn = 0; received.length < 196 && turn < 1000; turn++) await immediate()
  const expected = ['first', 'second'].flatMap((event) =>
    Array.from({ length: 98 }, (_, number) => `${event} ${number}`),
  )
  assert.deepEqual(received, expected)
})

test('a connection that fails keeps no other from an event, nor from later ones', async () => {
  const received: string[] = []
  const errors: unknown[] = []
  const failing = {
    onEvent() {
      throw new Error('failed')
    },
  }
  const receivers = new Set([failing, ...slowReceivers(1, received, false)])
  const delivery = new EventDelivery<string>(receivers, (error) => errors.push(error))
  delivery.deliver('revoked')
  delivery.deliver('cut')
  for (let turn = 0; received.length < 2 && turn < 1000; turn++) await immediate()
  assert.deepEqual(received, ['revoked 0', 'cut 0'])
  assert.match(String(errors), /failed.*failed/)
})
