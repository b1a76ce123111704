/**
 * A process that the replicating one starts: it restores the last moment beside the data and checks it, or records an event. Both open
 * and close databases of the data folder, which would drop the locks of the process that follows them.
 */
import { rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BACKGROUND_PRIORITY, lowerPriority } from '../child-process/priority.ts'
import { DATABASES } from './objects/segment.ts'
import type { ReplicationTask, TaskOutcome } from './options.ts'
import { recordEvent } from './record-event.ts'
import { restoreReplicated } from './restoring.ts'
import { SPOOL_FOLDER } from './spool/state.ts'

/** Times the size of the databases. */
const SPACE = 1.5

lowerPriority(process.pid, BACKGROUND_PRIORITY)
const task: ReplicationTask = JSON.parse(await text(process.stdin))
try {
  if (task.kind === 'verify') reply(await verify(task))
  else reply(await recordEvent({ dataFolder: task.dataFolder, url: '' }, task.event).then(() => ({})))
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
    const details = { moment: new Date(time).toISOString(), rows, bytes }
    await recordEvent({ dataFolder, url: '' }, { event: 'backup.verified', details })
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

function reply(outcome: TaskOutcome): void {
  process.stdout.write(JSON.stringify(outcome))
}
