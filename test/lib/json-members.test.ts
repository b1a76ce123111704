/** The text of a member of a message, as the client has written it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memberText } from '../../packages/server/src/lib/json-members.ts'

test('a member is found by its name on the first level, and the last of several counts', () => {
  for (const [text, expected] of [
    ['{"Data":1.10}', '1.10'],
    ['{ "Data" : [1,{"Data":2}] , "x":3}', '[1,{"Data":2}]'],
    ['{"x":{"Data":1}}', undefined],
    ['{"x":"Data","y":"\\",\\"Data\\":1"}', undefined],
    ['{"Data":1,"Data":"a,}\\""}', '"a,}\\""'],
    ['{"D\\u0061ta":-0.0e+5}', '-0.0e+5'],
    ['{"Data":{"a":"]}"},"Data2":1}', '{"a":"]}"}'],
    ['{"Data":\n null\n}', 'null'],
    ['{}', undefined],
  ] as const)
    assert.equal(memberText(text, 'Data'), expected, text)
})

test('of any message, the text has the value that JSON.parse finds', () => {
  for (let round = 0; round < 300; round++) {
    const message = randomObject(3)
    const text = JSON.stringify(message, undefined, round % 3)
    const found = memberText(text, 'Data')
    assert.deepEqual(found === undefined ? undefined : JSON.parse(found), JSON.parse(text).Data, text)
  }
})

const NAMES = ['Data', 'data', 'Topic', '"Data"', '\\Data', 'Data,', '{', '']

function randomObject(depth: number): Record<string, unknown> {
  const names = NAMES.filter(() => Math.random() < 0.5)
  return Object.fromEntries(names.map((name) => [name, randomValue(depth)]))
}

function randomValue(depth: number): unknown {
  const kind = Math.floor(Math.random() * (depth > 0 ? 6 : 4))
  if (kind === 4) return randomObject(depth - 1)
  if (kind === 5) return [1, 2].map(() => randomValue(depth - 1))
  return [Math.random() * 1e6, 'a "quoted", {text}: \\', null, true][kind]
}
