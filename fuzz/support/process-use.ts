/** Memory, descriptors and temporary files of processes, from /proc; zeros for those that have ended. */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

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

export interface QueryUse {
  /** Private memory, without file-backed pages. */
  readonly memoryMiB: number
  readonly temporaryMiB: number
}

/** Of all processes that run queries: the children of a server, and the connections to a database of PostgreSQL. */
export function useOfQueries(server: number, database: string | undefined): QueryUse {
  let [memory, temporary] = [0, 0]
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1])
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      const isConnection =
        database !== undefined && command.startsWith('postgres:') && command.includes(` ${database} `)
      if (parent !== server && !isConnection) continue
      memory += Number(/^RssAnon:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
      for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
        const path = `/proc/${pid}/fd/${descriptor}`
        const file = statSync(path)
        // SQLite removes the names of its temporary files, PostgreSQL does not.
        if (file.isFile() && (file.nlink === 0 || readlinkSync(path).includes('pgsql_tmp')))
          temporary += file.blocks / 2
      }
    } catch {
      // It has just ended.
    }
  }
  return { memoryMiB: Math.round(memory / 1024), temporaryMiB: Math.round(temporary / 1024) }
}
