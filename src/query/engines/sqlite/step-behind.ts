/** Puts a process that reads behind the server, so that it gives way the moment the server has something to do. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/**
 * Priority alone says how much each gets, not how soon. Since Linux 6.6 whoever has just been given a processor keeps it for a
 * slice, some milliseconds, and with queries that never rest somebody always has: lookups wait for that again and again.
 * Since Linux 6.12 one with long slices gives way at once to one with shorter ones, and its share stays what it was.
 */
export function stepBehind(): void {
  // On Linux each thread has a priority and slices of its own, and those that collect garbage would be in the server's way too.
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task') : [String(process.pid)]
  if (process.platform === 'linux') askForLongSlices(threads)
  for (const thread of threads) setPriority(Number(thread), constants.priority.PRIORITY_BELOW_NORMAL)
}

const SLICE_NANOSECONDS = 30_000_000

/** The number of sched_setattr(2). */
const SET_ATTRIBUTES: Readonly<Record<string, number>> = { x64: 314, arm64: 274 }

/** Its struct sched_attr: the size, the usual policy, no flags, no niceness and the slice. */
const IN_PERL = `
  my ($call, $slice, @threads) = @ARGV;
  my $attributes = pack("LLQlLQQQ", 48, 0, 0, 0, 0, $slice, 0, 0);
  syscall($call + 0, $_ + 0, $attributes, 0) for @threads;
`

/** Node cannot ask for it, and chrt not before util-linux 2.41. Where there is no way, all works as before but lookups wait longer. */
function askForLongSlices(threads: readonly string[]): void {
  const slice = String(SLICE_NANOSECONDS)
  const call = SET_ATTRIBUTES[process.arch]
  if (succeeds('chrt', ['--all-tasks', '--other', '--sched-runtime', slice, '--pid', '0', String(process.pid)])) return
  if (call !== undefined) succeeds('perl', ['-e', IN_PERL, String(call), slice, ...threads])
}

function succeeds(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore', timeout: 1000 }).status === 0
}
