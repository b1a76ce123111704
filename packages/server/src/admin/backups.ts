/** Backups: those in the audit log, where `gatehouse backup` and `gatehouse restore` record what they did, and what is sent to `backup_url`. */
import { Refusal } from 'gatehouse-protocol'
import { presentAuditRow, readAuditPage } from '../store/audit/read.ts'
import type { ReplicationAdministration, ReplicationState } from './ports.ts'
import { readCount } from './request/parameters.ts'
import type { AdminEnv, AdminRoute } from './route.ts'

const DEFAULT_COUNT = 20
const EVENTS = ['backup.taken', 'backup.restored', 'backup.verified', 'backup.interrupted'] as const

export const backupRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/backups',
    scope: 'Platform/Admin',
    summary:
      'Lists the latest backups and restores that are still in the audit log, newest first, and says how far `backup_url` is.',
    query: { limit: `How many: 1 to 1000, default ${DEFAULT_COUNT}.` },
    reply:
      '{"items": [{"kind": "taken, restored, verified or interrupted", "at", "rows", "bytes", "node"}], "replication": {"location", "moment", "lag_seconds", "spool_bytes", "base_at", "verified_at", "error"}}',
    async run({ query }, { database, audit, replication }) {
      await audit.flush()
      const limit = readCount(query.limit, 'limit', DEFAULT_COUNT, 1000)
      const pages = await Promise.all(EVENTS.map((event) => readAuditPage(database.db, { event }, { limit })))
      const newest = pages.flat().sort((one, other) => other.seq - one.seq)
      const items = newest.slice(0, limit).map(presentBackup)
      return { body: { items, ...(replication && { replication: presentState(await replication.status()) }) } }
    },
  },
  askRoute('take', 'Sends all pages of the databases to `backup_url` again, soon.'),
  askRoute('verify', 'Restores what was sent to `backup_url` beside the data, checks and removes it, soon.'),
]

function askRoute(request: 'take' | 'verify', summary: string): AdminRoute {
  return {
    method: 'POST',
    path: `/admin/backups/${request}`,
    scope: 'Platform/Admin',
    summary: `${summary} The log and the audit log say what came of it.`,
    async run(_call, env) {
      await requireReplication(env).ask(request)
      return undefined
    },
  }
}

function requireReplication({ replication }: Pick<AdminEnv, 'replication'>): ReplicationAdministration {
  if (replication === undefined) throw new Refusal('admin.no_backup_url', 409, 'Nothing is replicated: set backup_url')
  return replication
}

function presentState(state: ReplicationState | undefined): object {
  if (state === undefined) return { error: 'Nothing was sent yet' }
  const { at, location, generation, moment, lagMs, spoolBytes, base, verified, error, interruptedSince } = state
  return {
    ...{ location, generation, error },
    seen_at: presentTime(at),
    moment: presentTime(moment),
    lag_seconds: lagMs / 1000,
    spool_bytes: spoolBytes,
    base_at: presentTime(base?.at),
    base_bytes: base?.bytes,
    verified_at: presentTime(verified?.at),
    verified_moment: presentTime(verified?.moment),
    interrupted_since: presentTime(interruptedSince),
  }
}

function presentTime(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString()
}

function presentBackup(row: Parameters<typeof presentAuditRow>[0]): object {
  const { at, node, details } = presentAuditRow(row)
  return { kind: row.event.slice('backup.'.length), at, node, ...(typeof details === 'object' ? details : {}) }
}
