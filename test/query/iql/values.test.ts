import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bind } from '../../../packages/iql/src/bind/binder.ts'
import { type ParameterInput, readParameters } from '../../../packages/iql/src/bind/parameters.ts'
import { parse } from '../../../packages/iql/src/syntax/parser.ts'
import {
  floorDivide,
  MAX_TIMESTAMP,
  MICROS_PER_DAY,
  MIN_TIMESTAMP,
  writeDate,
  writeTime,
  writeTimestamp,
} from '../../../packages/iql/src/types/time-values.ts'
import {
  BINARY,
  BOOLEAN,
  DATE,
  DOUBLE,
  decimal,
  FIXED_INTERVAL,
  INTEGER,
  INTERVAL,
  type IqlType,
  type IqlValue,
  JSON_TYPE,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from '../../../packages/iql/src/types/types.ts'
import { readValue, writeValue } from '../../../packages/iql/src/types/values.ts'
import { marketCatalogue } from './market-catalogue.ts'
import { catchRefusal } from './refusals.ts'

const READ: readonly (readonly [IqlType, string, IqlValue])[] = [
  [TEXT, ' a ', ' a '],
  [INTEGER, '9223372036854775807', 9223372036854775807n],
  [INTEGER, '-9223372036854775808', -9223372036854775808n],
  [INTEGER, '+007', 7n],
  [decimal(6, 2), '45.1', 4510n],
  [decimal(6, 2), '-.5', -50n],
  [decimal(6, 2), '1.500', 150n],
  [decimal(6, 2), '1.5e2', 15000n],
  [decimal(6, 2), '125e-2', 125n],
  [DOUBLE, '0.1', 0.1],
  [DOUBLE, 'NaN', Number.NaN],
  [DOUBLE, '-Infinity', Number.NEGATIVE_INFINITY],
  [BOOLEAN, 'TRUE', true],
  [TIMESTAMP, '1970-01-01T00:00:00.000001Z', 1n],
  [TIMESTAMP, '1970-01-01 10:00:00+10:00', 0n],
  [TIMESTAMP, '1969-12-31', -86_400_000_000n],
  [DATE, '1970-02-01', 31n],
  [TIME, '00:00:01.5', 1_500_000n],
  [UUID, '123E4567-E89B-12D3-A456-426614174000', '123e4567-e89b-12d3-a456-426614174000'],
  [JSON_TYPE, ' {"a": 1.10} ', '{"a": 1.10}'],
  [BINARY, 'AP8=', Uint8Array.of(0, 255)],
  [INTERVAL, '1 month 2d', { months: 1n, micros: 172_800_000_000n }],
  [FIXED_INTERVAL, '-15m', { months: 0n, micros: -900_000_000n }],
  [FIXED_INTERVAL, '2 hrs 5 mins 3 secs', { months: 0n, micros: 7_503_000_000n }],
  [INTERVAL, '1 yr', { months: 12n, micros: 0n }],
]

for (const [type, text, value] of READ) {
  test(`${type.kind} reads ${text}`, () => assert.deepEqual(readValue(type, text), { value }))
}

const REFUSED: readonly (readonly [IqlType, string, RegExp])[] = [
  [TEXT, 'a\0b', /NUL/],
  [TEXT, '\ud800', /surrogate/],
  [INTEGER, '9223372036854775808', /64 bits/],
  [INTEGER, '1.0', /whole number/],
  [INTEGER, '', /whole number/],
  [INTEGER, ' 1', /whole number/],
  [INTEGER, '0x10', /whole number/],
  [INTEGER, '9'.repeat(100_000), /whole number/],
  [decimal(6, 2), '1.005', /more than 2 digits/],
  [decimal(6, 2), '10000', /too many digits/],
  [decimal(6, 2), '1e99', /too many digits/],
  [decimal(6, 2), '.', /not a number/],
  [decimal(6, 2), 'e5', /not a number/],
  [DOUBLE, '1e400', /too large/],
  [DOUBLE, 'inf', /number/],
  [BOOLEAN, '1', /true or false/],
  [TIMESTAMP, '2026-02-29', /timestamp/],
  [TIMESTAMP, '2026-01-01T24:00:00Z', /timestamp/],
  [TIMESTAMP, '2026-01-01T00:00:00.0000001Z', /more than 6 digits after the point/],
  [TIMESTAMP, '0000-01-01', /timestamp/],
  [DATE, '2026-13-01', /date/],
  [DATE, '2026-1-1', /date/],
  [TIME, '25:00', /time/],
  [UUID, '123e4567e89b12d3a456426614174000', /Uuid/],
  [JSON_TYPE, '{a: 1}', /JSON/],
  [JSON_TYPE, '"\\u0000"', /JSON/],
  [JSON_TYPE, '"\\uD800"', /JSON/],
  [JSON_TYPE, '"\\udc00x"', /JSON/],
  [JSON_TYPE, '"\\ud83d\\\\\\ude00"', /JSON/],
  [BINARY, 'AP8', /Base-64/],
  [INTERVAL, '5 parsecs', /interval/],
  [INTERVAL, '5', /interval/],
  [FIXED_INTERVAL, '1 year', /months/],
]

for (const [type, text, problem] of REFUSED) {
  test(`${type.kind} refuses ${JSON.stringify(text.slice(0, 40))}`, () => {
    const read = readValue(type, text)
    assert.ok('problem' in read)
    assert.match(read.problem, problem)
  })
}

test('readValue parses what writeValue writes as the same value', () => {
  const samples = fc.oneof(
    fc.tuple(fc.constant(INTEGER), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)),
    fc.tuple(fc.constant(decimal(18, 6)), fc.bigInt(-(10n ** 18n) + 1n, 10n ** 18n - 1n)),
    fc.tuple(fc.constant(DOUBLE), fc.double()),
    fc.tuple(fc.constant(TIMESTAMP), fc.bigInt(MIN_TIMESTAMP, MAX_TIMESTAMP)),
    fc.tuple(fc.constant(DATE), fc.bigInt(-719_162n, 2_932_896n)),
    fc.tuple(fc.constant(TIME), fc.bigInt(0n, 86_399_999_999n)),
    fc.tuple(fc.constant(BINARY), fc.uint8Array()),
    fc.tuple(fc.constant(BOOLEAN), fc.boolean()),
  )
  fc.assert(
    fc.property(samples, ([type, value]) => assert.deepEqual(readValue(type, writeValue(type, value)), { value })),
    { numRuns: 3000 },
  )
})

