/** The clock of retention: a time that may be wrong moves nothing, a drift and a slow round do not matter. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClockCheck } from '../../../packages/server/src/query/retention/clock-check.ts'

const HOUR = 3_600_000

function check() {
  let wall = Date.UTC(2026, 0, 1)
  let monotonic = 0
  const clock = new ClockCheck(
    () => wall,
    () => monotonic,
  )
  return {
    clock,
    /** `database`: by how much its clock is ahead of that of the node, in milliseconds. */
    after({ passed = 0, set = 0, database = 0 }) {
      monotonic += passed
      wall += passed + set
      return clock.findFault(BigInt(wall + database) * 1000n)
    },
  }
}

test('the clocks of node and database may differ by a minute', () => {
  const { after } = check()
  for (const database of [0, 60_000, -60_000]) assert.equal(after({ database }), undefined, String(database))
  assert.match(after({ database: 61_000 }) ?? '', /differ by 61 s/)
  assert.match(after({ database: -HOUR }) ?? '', /differ by 3600 s/)
  assert.equal(after({}), undefined)
})

test('clocks that are set together by more than an hour are a fault until somebody says that they are right', () => {
  for (const set of [2 * HOUR, -2 * HOUR]) {
    const { clock, after } = check()
    assert.equal(after({}), undefined)
    assert.match(after({ set, passed: 1000 }) ?? '', /set by 120 minutes/)
    assert.match(after({ passed: 1000 }) ?? '', /set by 120 minutes/)
    clock.trust()
    assert.equal(after({ passed: 1000 }), undefined)
    assert.match(after({ set: -set }) ?? '', /set by 120 minutes/)
  }
})

test('a clock that is set back right is trusted by itself; small steps, and time that passes, are no fault', () => {
  const { after } = check()
  assert.equal(after({}), undefined)
  assert.notEqual(after({ set: 2 * HOUR }), undefined)
  assert.equal(after({ set: -2 * HOUR, passed: 1000 }), undefined)
  for (let round = 0; round < 50; round++) assert.equal(after({ set: 50 * 60_000, passed: 1000 }), undefined)
  assert.equal(after({ passed: 1000 * HOUR }), undefined)
})
