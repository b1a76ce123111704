/** Limits the memory and the temporary files of a process that runs queries. SQLite itself limits neither. */
import { existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import type { Refusal } from 'gatehouse-protocol'
import { memoryError } from '../../runtime-error.ts'
import type { TempAccount } from './temp-budget.ts'

/** The heap of JavaScript has a limit of its own; this leaves SQLite about 256 MiB in addition. */
const MAX_RESIDENT_KIB = 640 * 1024
/** Counts memory that is writable, used or not: V8 alone reserves 1 GiB for the code of its two threads. */
const MAX_DATA_KIB = 1856 * 1024
const CHECK_MS = 100
/** The unit of `ulimit -f` (POSIX). */
const BLOCK_BYTES = 512

const SHELL = '/bin/sh'
const IS_LINUX = process.platform === 'linux'
const hasShell = process.platform !== 'win32' && existsSync(SHELL)

/**
 * The command with limits of the operating system, past which allocations (RLIMIT_DATA) and writes to a file (RLIMIT_FSIZE) fail;
 * unchanged where there is no shell. A process that writes to the database itself has no file limit.
 */
export function withLimits(program: string, args: readonly string[], fileBytes?: number): [string, readonly string[]] {
  if (!hasShell) return [program, args]
  const limits = [
    ...(IS_LINUX ? [`ulimit -d ${MAX_DATA_KIB} 2>/dev/null`] : []),
    ...(fileBytes === undefined ? [] : [`ulimit -f ${Math.ceil(fileBytes / BLOCK_BYTES)} 2>/dev/null`]),
  ]
  return [SHELL, ['-c', [...limits, 'exec "$0" "$@"'].join('; '), program, ...args]]
}

/** The exit codes of a shell that cannot run the program. */
export function couldNotRun(exitCode: number | null): boolean {
  return hasShell && (exitCode === 126 || exitCode === 127)
}

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

/** Memory of the process's own, without pages of files; 0 if it is gone. */
export async function residentKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')
  return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0)
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
