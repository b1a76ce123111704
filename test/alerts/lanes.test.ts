/** The lanes of a new keeper: what an earlier one has left is sent first, and nothing before all alerts are known. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lanes } from '../../packages/server/src/alerts/deliver/lanes.ts'
import type { AlertDelivery } from '../../packages/server/src/query/index.ts'

const OWNERS = new Map([['spread', 'alice']])

test('what waits from an earlier term leaves before what an alert adds while the others start', async () => {
  const sent = Promise.withResolvers<void>()
  const attempted: number[] = []
  const lanes = new Lanes({
    hostOf: () => 'hooks.example.com',
    async attempt({ sequence }) {
      attempted.push(sequence)
      if (attempted.length === 3) sent.resolve()
      return { outcome: 'sent', status: 204 }
    },
    async commit() {},
    clock: Date.now,
    onError: (error) => sent.reject(error),
  })
  lanes.load([delivery(1), delivery(2)], OWNERS)
  lanes.add({ deliveries: [delivery(3)], owner: 'alice', sequences: { hook: 3 } })
  // Read again after an error: none twice.
  lanes.load([delivery(1), delivery(2), delivery(3)], OWNERS)
  assert.equal(lanes.waiting.count, 3)
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(attempted, [])
  lanes.open()
  await sent.promise
  assert.deepEqual(attempted, [1, 2, 3])
  lanes.close()
})

function delivery(sequence: number): AlertDelivery {
  return {
    ...{ id: `delivery-${sequence}`, alert: 'spread', channel: 'hook', sequence, state: 'waiting', notice: '{}' },
    ...{ created: 1, next_at: 1, ended: null, attempts: 0, status: null, error: null, joined: 0 },
  }
}
