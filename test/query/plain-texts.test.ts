/** The texts of safe numbers are those that are written from bigints. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decimal, type IqlType, MAX_DATE, MAX_TIMESTAMP, MIN_DATE, MIN_TIMESTAMP } from 'gatehouse-iql'
import { plainText } from '../../packages/server/src/query/engines/sqlite/read/plain-texts.ts'
import { cellDecoder } from '../../packages/server/src/query/engines/sqlite/representation.ts'

const safe = (min: bigint, max: bigint) => fc.bigInt({ min, max }).map(Number).filter(Number.isSafeInteger)

const CASES: readonly (readonly [IqlType, fc.Arbitrary<number>])[] = [
  [decimal(18, 0), fc.maxSafeInteger()],
  [decimal(18, 4), fc.oneof(fc.maxSafeInteger(), fc.integer())],
  [decimal(18, 18), fc.oneof(fc.maxSafeInteger(), fc.integer())],
  [{ kind: 'Timestamp' }, safe(MIN_TIMESTAMP, MAX_TIMESTAMP)],
  [{ kind: 'LocalTimestamp' }, safe(MIN_TIMESTAMP, MAX_TIMESTAMP)],
  [{ kind: 'Date' }, safe(MIN_DATE, MAX_DATE)],
  [
    { kind: 'Time' },
    fc.oneof(
      fc.nat(86_399).map((second) => second * 1e6),
      safe(0n, 86_399_999_999n),
    ),
  ],
]

for (const [type, numbers] of CASES) {
  test(`${JSON.stringify(type)}: as from a bigint`, () => {
    const write = plainText(type)
    const decode = cellDecoder({ name: 'v', type, nullable: false })
    fc.assert(
      fc.property(numbers, (number) => assert.equal(write?.(number), decode(BigInt(number)))),
      { numRuns: 300 },
    )
  })
}
