/** `gatehouse restore URL`: from what was replicated to `backup_url`. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parseBackupUrl } from '../config/backup-settings.ts'
import type { Config } from '../config/config.ts'
import { removeOnSignal } from '../lib/remove-on-signal.ts'
import {
  fetchReplicatedDump,
  type ListedGeneration,
  listReplicated,
  type ReplicatedBackup,
  restoreReplicated,
} from '../replication/restoring.ts'
import { sumRows } from '../store/backup/manifest.ts'
import { restoreBackup } from '../store/backup/restore.ts'
import type { Arguments } from './args.ts'
import { CommandError, UsageError } from './errors.ts'
import { printTable } from './output/table.ts'

/** What the audit log is to say. */
export interface RestoredData {
  readonly taken: string
  readonly rows: number
}

/** `record` writes to the audit log. */
export async function restoreFromUrl(
  args: Arguments,
  config: Config,
  url: string,
  record: (restored: RestoredData) => Promise<void>,
): Promise<void> {
  const backup = { url: parseBackupUrl(url), key: requireKey(config) }
  if (args.has('--list')) {
    printGenerations(await listReplicated(backup), args.has('--json'))
    return
  }
  if (config.databaseUrl !== '') return restoreDump(args, config, backup, record)
  const { generation, time, rows, bytes, segments } = await restoreReplicated(backup, {
    dataFolder: config.data,
    at: readTime(args.value('--at')),
    generation: args.value('--generation'),
    record: (restored) => record({ taken: new Date(restored.time).toISOString(), rows: restored.rows }),
  })
  const taken = new Date(time).toISOString()
  process.stdout.write(
    args.has('--json')
      ? `${JSON.stringify({ folder: config.data, engine: 'sqlite', taken, rows, bytes, generation, segments })}\n`
      : `Restored: ${config.data} (${rows} rows, ${bytes} bytes, as of ${taken})\n`,
  )
}

/** By way of a folder beside the data folder, as the dump contains the master key. */
async function restoreDump(
  args: Arguments,
  config: Config,
  backup: ReplicatedBackup,
  record: (restored: RestoredData) => Promise<void>,
): Promise<void> {
  const parent = dirname(resolve(config.data))
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, '.gatehouse-restore-'))
  const forget = removeOnSignal([folder])
  try {
    const wanted = { at: readTime(args.value('--at')), generation: args.value('--generation') }
    const { generation } = await fetchReplicatedDump(backup, wanted, folder)
    const location = { dataFolder: config.data, url: config.databaseUrl }
    const { taken, files } = await restoreBackup(folder, location, {
      masterKey: config.masterKey,
      isUnsealed: false,
      record: (manifest) => record({ taken: manifest.taken, rows: sumRows(manifest) }),
    })
    const rows = sumRows({ files })
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    process.stdout.write(
      args.has('--json')
        ? `${JSON.stringify({ folder: config.data, engine: 'postgres', taken, rows, bytes, generation })}\n`
        : `Restored: ${config.data} (${rows} rows, ${bytes} bytes, as of ${taken})\n`,
    )
  } finally {
    forget()
    await rm(folder, { recursive: true, force: true })
  }
}

function requireKey({ backupKey }: Config): Buffer {
  if (backupKey !== undefined) return backupKey
  throw new CommandError('Set GATEHOUSE_BACKUP_KEY to the key that the server had: nothing can be read without it')
}

function readTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  // A time without a zone would mean another moment on another machine.
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw new UsageError(`--at takes a time with its zone, such as 2026-11-19T09:30:00Z, not "${text}"`)
}

function printGenerations(generations: readonly ListedGeneration[], isJson: boolean): void {
  if (isJson) process.stdout.write(`${JSON.stringify(generations)}\n`)
  else
    printTable(
      ['generation', 'host', 'from', 'to', 'bases'],
      generations.map(({ generation, host, from, to = '', bases, error }) => [
        ...[generation, host, from ?? (error === undefined ? 'no base yet' : 'not with this backup_key')],
        ...[to, String(bases)],
      ]),
    )
}
