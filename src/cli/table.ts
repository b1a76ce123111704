/** Prints rows as columns that line up. */
import { printable } from './printable.ts'

export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [header, ...rows].map((row) => row.map(printable))
  const widths = header.map((_, column) => Math.max(...lines.map((row) => (row[column] ?? '').length)))
  for (const row of lines) {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
}
