/** The list of running queries. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RunningQueries } from '../../src/query/run/running.ts'
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
    assert.deepEqual([...running.list()].map((query) => query.requestId), [requestId])
    assert.throws(() => running.check(trader, 'c'), { code: 'Limit.Concurrency' })
    next.end()
  }
  assert.equal(running.size, 0)
})
