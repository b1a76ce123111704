/** What a process and all its children have used, read from /proc. */
import { readdirSync, readFileSync } from 'node:fs'

export interface TreeUse {
  /** User and system time so far. */
  readonly cpuMs: number
  /** Resident memory, summed; pages that processes share count once for each. */
  readonly residentMiB: number
  /** The same with shared pages divided among those who share them. */
  readonly proportionalMiB: number
}

const TICK_MS = 10

export function useOfTree(pid: number): TreeUse {
  const uses = treeOf(pid).map(useOf)
  return {
    cpuMs: sum(uses.map(({ cpuMs }) => cpuMs)),
    residentMiB: sum(uses.map(({ residentMiB }) => residentMiB)),
    proportionalMiB: sum(uses.map(({ proportionalMiB }) => proportionalMiB)),
  }
}

function treeOf(root: number): number[] {
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

function useOf(pid: number): TreeUse {
  const fields = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? []
  const kibibytes = (text: string, name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
  return {
    cpuMs: (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS,
    residentMiB: kibibytes(read(`/proc/${pid}/status`), 'VmRSS') / 1024,
    proportionalMiB: kibibytes(read(`/proc/${pid}/smaps_rollup`), 'Pss') / 1024,
  }
}

/** A process may end while we look. */
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
