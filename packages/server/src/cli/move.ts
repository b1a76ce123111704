/** `gatehouse move`: from SQLite to PostgreSQL, or back. */
import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { parseDatabaseUrl } from '../config/database-url.ts'
import { BadSetting } from '../config/parsers.ts'
import { type MoveSummary, moveData, type Report, reopen } from '../move/move.ts'
import type { DataLocation } from '../store/database/database.ts'
import type { Arguments } from './args.ts'
import { CommandError, UsageError } from './errors.ts'
import { explain } from './explain.ts'
import { printableLines, printTable } from './output/table.ts'
import { loadSettings } from './settings.ts'

export async function move(args: Arguments): Promise<void> {
  const { config } = await loadSettings(args)
  const from = { dataFolder: config.data, url: config.databaseUrl }
  const isDryRun = args.has('--dry-run')
  const target = args.value('--to')
  if (args.has('--reopen')) {
    if (target !== undefined || isDryRun)
      throw new UsageError('--reopen concerns the database of the settings: leave --to and --dry-run out')
    return reopenSource(from)
  }
  if (target === undefined) throw new UsageError('move needs --to URL|FOLDER')
  const start = performance.now()
  const to = readTarget(target, config)
  const summary = await moveData({ from, to, masterKey: config.masterKey, isDryRun, report: createReport() }).catch(
    (error) => {
      throw aboutTarget(error, to)
    },
  )
  const milliseconds = Math.round(performance.now() - start)
  if (args.has('--json')) process.stdout.write(`${JSON.stringify({ ...summary, milliseconds })}\n`)
  else if (isDryRun) process.stdout.write(`Everything in ${summary.from} can be moved to ${summary.to}.\n`)
  else printSummary(summary, milliseconds, to)
}

/** Errors about a database name the setting that it usually comes from. Which of the two cannot be used, its address says. */
function aboutTarget(error: unknown, { url, dataFolder }: DataLocation): unknown {
  const text = explain(error)
  const setting = url === '' ? 'GATEHOUSE_DATA' : 'GATEHOUSE_DATABASE_URL'
  const isNamed = text?.includes(setting) === true && (url !== '' || text.includes(dataFolder))
  return isNamed ? new CommandError(text.replaceAll(setting, `--to, or ${setting}`)) : error
}

function readTarget(target: string, config: Config): DataLocation {
  if (!/^postgres(ql)?:/.test(target)) return { dataFolder: resolve(target), url: '' }
  try {
    return { dataFolder: config.data, url: parseDatabaseUrl(target) }
  } catch (error) {
    throw error instanceof BadSetting ? new UsageError(`--to: ${error.message}`) : error
  }
}

async function reopenSource(from: DataLocation): Promise<void> {
  const { state, other } = await reopen(from)
  const place = from.url === '' ? from.dataFolder : 'The database'
  const warning =
    state === 'left'
      ? `Do not serve ${other} any more: what changes there does not reach this one.`
      : `The move to ${other} is given up: remove what it holds before you move again.`
  process.stdout.write(printableLines(`${place} can be served again. ${warning}\n`))
}

/** A line for each phase, and one a second while it lasts. */
function createReport(): Report {
  const EVERY_MS = 1000
  let last = { phase: '', at: 0 }
  return {
    progress(phase, table, rows) {
      const now = performance.now()
      if (phase === last.phase && now - last.at < EVERY_MS) return
      last = { phase, at: now }
      process.stderr.write(printableLines(`${phase} ${table}${rows === 0 ? '' : `: ${rows} rows`}\n`))
    },
    note: (text) => void process.stderr.write(printableLines(`${text}\n`)),
  }
}

function printSummary(
  { from, to, tables, auditFaults }: MoveSummary,
  milliseconds: number,
  { url }: DataLocation,
): void {
  printTable(
    ['TABLE', 'ROWS', 'COMPARED'],
    tables.map(({ name, rows }) => [name, String(rows), 'equal']),
  )
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const settings =
    url === '' ? `GATEHOUSE_DATA to ${to} and unset GATEHOUSE_DATABASE_URL` : 'GATEHOUSE_DATABASE_URL to it'
  const audit =
    auditFaults === 0
      ? 'The audit log is intact.'
      : `The audit log has ${auditFaults} faults, as before: see "gatehouse audit verify".`
  process.stdout.write(
    printableLines(`
Moved ${rows} rows in ${tables.length} tables from ${from} to ${to} in ${(milliseconds / 1000).toFixed(1)} s; every row was compared. ${audit}
Set ${settings}, and start the server. ${from} is unchanged, but servers refuse to start on it.
`),
  )
}
