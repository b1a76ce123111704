/** Pins programs to processors with `taskset` of util-linux; threads and children inherit the affinity. */
import { spawnSync } from 'node:child_process'

export function onProcessor(processor: number, program: string, args: readonly string[]): readonly string[] {
  return ['taskset', '--cpu-list', String(processor), program, ...args]
}

/** Pins this process with all its threads; returns a function that undoes it. */
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
  if (status !== 0) throw new Error('Pinning programs to processors needs taskset of util-linux', { cause: error })
  return stdout
}
