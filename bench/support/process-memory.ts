/** What the memory of a server is made of, from /proc and its metrics, in MiB. */
import { readFileSync } from 'node:fs'
import { useOfTree } from './process-tree.ts'

export interface ProcessMemory {
  /** Of the process. */
  readonly resident: number
  /** Of the process and its children, with shared pages divided. */
  readonly tree: number
  /** JavaScript's heap in use. */
  readonly heap: number
  /** The heap that malloc extends, in which most native allocations are. */
  readonly malloc: number
  /** Other anonymous memory: JavaScript's heap, long buffers, the arenas of other threads. */
  readonly mapped: number
  /** The program, its libraries and mapped files. */
  readonly file: number
}

export async function readMemory(server: {
  readonly pid: number
  heapBytes(): Promise<number>
}): Promise<ProcessMemory> {
  const { resident, malloc, mapped, file } = readMappings(server.pid)
  return {
    ...{ resident, malloc, mapped, file },
    tree: useOfTree(server.pid).proportionalMiB,
    heap: (await server.heapBytes()) / 2 ** 20,
  }
}

function readMappings(pid: number): Pick<ProcessMemory, 'resident' | 'malloc' | 'mapped' | 'file'> {
  const sums = { malloc: 0, mapped: 0, file: 0 }
  let kind: keyof typeof sums = 'mapped'
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    // 55d0c8a00000-55d0c8a21000 rw-p 00000000 00:00 0    [heap]
    const mapping = /^[\da-f]+-[\da-f]+ \S+ \S+ \S+ \d+\s*(.*)$/.exec(line)
    if (mapping !== null) kind = mapping[1] === '[heap]' ? 'malloc' : mapping[1]?.startsWith('/') ? 'file' : 'mapped'
    const resident = /^Rss:\s+(\d+)/.exec(line)?.[1]
    if (resident !== undefined) sums[kind] += Number(resident) / 1024
  }
  return { ...sums, resident: sums.malloc + sums.mapped + sums.file }
}
