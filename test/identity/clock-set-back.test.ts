/** Setting the system clock back does not make anyone wait longer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSecretThrottle } from '../../packages/server/src/identity/clients/client-request.ts'
import { createTestClock } from '../support/server.ts'

const HOUR = 3_600_000

test('the wait after wrong client secrets does not grow', () => {
  const clock = createTestClock()
  const throttle = createSecretThrottle(clock)
  for (let count = 0; count < 12; count++) throttle.recordFailure('web', '10.0.0.1')
  const wait = throttle.retryAfter('web', '10.0.0.1')
  assert.ok(wait > 0)
  clock.advance(-HOUR)
  assert.ok(throttle.retryAfter('web', '10.0.0.1') <= wait)
})
