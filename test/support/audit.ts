/** The audit log of a test's database, for services that are opened without a server. */
import { type AuditLog, openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import type { Database } from '../../packages/server/src/store/database/database.ts'

export function openTestAudit(database: Database): AuditLog {
  return openAuditLog(database, {
    clock: Date.now,
    node: 'test',
    onError(error) {
      throw error
    },
  })
}
