/** Prints rows as columns that line up. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => (row[column] ?? '').length)))
  for (const row of [header, ...rows]) {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
}
