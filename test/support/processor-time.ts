/** Processor time of test files: each process writes what it and the processes that it started have used, when it exits. On Linux. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The environment variable with the folder that they write to. */
export const TIMES_FOLDER = 'TEST_TIMES'

const folder = process.env[TIMES_FOLDER]
const file = process.argv[1] ?? ''
if (folder !== undefined && /\.test\.m?[jt]s$/.test(file) && existsSync('/proc/self/stat'))
  process.on('exit', () => writeFileSync(join(folder, String(process.pid)), JSON.stringify({ file, ...used() })))

/** In seconds. */
export interface ProcessorTime {
  readonly own: number
  /** Of the processes that it started and that have ended. */
  readonly started: number
}

/** By file. */
export function readTimes(written: string): ReadonlyMap<string, ProcessorTime> {
  const times = readdirSync(written).map((name) => JSON.parse(readFileSync(join(written, name), 'utf8')))
  return new Map(times.map(({ file, ...time }) => [file, time]))
}

/** proc(5): utime, stime, cutime and cstime, in hundredths of a second. */
function used(): ProcessorTime {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const seconds = (at: number) => (Number(fields[at]) + Number(fields[at + 1])) / 100
  return { own: seconds(11), started: seconds(13) }
}
