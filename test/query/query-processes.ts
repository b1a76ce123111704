/** The query processes of the servers in this process, found in /proc. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { until } from '../support/until.ts'

export async function queryProcesses(task = ''): Promise<number[]> {
  const found: number[] = []
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '')
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')
    const parent = Number(stat.split(') ').at(-1)?.split(' ')[1])
    const isOurs = parent === process.pid && command.includes('query-process-main.')
    if (isOurs && (task === '' || command.split('\0').includes(task))) found.push(Number(entry))
  }
  return found
}

/** Ends those that are kept for the next long write. */
export async function endWriters(): Promise<void> {
  const ids = await queryProcesses('write')
  for (const id of ids) process.kill(id, 'SIGKILL')
  // An entry that is left belongs to a process whose end this one has not noticed.
  await until('the writers have ended', 5_000, () => ids.every((id) => !existsSync(`/proc/${id}`)))
}
