/** The folder of a test run's temporary files: in memory where Linux has room, because SQLite and PostgreSQL sync thousands of small files. */
import { rmSync } from 'node:fs'
import { chmod, mkdtemp, readFile, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { availableMemory } from 'node:process'

const IN_MEMORY = '/dev/shm'
/** Several times what a run needs. */
const ROOM_BYTES = 6 * 2 ** 30

/** Names it in TMPDIR, which the processes of the tests inherit, and removes it when this process exits. */
export async function useFolderInMemory(): Promise<void> {
  if (process.env.TMPDIR !== undefined || !(await hasRoom())) return
  const folder = await mkdtemp(join(IN_MEMORY, 'gatehouse-tests-'))
  // Some tests run programs as other users.
  await chmod(folder, 0o1777)
  process.env.TMPDIR = folder
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
}

/** A container's may have 64 MB only, and its programs may not be run. */
async function hasRoom(): Promise<boolean> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '')
  const [, options] = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(mounts) ?? []
  if (options === undefined || /\b(ro|noexec)\b/.test(options)) return false
  const { bavail, bsize } = await statfs(IN_MEMORY)
  return Math.min(bavail * bsize, availableMemory()) > ROOM_BYTES
}
