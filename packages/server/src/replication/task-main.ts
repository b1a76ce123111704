/**
 * A process that the replicating one starts: it restores the last moment beside the data and checks it, or records an event. Both open
 * and close databases of the data folder, which would drop the locks of the process that follows them.
 */
import { rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { AuditEvent } from 'gatehouse-protocol'
import { BACKGROUND_PRIORITY, lowerPriority } from '../child-process/priority.ts'
import { openAuditLog } from '../store/audit/audit.ts'
import { nodeName } from '../store/cluster/nodes.ts'
import { openUnmigrated } from '../store/database/database.ts'
import { schemaVersion } from '../store/database/migration-plan.ts'
import { MIGRATIONS } from '../store/database/migrations.ts'
import { DATABASES } from './objects/segment.ts'
import type { ReplicationTask, TaskOutcome } from './options.ts'
import { restoreReplicated } from './restoring.ts'
import { SPOOL_FOLDER } from './spool/state.ts'

/** Times the size of the databases. */
const SPACE = 1.5

lowerPriority(process.pid, BACKGROUND_PRIORITY)
const task: ReplicationTask = JSON.parse(await text(process.stdin))
try {
  reply(task.kind === 'verify' ? await verify(task) : await record(task.dataFolder, task.event))
} catch (error) {
  reply({ error: error instanceof Error ? error.message : String(error) })
}

async function verify({ dataFolder, url, key, generation }: Extract<ReplicationTask, { kind: 'verify' }>) {
  const folder = join(dataFolder, SPOOL_FOLDER, 'verified')
  await rm(folder, { recursive: true, force: true })
  try {
    await requireSpace(dataFolder)
    const backup = { url, key: Buffer.from(key, 'base64') }
    const { time, rows, bytes } = await restoreReplicated(backup, { dataFolder: folder, generation })
    await record(dataFolder, {
      event: 'backup.verified',
      details: { moment: new Date(time).toISOString(), rows, bytes },
    })
    return { moment: time }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The server needs what is left. */
async function requireSpace(dataFolder: string): Promise<void> {
  const sizes = await Promise.all(DATABASES.map((name) => stat(join(dataFolder, name)).catch(() => ({ size: 0 }))))
  const needed = sizes.reduce((sum, { size }) => sum + size, 0)
  const { bavail, bsize } = await statfs(dataFolder)
  if (bavail * bsize < needed * SPACE)
    throw new Error(`the disk has no room for a second copy of the databases (${needed} bytes)`)
}

/** Not in a database that this version has not migrated. */
async function record(dataFolder: string, event: AuditEvent): Promise<TaskOutcome> {
  const database = openUnmigrated({ dataFolder, url: '' })
  try {
    if ((await schemaVersion(database)) !== MIGRATIONS.length) return {}
    let failure: unknown
    const onError = (error: unknown) => {
      failure = error
    }
    const audit = openAuditLog(database, { clock: Date.now, node: nodeName(), onError })
    audit.record(event)
    await audit.close()
    if (failure !== undefined) throw failure
    return {}
  } finally {
    await database.close()
  }
}

function reply(outcome: TaskOutcome): void {
  process.stdout.write(JSON.stringify(outcome))
}
