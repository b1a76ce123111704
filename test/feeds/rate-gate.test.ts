/** MaxRate while a socket is full: what waits for the socket alone does not wait for the turn of other topics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonText } from 'gatehouse-protocol'
import type { FeedMessage } from '../../packages/server/src/feeds/message.ts'
import { RateGate } from '../../packages/server/src/feeds/rate-gate.ts'

test('a topic that may send is sent as soon as the socket takes messages again', () => {
  const sent: string[] = []
  let isReady = true
  const gate = new RateGate(0.01, {
    send: ({ message }) => sent.push(message.topic),
    isReady: () => isReady,
    tooMany: () => assert.fail('nothing is given up'),
  })
  gate.add(1, createMessage('A'))
  isReady = false
  gate.add(2, createMessage('A'))
  gate.add(3, createMessage('B'))
  isReady = true
  gate.flush()
  // The second message of A waits for 100 seconds.
  assert.deepEqual(sent, ['A', 'B'])
  assert.equal(gate.clear(), 2)
})

function createMessage(topic: string): FeedMessage {
  const data = new JsonText('1')
  return {
    topic,
    pattern: '*',
    data,
    position: undefined,
    isRemoved: false,
    isRecovered: undefined,
    delay: undefined,
    licence: undefined,
  }
}
