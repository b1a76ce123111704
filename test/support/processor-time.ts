/** Processor time of test files: each process writes what it and the processes that it started have used, when it exits. On Linux. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The environment variable with the folder that they write to. */
export const TIMES_FOLDER = 'TEST_TIMES'

const folder = process.env[TIMES_FOLDER]
const file = process.argv[1] ?? ''
if (folder !== undefined && /\.test\.m?[jt]s$/.test(file) && existsSync('/proc/self/stat'))
  process.on('exit', () => writeFileSync(join(folder, String(process.pid)), JSON.stringify({ file, seconds: used() })))

/** Seconds by file. */
export function readTimes(written: string): ReadonlyMap<string, number> {
  const times = readdirSync(written).map((name) => JSON.parse(readFileSync(join(written, name), 'utf8')))
  return new Map(times.map(({ file, seconds }) => [file, seconds]))
}

/** proc(5): utime, stime, cutime and cstime, in hundredths of a second. */
function used(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0)
}
