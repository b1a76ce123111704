/** No scanner takes longer than in proportion to what a caller sends. fuzz/linear-time.ts attacks the same ones at random, for longer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacks, findSlow } from '../support/linear-time.ts'
import { SCANNERS } from '../support/scanners/scanners.ts'

for (const scanner of SCANNERS)
  test(`${scanner.name}: the time grows as the length`, async () => {
    for (const attack of attacks(scanner)) assert.deepEqual(await findSlow(scanner, attack), undefined)
  })

test('a scanner whose time grows faster is found', async () => {
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
  for (const scanner of [quadratic, exponential]) {
    const found = await Promise.all([...attacks(scanner)].map((attack) => findSlow(scanner, attack)))
    assert.ok(
      found.some((finding) => finding !== undefined),
      scanner.name,
    )
  }
})
