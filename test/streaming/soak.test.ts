/** A short soak test. `node --expose-gc fuzz/soak.ts` runs for ten minutes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soak } from '../../fuzz/soak.ts'

test('no connection or file descriptor is left after many connects and disconnects', async () => {
  const [first, , last] = await soak(3_000, 3)
  assert.ok(first !== undefined && last !== undefined)
  assert.ok(last.clients > 50, `${last.clients} clients`)
  assert.ok(last.descriptors <= first.descriptors + 2, `${first.descriptors} then ${last.descriptors} descriptors`)
})
