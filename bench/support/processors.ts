/** Which processor a program runs on, said by `taskset` of util-linux: all threads and children of a program stay where it was started. */
import { spawnSync } from 'node:child_process'

export function onProcessor(processor: number, program: string, args: readonly string[]): readonly string[] {
  return ['taskset', '--cpu-list', String(processor), program, ...args]
}

/** Moves this process with all its threads; gives what lets it go again. */
export function pinThisProcess(processor: number): () => void {
  const before = /list: (.*)$/m.exec(taskset('--pid', '--cpu-list', String(process.pid)))?.[1] ?? ''
  move(String(processor))
  return () => move(before)
}

function move(list: string): void {
  taskset('--all-tasks', '--pid', '--cpu-list', list, String(process.pid))
}

function taskset(...args: readonly string[]): string {
  const { status, stdout, error } = spawnSync('taskset', args, { encoding: 'utf8' })
  if (status !== 0)
    throw new Error('taskset of util-linux is needed to give programs a processor each', { cause: error })
  return stdout
}
