/** Limits the memory of a process that runs queries. SQLite's own limit does nothing in a build without memory statistics. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Beside the heap of JavaScript, which has a limit of its own, this leaves SQLite about 256 MiB. */
const MAX_RESIDENT_KIB = 640 * 1024
/** Counts memory that is writable, used or not: V8 alone reserves 1 GiB for the code of its two threads. */
const MAX_DATA_KIB = 1856 * 1024
const CHECK_MS = 100

const SHELL = '/bin/sh'
const LIMITED = `ulimit -d ${MAX_DATA_KIB} 2>/dev/null; exec "$0" "$@"`

/** The command with a limit of the operating system (RLIMIT_DATA), past which allocations fail; unchanged where there is no shell. */
export function withMemoryLimit(program: string, args: readonly string[]): [string, readonly string[]] {
  return hasShell ? [SHELL, ['-c', LIMITED, program, ...args]] : [program, args]
}

const hasShell = process.platform === 'linux' && existsSync(SHELL)

/** The exit codes of a shell that cannot run the program. */
export function couldNotRun(exitCode: number | null): boolean {
  return hasShell && (exitCode === 126 || exitCode === 127)
}

/** Calls back once when the process uses too much memory, on Linux. Returns a function that ends the watch. */
export function watchMemory(pid: number | undefined, onExcess: () => void): () => void {
  if (pid === undefined || process.platform !== 'linux') return () => {}
  const timer = setInterval(async () => {
    if ((await residentKib(pid)) <= MAX_RESIDENT_KIB) return
    clearInterval(timer)
    onExcess()
  }, CHECK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Memory of the process's own, without pages of files; 0 if it is gone. */
async function residentKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '')
  return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0)
}
