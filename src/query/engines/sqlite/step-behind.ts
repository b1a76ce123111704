/** Puts a process that reads behind the server, so that it gives way the moment the server has something to do. */
import { spawnSync } from 'node:child_process'
import { constants, setPriority } from 'node:os'

/**
 * Priority alone says how much each gets, not how soon. Since Linux 6.6 whoever has just been given a processor keeps it for a
 * slice, some milliseconds, and with queries that never rest somebody always has: lookups wait for that again and again.
 * Since Linux 6.12 one with long slices gives way at once to one with shorter ones, and its share stays what it was.
 */
export function stepBehind(): void {
  if (process.platform === 'linux') askForLongSlices()
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
}

const SLICE_NANOSECONDS = 30_000_000

/** The number of sched_setattr(2). */
const SET_ATTRIBUTES: Readonly<Record<string, number>> = { x64: 314, arm64: 274 }

/** Its struct sched_attr: the size, the usual policy, no flags, no niceness and the slice. */
const IN_PERL = 'exit(syscall($ARGV[0] + 0, $ARGV[1] + 0, pack("LLQlLQQQ", 48, 0, 0, 0, 0, $ARGV[2], 0, 0), 0) != 0)'

/** Node cannot ask for it, and chrt not before util-linux 2.41. Where there is no way, all works as before but lookups wait longer. */
function askForLongSlices(): void {
  const pid = String(process.pid)
  const slice = String(SLICE_NANOSECONDS)
  const call = SET_ATTRIBUTES[process.arch]
  if (succeeds('chrt', ['--other', '--sched-runtime', slice, '--pid', '0', pid])) return
  if (call !== undefined) succeeds('perl', ['-e', IN_PERL, String(call), pid, slice])
}

function succeeds(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore', timeout: 1000 }).status === 0
}
