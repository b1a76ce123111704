/** Writes to the audit log from a process beside the server. */
import type { AuditEvent } from 'gatehouse-protocol'
import { openAuditLog } from '../store/audit/audit.ts'
import { nodeName } from '../store/cluster/nodes.ts'
import { type DataLocation, openUnmigrated } from '../store/database/database.ts'
import { schemaVersion } from '../store/database/migration-plan.ts'
import { MIGRATIONS } from '../store/database/migrations.ts'

/** Not in a database that this version has not migrated. */
export async function recordEvent(location: DataLocation, event: AuditEvent): Promise<void> {
  const database = openUnmigrated(location)
  try {
    if ((await schemaVersion(database)) !== MIGRATIONS.length) return
    let failure: unknown
    const onError = (error: unknown) => {
      failure = error
    }
    const audit = openAuditLog(database, { clock: Date.now, node: nodeName(), onError })
    audit.record(event)
    await audit.close()
    if (failure !== undefined) throw failure
  } finally {
    await database.close()
  }
}
