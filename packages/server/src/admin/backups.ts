/** Backups as the audit log knows them: `gatehouse backup` and `gatehouse restore` record what they did. */
import { presentAuditRow, readAuditPage } from '../store/audit/read.ts'
import { readCount } from './request/parameters.ts'
import type { AdminRoute } from './route.ts'

const DEFAULT_COUNT = 20

export const backupRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/backups',
    scope: 'Platform/Admin',
    summary: 'Lists the latest backups and restores that are still in the audit log, newest first.',
    query: { limit: `How many: 1 to 1000, default ${DEFAULT_COUNT}.` },
    reply: '{"items": [{"kind": "taken or restored", "at", "rows", "bytes", "node"}]}',
    async run({ query }, { database, audit }) {
      await audit.flush()
      const limit = readCount(query.limit, 'limit', DEFAULT_COUNT, 1000)
      const pages = await Promise.all(
        (['backup.taken', 'backup.restored'] as const).map((event) => readAuditPage(database.db, { event }, { limit })),
      )
      const newest = pages.flat().sort((one, other) => other.seq - one.seq)
      return { body: { items: newest.slice(0, limit).map(presentBackup) } }
    },
  },
]

function presentBackup(row: Parameters<typeof presentAuditRow>[0]): object {
  const { at, node, details } = presentAuditRow(row)
  return { kind: row.event.slice('backup.'.length), at, node, ...(typeof details === 'object' ? details : {}) }
}
