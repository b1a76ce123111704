/** `npm run bench -- NAME…`: runs measurements, prints a table for each and writes JSON to bench/results. */
import { parseArgs } from 'node:util'
import { MEASUREMENTS } from './measurements.ts'
import { type Checkout, checkoutAt } from './support/checkout.ts'
import { compare } from './support/compare.ts'
import { lastRelease } from './support/fetched-peers.ts'
import { installPeers } from './support/peers.ts'
import { report } from './support/report.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, against: { type: 'string' } },
})
const others = values.against === undefined ? [] : await checkoutsBefore(values.against)
const wanted = positionals.map((name) => MEASUREMENTS.find((measurement) => measurement.name === name))

if (wanted.length === 0 || wanted.includes(undefined)) {
  for (const { name, about } of MEASUREMENTS) process.stdout.write(`${name.padEnd(17)} ${about}\n`)
  process.exitCode = positionals.length === 0 ? 0 : 2
} else {
  if (others.length === 0) installPeers()
  for (const measurement of wanted) {
    if (measurement === undefined) continue
    await report(measurement, await compare(measurement, Number(values.rounds), others), others)
  }
}

/** The one that is named, and the last release: what many commits lose a little at a time shows only there. */
async function checkoutsBefore(named: string): Promise<Checkout[]> {
  const release = await lastRelease()
  const isOnlyRelease = named === 'release'
  if (isOnlyRelease && release === undefined) throw new Error('The last release cannot be built here')
  return [...(isOnlyRelease ? [] : [checkoutAt(named)]), ...(release === undefined ? [] : [release])]
}
