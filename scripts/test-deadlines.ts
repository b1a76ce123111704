/**
 * Ends test files that do not end by themselves, with the programs that they started: node:test ends a test in time, but waits for its
 * process for ever, for instance when a failed test leaves a server behind.
 */
import { readdir, readFile } from 'node:fs/promises'
import type { run } from 'node:test'
import { TEST_FILE } from '../test/support/test-file.ts'

type TestEvents = ReturnType<typeof run>

/** Each file has this many milliseconds from its start. What it leaves behind when it has ended is killed too. */
export function endLateFiles(events: TestEvents, milliseconds: number): void {
  const timers = new Map<string, NodeJS.Timeout>()
  // The test that stands for a file has its name.
  events.on('test:dequeue', ({ name, file }) => {
    if (file !== undefined && name === file) timers.set(file, setTimeout(endLateFile, milliseconds, file).unref())
  })
  events.on('test:complete', ({ name, file }) => {
    if (file === undefined || name !== file) return
    clearTimeout(timers.get(file))
    void killProcesses(file)
  })
}

async function endLateFile(file: string): Promise<void> {
  process.stdout.write(`# ${file} did not end: its processes are killed\n`)
  await killProcesses(file)
}

async function killProcesses(file: string): Promise<void> {
  for (const pid of await findProcesses(file)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

/** Found by what they inherited: the parents of some have ended. On Linux. */
async function findProcesses(file: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const pids = names.map(Number).filter((pid) => Number.isInteger(pid) && pid !== process.pid)
  const isOfFile = await Promise.all(
    pids.map(async (pid) => {
      const [environment, command] = await Promise.all(
        ['environ', 'cmdline'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
      )
      return environment?.split('\0').includes(`${TEST_FILE}=${file}`) || command?.split('\0').includes(file)
    }),
  )
  return pids.filter((_, index) => isOfFile[index])
}
