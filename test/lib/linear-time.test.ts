/** No scanner takes longer than in proportion to what a caller sends. fuzz/linear-time.ts attacks the same ones at random, for longer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacks, findSlow } from '../support/linear-time.ts'
import { SCANNERS } from '../support/scanners/scanners.ts'

for (const scanner of SCANNERS)
  test(`${scanner.name}: the time grows as the length`, () => {
    for (const attack of attacks(scanner)) assert.deepEqual(findSlow(scanner, attack), undefined)
  })

test('a scanner whose time grows faster is found', () => {
  const tokens = ['a']
  const quadratic = {
    name: 'quadratic',
    scan: (text: string) => /a+$/.test(text),
    tokens,
    around: [['', 'b']],
    most: 131_072,
  } as const
  const exponential = {
    name: 'exponential',
    scan: (text: string) => /^(?:a|a)+$/.test(text),
    tokens,
    around: [['', 'b']],
    most: 131_072,
  } as const
  for (const scanner of [quadratic, exponential])
    assert.ok(
      [...attacks(scanner)].some((attack) => findSlow(scanner, attack) !== undefined),
      scanner.name,
    )
})
