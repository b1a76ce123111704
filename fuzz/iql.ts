/** Fuzzes the IQL front end: `node fuzz/iql.ts [minutes] [seed]`. Prints the smallest failing statement. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { bind, parse } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { marketCatalogue } from '../test/query/iql/market-catalogue.ts'
import { print } from '../test/query/iql/print.ts'
import { withoutPositions } from '../test/query/iql/refusals.ts'
import { soup, statements } from '../test/query/iql/trees.ts'

const LIMITS = {
  statementBytes: 1e6,
  tokens: 1e6,
  nesting: 500,
  height: 1e4,
  conditions: 1e4,
  joins: 100,
  setOperations: 500,
  inItems: 100,
  listItems: 2000,
  queries: 100_000,
}
const SLOW_MS = 250

const catalogue = marketCatalogue()
const minutes = Number(process.argv[2] ?? 10)
const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31)
const end = Date.now() + minutes * 60_000
let rounds = 0

console.log(`fuzzing for ${minutes} minutes, seed ${seed}`)
while (Date.now() < end) {
  fc.assert(fc.property(statements, roundTrips), { numRuns: 1000, seed: seed + rounds })
  fc.assert(fc.property(statements, isBoundOrRefused), { numRuns: 1000, seed: seed + rounds })
  fc.assert(fc.property(soup, isReadOrRefused), { numRuns: 5000, seed: seed + rounds })
  rounds++
}
console.log(`${rounds * 7000} statements, no failures`)

function roundTrips(statement: Parameters<typeof print>[0]): void {
  assert.deepEqual(withoutPositions(parse(print(statement), LIMITS)), withoutPositions(statement))
}

function isBoundOrRefused(statement: Parameters<typeof print>[0]): void {
  try {
    bind(statement, print(statement), catalogue)
  } catch (error) {
    assert.ok(error instanceof Refusal, error instanceof Error ? error.stack : String(error))
  }
}

function isReadOrRefused(text: string): void {
  const start = performance.now()
  try {
    roundTrips(parse(text))
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
  }
  assert.ok(performance.now() - start < SLOW_MS, 'too slow')
}
