/** The measurements: `npm run bench -- NAME`; one table on the terminal, one JSON file in bench/results. */
import { parseArgs } from 'node:util'
import { MEASUREMENTS } from './measurements.ts'
import { compare } from './support/compare.ts'
import { installPeers } from './support/peers.ts'
import { report } from './support/report.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' } },
})
const wanted = positionals.map((name) => MEASUREMENTS.find((measurement) => measurement.name === name))

if (wanted.length === 0 || wanted.includes(undefined)) {
  for (const { name, about } of MEASUREMENTS) process.stdout.write(`${name.padEnd(12)} ${about}\n`)
  process.exitCode = positionals.length === 0 ? 0 : 2
} else {
  installPeers()
  for (const measurement of wanted) {
    if (measurement !== undefined) await report(measurement, await compare(measurement, Number(values.rounds)))
  }
}
