/** JSON that is parsed in steps has the values that JSON.parse gives it, and is refused where JSON.parse refuses it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExactly, parseInSteps, parseJson, parseNumbers } from '../../packages/server/src/lib/exact-json.ts'
import { checks } from '../support/checks.ts'

function parsed(text: string): unknown {
  const steps = parseInSteps(text)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

function outcome(parse: (text: string) => unknown, text: string): unknown {
  try {
    // This cannot show whether -0 keeps its text: both are the same value in every type.
    return JSON.stringify(parse(text)).replace(/-0(?![.\d])/g, '0')
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error))
    return 'refused'
  }
}

/** A generator of numbers with a seed, so that a failure can be repeated. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const TOKENS = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '\n',
    '"a"',
    '"__proto__"',
    '"\\u00e9\\n"',
    '"\\u0061"',
    '"\\\\":',
    '{"\\"":',
    '"\\udc000":',
    '"\udc000":',
    '"',
    '\\',
    'true',
    'false',
    'null',
    'tru',
  ],
  ...[
    '0',
    '-0',
    '-',
    '01',
    '1.',
    '1.50',
    '1e5',
    '1E+2',
    '.5',
    '12345678901234567890.10',
    '\u0001',
    '\u00a0',
    '\ud800',
    '"\\ud83d\\ude00"',
  ],
]

test('random texts', () => {
  const random = createRandom(7)
  for (let round = 0; round < checks(20_000); round++) {
    const text = Array.from({ length: 1 + random(9) }, () => TOKENS[random(TOKENS.length)]).join('')
    const expected = outcome(parseExactly, text)
    assert.equal(outcome(parsed, text), expected, JSON.stringify(text))
  }
})

test('random names, of which any character may be escaped, and repeated ones', () => {
  const random = createRandom(5)
  const characters = [
    'a',
    'b',
    '1',
    '"',
    '\\',
    '\n',
    '\u0000',
    'é',
    '😀',
    '\ud800',
    '\udc00',
    '__proto__',
    'constructor',
    ' ',
    ':',
  ]
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  const name = (): string => {
    const text = Array.from({ length: random(4) }, () => characters[random(characters.length)]).join('')
    const written = [...text].map((one) =>
      one.length === 1 && random(3) === 0 ? escaped(one) : JSON.stringify(one).slice(1, -1),
    )
    return `"${written.join('')}"`
  }
  const value = (depth: number): string => {
    const kind = random(depth > 3 ? 3 : 6)
    if (kind < 3) return ['7', name(), 'null'][kind] ?? ''
    const items = Array.from({ length: random(5) }, () => value(depth + 1))
    return kind === 3 ? `[${items}]` : `{${items.map((item) => `${name()}${' '.repeat(random(2))}:${item}`)}}`
  }
  for (let round = 0; round < checks(10_000); round++) {
    const text = value(0)
    const expected = outcome(parsed, text)
    assert.notEqual(expected, 'refused', text)
    assert.equal(outcome(parseJson, text), expected, text)
    assert.equal(outcome(parseExactly, text), expected, text)
    const at = random(text.length)
    const changed = text.slice(0, at) + '{}[],:"\\u0'[random(10)] + text.slice(at + 1)
    assert.equal(outcome(parseJson, changed), outcome(parsed, changed), changed)
  }
})

test('an error in a text with escaped names is that of JSON.parse', () => {
  for (const text of ['{"\\u0061":1,"\\\\":x}', '{"\\":1}', '{"\\x":1}', '{"\\u0061":1} 2', '{"\\u0061"'])
    assert.throws(() => parseJson(text), readError(text))
})

function readError(text: string): Error {
  try {
    JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return error
  }
  throw new Error(`${text} is JSON`)
}

/** The shortest of several runs, in milliseconds. */
function measureTime(parse: (text: string) => unknown, text: string): number {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now()
    parse(text)
    return performance.now() - start
  })
  return Math.min(...times)
}

