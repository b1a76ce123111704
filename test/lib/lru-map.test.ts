/** The bounded map: what it must keep, and how much it may keep. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LruMap } from '../../packages/server/src/lib/lru-map.ts'

type Step = { readonly call: 'get' | 'set' | 'delete' | 'clear'; readonly key: string }

const steps = fc.array(
  fc.record({
    call: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('get', 'set') },
      { weight: 1, arbitrary: fc.constantFrom('delete', 'clear') },
    ),
    key: fc.constantFrom(...'abcdefghijklmnop'),
  }) as fc.Arbitrary<Step>,
  { maxLength: 200 },
)

test('holds at most its capacity, always the half used last, and never a stale value', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 12 }), steps, (capacity, calls) => {
      const map = new LruMap<number>(capacity)
      const written = new Map<string, number>()
      /** Keys in the order of their last use, the latest at the end. */
      let used: string[] = []
      const use = (key: string) => {
        used = [...used.filter((other) => other !== key), key]
      }
      for (const [index, { call, key }] of calls.entries()) {
        const mustHave = used.slice(-Math.floor(capacity / 2)).includes(key)
        switch (call) {
          case 'get': {
            const value = map.get(key)
            if (mustHave) assert.equal(value, written.get(key))
            if (value !== undefined) assert.equal(value, written.get(key))
            if (value !== undefined) use(key)
            break
          }
          case 'set':
            map.set(key, index)
            written.set(key, index)
            use(key)
            break
          case 'delete':
            map.delete(key)
            written.delete(key)
            used = used.filter((other) => other !== key)
            break
          case 'clear':
            map.clear()
            written.clear()
            used = []
            break
        }
        assert.ok(map.size <= capacity)
        assert.ok(map.size <= written.size)
      }
    }),
  )
})

test('an entry that is read stays, however many others are written', () => {
  const map = new LruMap<number>(10)
  map.set('used', 1)
  for (let other = 0; other < 100; other++) {
    map.set(`other ${other}`, other)
    assert.equal(map.get('used'), 1)
  }
})

test('writing the same key again evicts nothing', () => {
  const map = new LruMap<number>(4)
  map.set('a', 1)
  map.set('b', 2)
  for (let value = 0; value < 100; value++) map.set('b', value)
  assert.deepEqual([map.get('a'), map.get('b'), map.size], [1, 99, 2])
})

test('a capacity below 2 is refused', () => {
  assert.throws(() => new LruMap<number>(1), RangeError)
})

test('with weights the capacity is their sum, and a heavy entry evicts many light ones', () => {
  const map = new LruMap<string>(20, (value) => value.length)
  for (const key of 'abcdefghij') map.set(key, 'x')
  assert.equal(map.size, 10)
  map.set('heavy', 'x'.repeat(9))
  map.set('heavier', 'x'.repeat(10))
  assert.deepEqual([map.get('a'), map.get('heavy')?.length, map.get('heavier')?.length], [undefined, 9, 10])
  map.delete('heavier')
  for (const key of 'abcdefghij') map.set(key, 'x')
  assert.equal(map.get('a'), 'x')
  assert.equal(map.size, 11)
})
