/** The order and the end of deliveries, also of those that an earlier keeper has left, without a database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attemptDelivery } from '../../packages/server/src/alerts/deliver/attempt.ts'
import { Lanes } from '../../packages/server/src/alerts/deliver/lanes.ts'
import type { Notice } from '../../packages/server/src/alerts/notice.ts'
import type { AlertDelivery, DeliveryAttempt } from '../../packages/server/src/query/index.ts'
import { toAlertDefinition } from '../../packages/server/src/resources/alert-shape.ts'
import type { Alert } from '../../packages/server/src/store/alerts/alert.ts'
import { until } from '../support/until.ts'

const ALERT: Alert = {
  ...{ id: 'a', owner: 'user-1', name: 'A', version: 1, created: 0, updated: 0 },
  rights: { clientId: '', scopes: [], consented: false },
  definition: toAlertDefinition({ name: 'A', statement: 'SELECT 1', channels: ['hook'] }),
}

const NOTICE: Notice = {
  type: 'alert.firing',
  timestamp: '2026-11-01T00:00:00.000Z',
  data: { alert: 'a', name: 'A', sequence: 0, title: '', text: '', url: '', instances: [], more: 0 },
}

test('rights that are lost while a delivery is committed: it is dropped, and the next one is sent', async () => {
  const attempted: number[] = []
  const settled: DeliveryAttempt[] = []
  const lanes = new Lanes({
    hostOf: () => 'host',
    attempt: async ({ sequence }) => {
      attempted.push(sequence)
      return { outcome: 'sent' }
    },
    commit: async (attempts) => void settled.push(...attempts),
    commitDrop: async () => {},
    clock: () => 0,
    onError: (error) => assert.fail(String(error)),
  })
  lanes.open()
  const first = lanes.prepare(ALERT, NOTICE, {})
  lanes.drop(ALERT.id)
  lanes.add(first)
  lanes.add(lanes.prepare(ALERT, NOTICE, first.sequences))
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(attempted, [2])
  assert.deepEqual(
    settled.map(({ id, state }) => [id, state]),
    [
      [first.deliveries[0]?.id, 'dropped'],
      [settled[1]?.id, 'sent'],
    ],
  )
  lanes.close()
})

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
    async commitDrop() {},
    clock: Date.now,
    onError: (error) => sent.reject(error),
  })
  lanes.load([delivery(1), delivery(2)], OWNERS)
  lanes.add({ deliveries: [delivery(3)], owner: 'alice', sequences: { hook: 3 }, drops: 0 })
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

test('an attempt that ends with a fault of the server is made again after a second', async () => {
  const faults: unknown[] = []
  const attempted: number[] = []
  const lanes = new Lanes({
    hostOf: () => 'host',
    async attempt() {
      attempted.push(Date.now())
      if (attempted.length === 1) throw new Error('The database does not answer')
      return { outcome: 'sent' }
    },
    async commit() {},
    async commitDrop() {},
    clock: Date.now,
    onError: (error) => faults.push(error),
  })
  lanes.load([delivery(1)], OWNERS)
  lanes.open()
  await until('it was tried again', 5_000, () => attempted.length === 2)
  const [first = 0, second = 0] = attempted
  assert.equal(faults.length, 1)
  assert.ok(second - first >= 900, `${second - first} ms`)
  lanes.close()
})

test('a node that is not sure to be the keeper sends nothing, and tries again', async () => {
  const env = { isKeeper: () => false } as never
  assert.deepEqual(await attemptDelivery(delivery(1), env), { outcome: 'postponed', waitMs: 1_000 })
})

function delivery(sequence: number): AlertDelivery {
  return {
    ...{ id: `delivery-${sequence}`, alert: 'spread', channel: 'hook', sequence, state: 'waiting', notice: '{}' },
    ...{ created: 1, next_at: 1, ended: null, attempts: 0, status: null, error: null, joined: 0 },
  }
}