test('a long text with escaped names takes not much longer than one without', (t) => {
  const items = '1,'.repeat(250_000)
  const plain = measureTime(parseJson, `{"Topic":[${items}1]}`)
  for (const name of ['\\u0054opic', 'gr\\u00f6\\u00dfe']) {
    const ratio = measureTime(parseJson, `{"${name}":[${items}1]}`) / plain
    t.diagnostic(`${name}: ${ratio.toFixed(1)} times`)
    assert.ok(ratio < 4, `${name}: ${ratio} times`)
  }
})

test('random values, and texts with one character changed', () => {
  const random = createRandom(11)
  const value = (depth: number): unknown => {
    const kind = random(depth > 4 ? 5 : 7)
    if (kind === 0) return random(1000) / 8 - 50
    if (kind === 1) return ['', 'x', 'ü\n"\\', '😀', '\u2028', '__proto__', 'constructor'][random(7)]
    if (kind < 5) return [true, false, null][kind - 2]
    const items = Array.from({ length: random(4) }, () => value(depth + 1))
    return kind === 5 ? items : Object.fromEntries(items.map((item, index) => [`m${(index * 7) % 3}`, item]))
  }
  for (let round = 0; round < 5000; round++) {
    const text = JSON.stringify(value(0), null, random(3))
    assert.equal(outcome(parsed, text), outcome(parseExactly, text), text)
    const at = random(text.length)
    const changed = text.slice(0, at) + '{}[],:"\\ 0x'[random(11)] + text.slice(at + 1)
    assert.equal(outcome(parsed, changed), outcome(parseExactly, changed), changed)
  }
})

test('a member __proto__ is a member, and a repeated one has its last value', () => {
  assert.deepEqual(Object.keys(Object(parsed('{"__proto__":{"x":1}}'))), ['__proto__'])
  assert.equal(JSON.stringify(parsed('{"a":1,"b":2,"a":3}')), '{"a":3,"b":2}')
})

test('escape sequences at every position of a long string, which is parsed in pieces', () => {
  const random = createRandom(3)
  for (const sequence of ['\\\\', '\\"', '\\u0041', '\\ud83d\\ude00', '\\n', 'ab\\\\\\\\\\u0042']) {
    for (let offset = 0; offset < 8; offset++) {
      const text = `["${'x'.repeat(offset)}${sequence.repeat(Math.ceil(140_000 / sequence.length))}"]`
      assert.ok(outcome(parsed, text) === outcome(parseExactly, text), `${sequence} at ${offset}`)
      const end = text.length - 3 - random(12)
      const cut = `${text.slice(0, end)}"]`
      assert.ok(outcome(parsed, cut) === outcome(parseExactly, cut), `${sequence} cut at ${end}`)
      assert.equal(outcome(parsed, text.slice(0, end)), 'refused')
    }
  }
})

test('an escaped name is read as it is, whatever names other texts have at its place', () => {
  const name = 'größe'
  const escaped = '[{"id":1,"text":"\\"a\\\\","gr\\u00f6\\u00dfe":2.50}]'
  const parsers = {
    parseJson,
    parseExactly,
    parseNumbers: (text: string) => parseNumbers(text, (value) => value),
    parsed,
  }
  for (const [kind, parse] of Object.entries(parsers)) {
    parse('[{"id":1,"text":"","gr\\\\u0":1}]')
    const [object] = parse(escaped) as [Record<string, unknown>]
    assert.deepEqual(Object.keys(object), ['id', 'text', name], kind)
    assert.deepEqual([object.text, Number(JSON.stringify(object[name]))], ['"a\\', 2.5], kind)
    // Names that cannot be written without an escape sequence, few and many.
    for (const count of [1, 2000]) {
      parse('[{"id":1,"\\\\n\\\\":1}]')
      const [other] = parse(`[{"id":1,"\\n\\n\\n":{"\\\\":[{"\\"":1}]}}${',{"\\"":1}'.repeat(count)}]`) as unknown[]
      assert.deepEqual(JSON.parse(JSON.stringify(other)), { id: 1, '\n\n\n': { '\\': [{ '"': 1 }] } }, kind)
    }
  }
})
