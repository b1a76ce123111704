/** Whether a text is JSON is found out without making values of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JSON_TYPE, readValue } from 'gatehouse-iql'

const isAccepted = (text: string): boolean => 'value' in readValue(JSON_TYPE, text)

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('a text is accepted if JSON.parse accepts it', () => {
  const PARTS = String.raw`{ } [ ] , : " "a" \ \n \u00e9 \u12 1 - 0 01 .5 e+3`.split(' ')
  const parts = fc.array(fc.constantFrom(...PARTS, ' ', '\t', '\u00a0', '\u0001', 'true', 'null', 'nul', 'é'), {
    maxLength: 12,
  })
  const examples = [
    '',
    ' ',
    '[]',
    ' { } ',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '"\\x"',
    '-',
    '1.',
    '1e5',
    '[1 2]',
    '{"a":[{}]}',
    '[]]',
  ]
  for (const text of examples) assert.equal(isAccepted(text), isParsed(text), text)
  const options = { numRuns: 3000 }
  fc.assert(
    fc.property(parts, (texts) => isAccepted(texts.join('')) === isParsed(texts.join(''))),
    options,
  )
  // Of valid texts, one character is changed.
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom(...PARTS), (text, at, part) => {
      const place = at % text.length
      const changed = text.slice(0, place) + part + text.slice(place + 1)
      return isAccepted(text) === isParsed(text) && (isAccepted(changed) === isParsed(changed) || /\\u/.test(changed))
    }),
  )
})

test('millions of nested arrays take a fraction of a second', () => {
  const depth = 2_000_000
  const began = process.cpuUsage()
  assert.ok(isAccepted('['.repeat(depth) + ']'.repeat(depth)))
  const { user, system } = process.cpuUsage(began)
  assert.ok(user + system < 500_000, `${(user + system) / 1000} ms`)
})
