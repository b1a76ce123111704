/** `gatehouse backup` and `gatehouse restore`. */
import { hostname, userInfo } from 'node:os'
import type { Config } from '../config.ts'
import type { AuditEvent } from '../protocol/audit-events.ts'
import { openAuditLog } from '../store/audit.ts'
import { type Place, takeBackup } from '../store/backup/backup.ts'
import type { Manifest } from '../store/backup/manifest.ts'
import { restoreBackup } from '../store/backup/restore.ts'
import { type Database, openDatabase, openUnmigrated } from '../store/database.ts'
import { MIGRATIONS } from '../store/migrations/list.ts'
import { schemaVersion } from '../store/rehearse.ts'
import { Usage } from './command.ts'
import { readSettings } from './settings.ts'

export async function backup(args: readonly string[]): Promise<void> {
  const { config, folder, json } = await readArguments('backup', args)
  const manifest = await takeBackup(placeOf(config), folder)
  await recordBackup(config, manifest)
  report(json, 'Backed up', folder, manifest)
}

export async function restore(args: readonly string[]): Promise<void> {
  const { config, folder, json } = await readArguments('restore', args)
  const manifest = await restoreBackup(folder, placeOf(config))
  await recordRestore(config, manifest)
  report(json, 'Restored', config.data, manifest)
}

async function readArguments(name: string, args: readonly string[]) {
  const { config, options, rest } = await readSettings(args, { '--json': 'switch' })
  const [folder] = rest
  if (folder === undefined || rest.length > 1) throw new Usage(`${name} takes one folder: gatehouse ${name} FOLDER`)
  return { config, folder, json: options.has('--json') }
}

function placeOf(config: Config): Place {
  return { dataFolder: config.data, url: config.databaseUrl }
}

/** Whoever reads the log later must see who has a copy, and where time went back. */
async function recordIt(database: Database, event: AuditEvent): Promise<void> {
  const audit = openAuditLog(database, { clock: Date.now, node: `${hostname()}:${process.pid}`, onError: rethrow })
  audit.record({ ...event, actor: `local:${userInfo().username}` })
  await audit.close()
}

/** A backup before an upgrade is taken by the new program: it must leave an older schema as it is. */
async function recordBackup(config: Config, manifest: Manifest): Promise<void> {
  const database = openUnmigrated({ dataFolder: config.data, url: config.databaseUrl })
  try {
    if ((await schemaVersion(database)) !== MIGRATIONS.length) return
    const bytes = bytesOf(manifest)
    await recordIt(database, { event: 'backup.taken', details: { rows: rowsOf(manifest), bytes } })
  } finally {
    await database.close()
  }
}

async function recordRestore(config: Config, manifest: Manifest): Promise<void> {
  const database = await openDatabase({ dataFolder: config.data, url: config.databaseUrl })
  try {
    await recordIt(database, { event: 'backup.restored', details: { taken: manifest.taken, rows: rowsOf(manifest) } })
  } finally {
    await database.close()
  }
}

function report(json: boolean, verb: string, folder: string, manifest: Manifest): void {
  const bytes = bytesOf(manifest)
  const summary = { folder, engine: manifest.engine, taken: manifest.taken, rows: rowsOf(manifest), bytes }
  process.stdout.write(
    json
      ? `${JSON.stringify(summary)}\n`
      : `${verb}: ${folder} (${summary.rows} rows, ${bytes} bytes, ${manifest.engine}, taken ${manifest.taken})\n`,
  )
}

function bytesOf(manifest: Manifest): number {
  return manifest.files.reduce((sum, file) => sum + file.bytes, 0)
}

function rowsOf(manifest: Manifest): number {
  return manifest.files.reduce((sum, file) => sum + (file.rows ?? 0), 0)
}

function rethrow(error: unknown): never {
  throw error
}
