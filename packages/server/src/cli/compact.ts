/** `gatehouse compact`: gives the space of deleted rows back to the disk. */
import { requireDatabase } from '../store/check-stored.ts'
import { CompactRefused, compactFolder } from '../store/compact.ts'
import type { Arguments } from './args.ts'
import { CommandError } from './errors.ts'
import { printableLines, printTable } from './output/table.ts'
import { loadSettings } from './settings.ts'

export async function compact(args: Arguments): Promise<void> {
  const { config } = await loadSettings(args)
  if (config.databaseUrl !== '')
    throw new CommandError('The database is PostgreSQL, whose autovacuum reuses the space of deleted rows.')
  await requireDatabase({ dataFolder: config.data, url: '', masterKey: config.masterKey })
  const isDryRun = args.has('--dry-run')
  const files = await compactFolder(config.data, { isDryRun, isOfAll: args.has('--all') }).catch((error: unknown) => {
    throw error instanceof CompactRefused ? new CommandError(error.message) : error
  })
  if (args.has('--json')) {
    process.stdout.write(`${JSON.stringify({ compacted: !isDryRun, files }, null, 2)}\n`)
    return
  }
  printTable(
    ['FILE', 'BEFORE', 'AFTER'],
    files.map(({ file, before, after }) => [file, mebibytes(before), mebibytes(after)]),
  )
  const given = files.reduce((sum, { before, after }) => sum + Math.max(0, before - after), 0)
  const verb = isDryRun ? 'About' : 'Given back:'
  process.stdout.write(
    printableLines(`\n${verb} ${mebibytes(given)}${isDryRun ? ' would be given back' : ''} (${config.data}).\n`),
  )
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
