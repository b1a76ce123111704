/** Limits the memory and the files of a process that runs SQLite, which itself limits neither. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Counts memory that is writable, used or not: V8 alone reserves 1 GiB for the code of its two threads. */
const MAX_DATA_KIB = 1856 * 1024
/** The unit of `ulimit -f` (POSIX). */
const BLOCK_BYTES = 512

const SHELL = '/bin/sh'
const hasShell = process.platform !== 'win32' && existsSync(SHELL)

/**
 * The command with limits of the operating system, past which allocations (RLIMIT_DATA) and writes to a file (RLIMIT_FSIZE) fail;
 * unchanged where there is no shell. A process that writes to the database itself has no file limit.
 */
export function withLimits(program: string, args: readonly string[], fileBytes?: number): [string, readonly string[]] {
  if (!hasShell) return [program, args]
  const limits = [
    ...(process.platform === 'linux' ? [`ulimit -d ${MAX_DATA_KIB} 2>/dev/null`] : []),
    ...(fileBytes === undefined ? [] : [`ulimit -f ${Math.ceil(fileBytes / BLOCK_BYTES)} 2>/dev/null`]),
  ]
  return [SHELL, ['-c', [...limits, 'exec "$0" "$@"'].join('; '), program, ...args]]
}

/** The exit codes of a shell that cannot run the program. */
export function couldNotRun(exitCode: number | null): boolean {
  return hasShell && (exitCode === 126 || exitCode === 127)
}

/** Memory of the process's own, without pages of files; 0 if it is gone. */
export async function residentKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')
  return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0)
}
