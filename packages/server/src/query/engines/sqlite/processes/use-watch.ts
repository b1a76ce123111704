/** Watches what a query process uses while it runs a statement: memory and temporary files. */
import { readdir, readFile, stat } from 'node:fs/promises'
import type { Refusal } from 'gatehouse-protocol'
import { residentKib } from '../../../../child-process/limits.ts'
import { memoryError } from '../../runtime-error.ts'
import type { TempAccount } from './temp-budget.ts'

/** The heap of JavaScript has a limit of its own; this leaves SQLite about 256 MiB in addition. */
const MAX_RESIDENT_KIB = 640 * 1024
const CHECK_MS = 100
/** The unit of st_blocks (POSIX). */
const BLOCK_BYTES = 512

const IS_LINUX = process.platform === 'linux'

/** Watches a process while it runs a statement, on Linux. */
export class UseWatch {
  /** The bytes that the process had written at the last check. */
  #written = 0
  #timer: NodeJS.Timeout | undefined

  /** Calls back when it uses too much memory, and reports the size of its temporary files to the account. */
  start(pid: number, account: TempAccount, onExcess: (error: Refusal) => void): void {
    if (!IS_LINUX) return
    const before = this.#written
    const timer = setInterval(async () => {
      const [resident, written] = await Promise.all([residentKib(pid), writtenBytes(pid)])
      this.#written = written
      // One file to read, instead of all descriptors of a statement that writes little.
      const bytes = written - before > account.worthCounting ? await temporaryBytes(pid) : 0
      // Meanwhile it may have ended.
      if (this.#timer !== timer) return
      if (resident > MAX_RESIDENT_KIB) onExcess(memoryError())
      else account.set(bytes)
    }, CHECK_MS)
    this.#timer = timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** The bytes that it has written to files and pipes; 0 if it is gone. */
async function writtenBytes(pid: number): Promise<number> {
  const io = await readFile(`/proc/${pid}/io`, 'latin1').catch(() => '')
  return Number(/^wchar: (\d+)$/m.exec(io)?.[1] ?? 0)
}

/** SQLite removes the names of its temporary files as soon as they are open. */
async function temporaryBytes(pid: number): Promise<number> {
  const folder = `/proc/${pid}/fd`
  const open = await readdir(folder).catch(() => [])
  const bytes = open.map(async (descriptor) => {
    const file = await stat(`${folder}/${descriptor}`).catch(() => undefined)
    return file?.isFile() && file.nlink === 0 ? file.blocks * BLOCK_BYTES : 0
  })
  return (await Promise.all(bytes)).reduce((sum, one) => sum + one, 0)
}
