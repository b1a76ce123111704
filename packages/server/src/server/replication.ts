/** Starts the replication of the databases where `backup_url` is set; nothing of it is loaded otherwise. */
import type { ReplicationAdministration } from '../admin/ports.ts'
import type { Config } from '../config/config.ts'
import type { Replication, ReplicationStatus } from '../replication/replication.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const DAY = 86_400_000
const load = () => import('../replication/replication.ts')

/** By the process that all workers have in common. */
export async function startReplicationIfSet(config: Config, logger: Logger): Promise<Replication | undefined> {
  if (config.backupUrl === '' || config.backupKey === undefined) return undefined
  const { startReplication } = await load()
  const common = {
    dataFolder: config.data,
    url: config.backupUrl,
    key: config.backupKey.toString('base64'),
    fullMs: config.backupFull,
    rate: config.backupRate,
    keepMs: config.backupKeepDays === 0 ? undefined : config.backupKeepDays * DAY,
    verifyMs: config.backupVerifyDays,
  }
  const { databaseUrl, masterKey, backupEvery, backupSpoolBytes } = config
  if (databaseUrl === '')
    return startReplication({ ...common, everyMs: backupEvery, spoolBytes: backupSpoolBytes }, logger)
  return startReplication({ ...common, databaseUrl, masterKey: masterKey?.toString('base64') }, logger)
}

/** For administration, also without a server. Undefined where nothing is replicated. */
export function administerReplication({ backupUrl, data }: Config): ReplicationAdministration | undefined {
  if (backupUrl === '') return undefined
  return {
    async status() {
      const { measureLag, readStatus } = await load()
      const status = readStatus(data)
      return status && { ...status, lagMs: measureLag(status, Date.now()) }
    },
    ask: async (request) => (await load()).leaveRequest(data, request),
  }
}

/** For a command, which may have other settings than the server: what replicates the folder says so in the folder. */
export async function administerFolder(config: Config): Promise<ReplicationAdministration | undefined> {
  return administerReplication({ ...config, backupUrl: await findBackupUrl(config) })
}

/** The setting; without it the place that the folder is sent to, or was sent to by a process that did not end in order. */
export async function findBackupUrl({ backupUrl, data }: Config): Promise<string> {
  if (backupUrl !== '') return backupUrl
  const { readStatus } = await load()
  const status = readStatus(data)
  return status === undefined || status.isStopped === true ? '' : status.location
}

/** Each worker can tell: they read what the replicating process writes beside its spool. */
export async function watchReplicationIfSet({ backupUrl, data }: Config, metrics: Metrics): Promise<void> {
  if (backupUrl === '') return
  const { measureLag, readStatus } = await load()
  const watch = (
    name: Parameters<Metrics['watch']>[0],
    read: (status: ReplicationStatus) => number | undefined,
  ): void =>
    metrics.watch(name, () => {
      const status = readStatus(data)
      const value = status && read(status)
      return value === undefined ? [] : [[{}, value]]
    })
  watch('gatehouse_backup_lag_seconds', (status) => measureLag(status, Date.now()) / 1000)
  watch('gatehouse_backup_spool_bytes', ({ spoolBytes }) => spoolBytes)
  watch('gatehouse_backup_verified_timestamp_seconds', ({ verified }) => verified && verified.at / 1000)
}