function parameters(statement: string, given: Readonly<Record<string, ParameterInput>>) {
  const bound = bind(parse(statement), statement, marketCatalogue())
  return readParameters(statement, bound, new Map(Object.entries(given)))
}

test('parameters are parsed as their types, in the order of the statement', () => {
  const statement = 'SELECT id FROM trades WHERE price > :p AND id IN ($1, :p2) AND note = :note'
  const given = { note: null, P: { text: '1.5' }, '1': { text: '9007199254740993' }, p2: { text: '2' } }
  assert.deepEqual(parameters(statement, given), [15000n, 9007199254740993n, 2n, null])
})

test('Json takes the JSON text, not the content of a string', () => {
  assert.deepEqual(parameters('SELECT CAST(:j AS Json) AS j', { j: { text: 'a', json: '"a"' } }), ['"a"'])
})

test('a missing, an unknown and an invalid value are refused with the name of the parameter', () => {
  const statement = 'SELECT id FROM trades WHERE qty = :quantity'
  const missing = catchRefusal(() => parameters(statement, {}))
  assert.deepEqual([missing.code, missing.column], ['IQL.MissingParameter', 35])
  const unknown = catchRefusal(() => parameters(statement, { quantity: null, quantty: null }))
  assert.deepEqual([unknown.code, unknown.hint], ['IQL.UnknownParameter', 'did you mean quantity?'])
  const bad = catchRefusal(() => parameters(statement, { quantity: { text: '1.5' } }))
  assert.deepEqual([bad.code, bad.message], ['IQL.BadValue', 'The value of :quantity is not a whole number'])
  const structured = catchRefusal(() => parameters(statement, { quantity: { text: undefined, json: '[1]' } }))
  assert.match(structured.message, /object or an array/)
})

test('dates and times are written as a Date writes them, with microseconds', () => {
  const micros = fc.bigInt({ min: MIN_TIMESTAMP, max: MAX_TIMESTAMP })
  const edges = [MIN_TIMESTAMP, MAX_TIMESTAMP, -1n, 0n, 1_709_164_800_000_000n, 951_782_400_000_000n, 2n ** 53n]
  const isAsDate = (value: bigint): void => {
    const millis = floorDivide(value, 1000n)
    const iso = new Date(Number(millis)).toISOString()
    const fraction = (iso.slice(20, 23) + String(value - millis * 1000n).padStart(3, '0')).replace(/0+$/, '')
    const time = iso.slice(11, 19) + (fraction === '' ? '' : `.${fraction}`)
    assert.equal(writeTimestamp(value), `${iso.slice(0, 10)}T${time}Z`)
    const days = floorDivide(value, MICROS_PER_DAY)
    assert.equal(writeDate(days), iso.slice(0, 10))
    assert.equal(writeTime(value - days * MICROS_PER_DAY), time)
  }
  fc.assert(fc.property(micros, isAsDate), { examples: edges.map((value): [bigint] => [value]), numRuns: 1000 })
})
