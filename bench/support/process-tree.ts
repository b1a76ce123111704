/** CPU time and memory of a process and all its children, from /proc. */
import { readdirSync, readFileSync } from 'node:fs'

export interface TreeUse {
  /** User and system time, also of children that have ended. */
  readonly cpuMs: number
  /** The sum of resident memory; shared pages count once per process. */
  readonly residentMiB: number
  /** Shared pages are divided among the processes that share them. */
  readonly proportionalMiB: number
  /** The most that one of the children has had resident, or the process itself if it has none. */
  readonly peakMiB: number
}

const TICK_MS = 10

export function useOfTree(pid: number): TreeUse {
  const uses = processTree(pid).map(readUse)
  const [own, ...children] = uses.map(({ peakMiB }) => peakMiB)
  return {
    cpuMs: sum(uses.map(({ cpuMs }) => cpuMs)),
    residentMiB: sum(uses.map(({ residentMiB }) => residentMiB)),
    proportionalMiB: sum(uses.map(({ proportionalMiB }) => proportionalMiB)),
    peakMiB: Math.max(...(children.length > 0 ? children : [own ?? 0])),
  }
}

function processTree(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const parent = Number(read(`/proc/${entry}/stat`).split(') ').at(-1)?.split(' ')[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
  }
  const tree = [root]
  for (const pid of tree) tree.push(...(children.get(pid) ?? []))
  return tree
}

function readUse(pid: number): TreeUse {
  const fields = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  const kibibytes = (text: string, name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
  return {
    // Its own, and that of its children once they have ended and been waited for.
    cpuMs: sum(fields.slice(11, 15).map(Number)) * TICK_MS,
    residentMiB: kibibytes(read(`/proc/${pid}/status`), 'VmRSS') / 1024,
    peakMiB: kibibytes(read(`/proc/${pid}/status`), 'VmHWM') / 1024,
    proportionalMiB: kibibytes(read(`/proc/${pid}/smaps_rollup`), 'Pss') / 1024,
  }
}

/** Empty if the process has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
