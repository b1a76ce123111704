import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Recent } from '../../src/identity/recent.ts'

test('what was used lately is remembered, whatever else came meanwhile', () => {
  const recent = new Recent<number>(10)
  recent.set('used', 1)
  for (let other = 0; other < 100; other++) {
    recent.set(`other ${other}`, other)
    assert.equal(recent.get('used'), 1)
  }
})

test('no more is remembered than it may hold, and the oldest goes first', () => {
  const keys = Array.from({ length: 100 }, (_, key) => key)
  // Asking counts as use, so each key is asked of a memory of its own.
  const kept = keys.filter((asked) => {
    const recent = new Recent<number>(10)
    for (const key of keys) recent.set(String(key), key)
    return recent.get(String(asked)) === asked
  })
  assert.ok(kept.length >= 5 && kept.length <= 10, `${kept.length} kept`)
  assert.deepEqual(kept, keys.slice(-kept.length))
})
