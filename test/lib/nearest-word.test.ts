/** The nearest word: found among thousands of similar ones, with bounded work. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest } from 'gatehouse-protocol'

test('the nearest of 5,000 names with a long prefix in common is found', () => {
  const names = Array.from({ length: 5000 }, (_name, index) => `similar_table_name_${String(index).padStart(4, '0')}`)
  assert.equal(nearest('similar_table_name_432l', names), 'similar_table_name_4320')
})

test('insertions, deletions, substitutions and swaps count one each, wherever the words differ', () => {
  for (const written of ['rice', 'sprice', 'prixe', 'rpice', 'pricee'])
    assert.equal(nearest(written, ['volume', 'price', 'symbol'], 1), 'price', written)
  assert.equal(nearest('pirec', ['price'], 1), undefined)
})

test('the work on long words that have nothing in common is bounded', () => {
  let taken = 0
  const words = (function* () {
    for (; taken < 5000; taken++) yield 'ab'.repeat(32)
  })()
  assert.equal(nearest('cd'.repeat(32), words), undefined)
  assert.ok(taken <= 30, `${taken} words of 64 letters were compared`)
})
