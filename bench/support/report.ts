/** Prints medians and ratios, says whether the targets are met, and writes everything as JSON. */
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import type { Checkout } from './checkout.ts'
import { type Measurement, median, type Result } from './compare.ts'

export async function report(
  measurement: Measurement,
  results: readonly Result[],
  others: readonly Checkout[] = [],
): Promise<void> {
  const columns = Object.entries(measurement.columns)
  const [ours] = results
  print([
    ['', ...columns.map(([name, unit]) => `${name} (${unit})`)],
    ...results.map((result) => [
      result.contender,
      ...columns.map(([name]) => {
        const value = result.median[name] ?? Number.NaN
        const ratio = value / (ours?.median[name] ?? Number.NaN)
        return result === ours ? rounded(value) : `${rounded(value)}  × ${ratio.toFixed(2)}`
      }),
    ]),
  ])
  const lines = others.length === 0 ? verdicts(measurement, results) : ratios(measurement, results)
  for (const line of lines) process.stdout.write(`${line}\n`)
  process.stdout.write(
    `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors, Node ${process.version}\n`,
  )
  const folder = new URL('../results/', import.meta.url)
  const file = `${[measurement.name, ...others.map(({ name }) => `against-${name}`)].join('-')}.json`
  const record = { measurement: measurement.name, at: new Date().toISOString(), node: process.version, results }
  await mkdir(folder, { recursive: true })
  await writeFile(new URL(file, folder), `${JSON.stringify(record, null, 2)}\n`)
}

/** Ours divided by that of each other checkout, for each column. */
function ratios({ columns }: Measurement, [ours, ...others]: readonly Result[]): string[] {
  return others.flatMap((other) =>
    Object.keys(columns).map((column) => {
      const all = computeRatios(column, ours, other)
      const range = `${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)}`
      return `${column}: ours / ${other.contender} = ${median(all).toFixed(3)} (median of ${all.length} rounds, ${range})`
    }),
  )
}

function verdicts({ targets = {}, ratios = [] }: Measurement, results: readonly Result[]): string[] {
  const [ours] = results
  const verdict = (value: number, most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY) =>
    `${least === Number.NEGATIVE_INFINITY ? `at most ${most}` : `at least ${least}`}: ${rounded(value)}, ${
      value <= most && value >= least ? 'met' : 'MISSED'
    }`
  return [
    ...Object.entries(targets).map(
      ([column, { most, least }]) => `target ${column} ${verdict(ours?.median[column] ?? Number.NaN, most, least)}`,
    ),
    ...ratios.flatMap(({ column, to, most, least }) => {
      const other = results.find(({ contender }) => contender === to)
      // A peer that could not be fetched.
      if (other === undefined) return []
      return `target ${column} to ${to} ${verdict(median(computeRatios(column, ours, other)), most, least)}`
    }),
  ]
}

/** Per round, because a machine that changes its speed changes it for both. */
function computeRatios(column: string, ours: Result | undefined, other: Result | undefined): number[] {
  return (ours?.rounds ?? []).map(
    (figures, round) => (figures[column] ?? Number.NaN) / (other?.rounds[round]?.[column] ?? Number.NaN),
  )
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

function print(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    process.stdout.write(`${cells.join('   ').trimEnd()}\n`)
  }
}
