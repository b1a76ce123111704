/** The list of running queries, and their time limit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunningQueries } from '../../packages/server/src/query/run/running.ts'
import { CALLERS } from './query-server.ts'

test('a query that is ended twice leaves the next query of its user in the list', () => {
  const { trader } = CALLERS
  assert.ok(trader)
  const running = new RunningQueries({ perUser: 1, milliseconds: 1000, exportMilliseconds: 1000 }, Date.now)
  const first = running.begin(trader, 'a', 'SELECT 1')
  first.end()
  for (const requestId of ['b', 'a']) {
    const next = running.begin(trader, requestId, 'SELECT 2')
    first.end()
    assert.deepEqual(
      [...running.list()].map((query) => query.requestId),
      [requestId],
    )
    assert.throws(() => running.check(trader, 'c'), { code: 'Limit.Concurrency' })
    next.end()
  }
  assert.equal(running.size, 0)
})

test('the time limit of a query that had to wait begins with its turn', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { trader } = CALLERS
  assert.ok(trader)
  const running = new RunningQueries({ perUser: 1, milliseconds: 1000, exportMilliseconds: 5000 }, Date.now)
  const query = running.begin(trader, 'a', 'SELECT 1')
  const { signal } = query
  t.mock.timers.tick(900)
  query.restart?.()
  t.mock.timers.tick(900)
  assert.equal(signal.aborted, false)
  t.mock.timers.tick(100)
  assert.equal(signal.reason.code, 'Limit.Time')
  query.restart?.()
  query.end()
})
