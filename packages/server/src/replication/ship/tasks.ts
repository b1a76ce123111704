/** Starts a process for a task that opens databases of the data folder, see task-main.ts. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { programFile } from '../../child-process/program.ts'
import type { ReplicationTask, TaskOutcome } from '../options.ts'

export type RunTask = (task: ReplicationTask, signal: AbortSignal) => Promise<TaskOutcome>

export function taskRunner(program: URL): RunTask {
  return async (task, signal) => {
    const child = spawn(process.execPath, ['--max-old-space-size=256', programFile(program)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      signal,
      killSignal: 'SIGKILL',
    })
    const failed = new Promise<never>((_, reject) => child.once('error', reject))
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(task))
    const reply = await Promise.race([text(child.stdout), failed])
    return reply === '' ? { error: 'its process ended' } : JSON.parse(reply)
  }
}
