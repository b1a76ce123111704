/** Memory and open descriptors of a process, from /proc; zeros if it has ended. */
import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessUse {
  readonly residentMiB: number
  readonly descriptors: number
}

export function useOfProcess(pid: number): ProcessUse {
  try {
    const kibibytes = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return { residentMiB: Math.round(Number(kibibytes) / 1024), descriptors: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return { residentMiB: 0, descriptors: 0 }
  }
}
