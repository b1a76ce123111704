/** Processor time of test files: each process writes what it and the processes that it started have used, when it exits. On Linux. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The environment variable with the folder that they write to. */
export const TIMES_FOLDER = 'TEST_TIMES'

const folder = process.env[TIMES_FOLDER]
const file = process.argv[1] ?? ''
if (folder !== undefined && /\.test\.m?[jt]s$/.test(file) && existsSync('/proc/self/stat'))
  process.on('exit', () => {
    const files = begun.map(({ name, at }, index) => ({ name, ...between(at, begun[index + 1]?.at ?? used()) }))
    writeFileSync(join(folder, String(process.pid)), JSON.stringify({ file, ...used(), files }))
  })

/** In seconds. */
export interface ProcessorTime {
  readonly own: number
  /** Of the processes that it started and that have ended. */
  readonly started: number
}

export interface ProcessTimes extends ProcessorTime {
  /** Of the files of a group. */
  readonly files: readonly (ProcessorTime & { readonly name: string })[]
}

const begun: { readonly name: string; readonly at: ProcessorTime }[] = []

/** For a group: its files are loaded together, and their tests run one file after another. */
export function beginFile(name: string): void {
  if (folder !== undefined) begun.push({ name, at: used() })
}

/** By file. */
export function readTimes(written: string): ReadonlyMap<string, ProcessTimes> {
  const times = readdirSync(written).map((name) => JSON.parse(readFileSync(join(written, name), 'utf8')))
  return new Map(times.map(({ file, ...time }) => [file, time]))
}

function between(begin: ProcessorTime, end: ProcessorTime): ProcessorTime {
  return { own: end.own - begin.own, started: end.started - begin.started }
}

/** proc(5): utime, stime, cutime and cstime, in hundredths of a second. */
function used(): ProcessorTime {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const seconds = (at: number) => (Number(fields[at]) + Number(fields[at + 1])) / 100
  return { own: seconds(11), started: seconds(13) }
}
