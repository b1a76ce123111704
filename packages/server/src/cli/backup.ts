/** `gatehouse backup` and `gatehouse restore`. */
import { hostname, userInfo } from 'node:os'
import type { AuditEvent } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import { openAuditLog } from '../store/audit/audit.ts'
import { takeBackup } from '../store/backup/backup.ts'
import { type Manifest, sumRows } from '../store/backup/manifest.ts'
import { restoreBackup } from '../store/backup/restore.ts'
import { removeOldBackups } from '../store/backup/retention.ts'
import { requireDatabase } from '../store/check-stored.ts'
import type { DataLocation } from '../store/database/database.ts'
import { type Database, openDatabase, openUnmigrated } from '../store/database/database.ts'
import { schemaVersion } from '../store/database/migration-plan.ts'
import { MIGRATIONS } from '../store/database/migrations.ts'
import type { Arguments } from './args.ts'
import { UsageError } from './errors.ts'
import { loadSettings } from './settings.ts'

export async function backup(args: Arguments): Promise<void> {
  const { config } = await loadSettings(args)
  const [folder = ''] = args.positionals
  const masterKey = await requireDatabase({ ...dataLocation(config), masterKey: config.masterKey })
  const keep = args.integer('--keep', { least: 1 })
  const manifest = await takeBackup(dataLocation(config), folder, masterKey)
  await recordBackup(config, manifest)
  report(args.has('--json'), `Backed up ${config.data} to`, folder, manifest)
  const removed = keep === undefined ? [] : await removeOldBackups(folder, keep, masterKey)
  if (removed.length > 0 && !args.has('--json')) process.stdout.write(`Deleted ${removed.join(', ')}\n`)
}

export async function restore(args: Arguments): Promise<void> {
  const { config } = await loadSettings(args)
  const [folder = ''] = args.positionals
  if (/^(file|s3):\/\//.test(folder)) {
    const { restoreFromUrl } = await import('./replicated.ts')
    return restoreFromUrl(args, config, folder, (restored) => recordRestore(config, restored))
  }
  for (const option of ['--at', '--generation', '--list'] as const)
    if (args.has(option)) throw new UsageError(`${option} needs the URL of a replicated backup: file:///… or s3://…`)
  const manifest = await restoreBackup(folder, dataLocation(config), {
    masterKey: config.masterKey,
    isUnsealed: args.has('--unsealed'),
    record: (read) => recordRestore(config, { taken: read.taken, rows: sumRows(read) }),
  })
  report(args.has('--json'), 'Restored:', config.data, manifest)
}

function dataLocation(config: Config): DataLocation {
  return { dataFolder: config.data, url: config.databaseUrl }
}

/** The audit log shows who has taken a copy, and when the data was set back to an earlier state. */
async function record(database: Database, event: AuditEvent): Promise<void> {
  const audit = openAuditLog(database, { clock: Date.now, node: `${hostname()}:${process.pid}`, onError: rethrow })
  audit.record({ ...event, actor: `local:${userInfo().username}` })
  await audit.close()
}

/** The backup before an upgrade may be taken by the new version, which must not touch an older schema. */
async function recordBackup(config: Config, manifest: Manifest): Promise<void> {
  const database = openUnmigrated({ dataFolder: config.data, url: config.databaseUrl })
  try {
    if ((await schemaVersion(database)) !== MIGRATIONS.length) return
    const bytes = sumBytes(manifest)
    await record(database, { event: 'backup.taken', details: { rows: sumRows(manifest), bytes } })
  } finally {
    await database.close()
  }
}

async function recordRestore(
  config: Config,
  details: { readonly taken: string; readonly rows: number },
): Promise<void> {
  const database = await openDatabase({ dataFolder: config.data, url: config.databaseUrl })
  try {
    // Those of the server that was backed up: it may still run, on its own database.
    await database.db.deleteFrom('nodes').execute()
    await record(database, { event: 'backup.restored', details })
  } finally {
    await database.close()
  }
}

function report(json: boolean, verb: string, folder: string, manifest: Manifest): void {
  const bytes = sumBytes(manifest)
  const summary = { folder, engine: manifest.engine, taken: manifest.taken, rows: sumRows(manifest), bytes }
  process.stdout.write(
    json
      ? `${JSON.stringify(summary)}\n`
      : `${verb} ${folder} (${summary.rows} rows, ${bytes} bytes, ${manifest.engine}, taken ${manifest.taken})\n`,
  )
}

function sumBytes(manifest: Manifest): number {
  return manifest.files.reduce((sum, file) => sum + file.bytes, 0)
}

function rethrow(error: unknown): never {
  throw error
}
