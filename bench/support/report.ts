/** Prints the medians with their ratios to ours, says whether the targets are kept, and writes everything as JSON. */
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { type Measurement, median, type Result } from './compare.ts'

export async function report(measurement: Measurement, results: readonly Result[]): Promise<void> {
  const columns = Object.entries(measurement.columns)
  const [ours] = results
  const header = ['', ...columns.map(([name, unit]) => `${name} (${unit})`)]
  const rows = results.map(({ contender, median }) => [
    contender,
    ...columns.map(([name]) => {
      const value = median[name] ?? Number.NaN
      const ratio = value / (ours?.median[name] ?? Number.NaN)
      return contender === ours?.contender ? rounded(value) : `${rounded(value)}  × ${ratio.toFixed(2)}`
    }),
  ])
  print([header, ...rows])
  for (const line of [...verdicts(measurement, ours), ...ratioVerdicts(measurement, results)])
    process.stdout.write(`${line}\n`)
  process.stdout.write(
    `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors, Node ${process.version}\n`,
  )
  const folder = new URL('../results/', import.meta.url)
  await mkdir(folder, { recursive: true })
  await writeFile(
    new URL(`${measurement.name}.json`, folder),
    `${JSON.stringify({ measurement: measurement.name, at: new Date().toISOString(), node: process.version, results }, null, 2)}\n`,
  )
}

function verdicts({ targets = {} }: Measurement, ours: Result | undefined): string[] {
  return Object.entries(targets).map(([column, { most, least }]) => {
    const value = ours?.median[column] ?? Number.NaN
    const kept = (most === undefined || value <= most) && (least === undefined || value >= least)
    const limit = most === undefined ? `at least ${least}` : `at most ${most}`
    return `target ${column} ${limit}: ${kept ? 'kept' : 'MISSED'}`
  })
}

function ratioVerdicts({ ratios = [] }: Measurement, results: readonly Result[]): string[] {
  return ratios.map(({ column, to, most, least }) => {
    const other = results.find(({ contender }) => contender === to)
    const ratio = ratioOf(column, results[0], other)
    const kept = (most === undefined || ratio <= most) && (least === undefined || ratio >= least)
    const limit = most === undefined ? `at least ${least}` : `at most ${most}`
    return `target ${column} to ${to} ${limit}: ${ratio.toFixed(2)}, ${kept ? 'kept' : 'MISSED'}`
  })
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

function print(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  for (const row of rows) {
    process.stdout.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd()}\n`,
    )
  }
}

/** Of each round by itself, and then the median: a machine that changes its speed changes it for both. */
function ratioOf(column: string, ours: Result | undefined, other: Result | undefined): number {
  return median(
    (ours?.rounds ?? []).map(
      (figures, round) => (figures[column] ?? Number.NaN) / (other?.rounds[round]?.[column] ?? Number.NaN),
    ),
  )
}
