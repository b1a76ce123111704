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
      const status = (await load()).readStatus(data)
      return status && { ...status, lagMs: measureLag(status) }
    },
    ask: async (request) => (await load()).leaveRequest(data, request),
  }
}

/** Each worker can tell: they read what the replicating process writes beside its spool. */
export async function watchReplicationIfSet({ backupUrl, data }: Config, metrics: Metrics): Promise<void> {
  if (backupUrl === '') return
  const { readStatus } = await load()
  const watch = (
    name: Parameters<Metrics['watch']>[0],
    read: (status: ReplicationStatus) => number | undefined,
  ): void =>
    metrics.watch(name, () => {
      const status = readStatus(data)
      const value = status && read(status)
      return value === undefined ? [] : [[{}, value]]
    })
  watch('gatehouse_backup_lag_seconds', (status) => measureLag(status) / 1000)
  watch('gatehouse_backup_spool_bytes', ({ spoolBytes }) => spoolBytes)
  watch('gatehouse_backup_verified_timestamp_seconds', ({ verified }) => verified && verified.at / 1000)
}

/** A process that has ended falls behind too. */
const SILENT_MS = 30_000

function measureLag({ at, behindSince }: ReplicationStatus): number {
  const now = Date.now()
  const since = now - at > SILENT_MS ? Math.min(at, behindSince ?? at) : (behindSince ?? now)
  return Math.max(0, now - since)
}
