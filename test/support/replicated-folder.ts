/** A data folder that is written to and replicated by processes of their own, for tests of replication. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import type { ReplicationOptions } from '../../packages/server/src/replication/options.ts'
import { Catalogue } from '../../packages/server/src/replication/restore/catalogue.ts'
import { makePlan } from '../../packages/server/src/replication/restore/plan.ts'
import { writeDatabases } from '../../packages/server/src/replication/restore/restore.ts'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import type { Target } from '../../packages/server/src/replication/target/target.ts'
import { until } from './until.ts'

const WRITER = fileURLToPath(new URL('replicated-writer.ts', import.meta.url))
export const DATABASE_FILES = ['identity.db', 'query.db', 'feeds.db'] as const
export const BACKUP_KEY = Buffer.alloc(32, 7)

export interface Writers {
  /** The numbers of the first writer that are committed to all databases, and when. */
  readonly acknowledged: (readonly [number: number, at: number])[]
  /** What the replication has logged. */
  readonly log: string[]
  logged(message: string): Promise<void>
  /** In order: the one that replicates is the last. */
  stop(): Promise<void>
  /** All of them at once, with the process that replicates. */
  kill(): Promise<void>
  /** Only that which replicates, if it runs. */
  killReplicator(): void
}

export function replicationOptions(
  dataFolder: string,
  url: string,
  further: Partial<ReplicationOptions> = {},
): ReplicationOptions {
  return {
    ...{ dataFolder, url, key: BACKUP_KEY.toString('base64') },
    ...{ everyMs: 100, fullMs: 600_000, rate: 2 ** 26, spoolBytes: 2 ** 28, verifyMs: 86_400_000 },
    ...further,
  }
}

const running = new Set<ChildProcess>()

/** After each test: what it has not stopped. */
export function endWriters(): void {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
}

/** `pauseMs` is between two writes. */
export function startWriters(
  options: ReplicationOptions,
  { count = 2, pauseMs = 10, env = {} }: { count?: number; pauseMs?: number; env?: Record<string, string> } = {},
): Writers {
  const acknowledged: [number, number][] = []
  const log: string[] = []
  const read = (name: string, child: ChildProcess): void => {
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const [number = 0, at = 0] = line.split(' ').map(Number)
        if (line.startsWith('#')) log.push(line)
        else if (name === 'a') acknowledged.push([number, at])
      }
    })
  }
  const children = ['a', 'b', 'c'].slice(0, count).map((name) => {
    const given = name === 'a' ? JSON.stringify(options) : ''
    const child = spawn(process.execPath, [WRITER, options.dataFolder, given, name, String(pauseMs)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    })
    read(name, child)
    running.add(child)
    child.once('close', () => running.delete(child))
    return child
  })
  const end = (child: ChildProcess, how: () => void): Promise<void> => {
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    how()
    return closed
  }
  const listReplicators = () => children.flatMap(({ pid }) => (pid === undefined ? [] : listDescendants(pid)))
  return {
    acknowledged,
    log,
    logged: (message) => until(`«${message}» is logged`, 60_000, () => log.some((line) => line.includes(message))),
    async stop() {
      for (const child of children.toReversed()) await end(child, () => child.stdin?.write('stop\n'))
    },
    async kill() {
      const replicators = listReplicators()
      const closed = children.map((child) => end(child, () => child.kill('SIGKILL')))
      for (const pid of replicators) killOne(pid)
      await Promise.all(closed)
    },
    killReplicator() {
      for (const pid of listReplicators()) killOne(pid)
    },
  }
}

/** Those that its main thread has started, and so on. None where the system does not tell. */
export function listDescendants(pid: number): readonly number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
    return children.flatMap((child) => [child, ...listDescendants(child)])
  } catch {
    return []
  }
}

/** It may have ended by itself. */
function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

/**
 * Until everything of now can be restored. Something may commit all the time, such as the keeper of views, and then there is always a
 * change that is not stored yet.
 */
export async function untilStored(dataFolder: string): Promise<void> {
  const now = Date.now()
  await until('everything is stored', 60_000, () => {
    const { at = 0, moment = 0, behindSince, base } = readStatus(dataFolder) ?? {}
    return base !== undefined && (moment > now || (at > now && behindSince === undefined))
  })
}

/** Restores the databases as they were, without what a command does besides. Returns the moment. */
export async function restoreDatabases(target: Target, folder: string, at?: number): Promise<number> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  const catalogue = new Catalogue(target, BACKUP_KEY)
  const plan = await makePlan(catalogue, { at })
  await writeDatabases(catalogue, plan, folder)
  return plan.time
}

/** Each number is committed to the first database, then to the second, then to the third. */
export function assertOneMoment([first = 0, second = 0, third = 0]: readonly number[]): void {
  const isOne = first >= second && second >= third && first - third <= 1
  assert.ok(isOne, `${first}, ${second} and ${third} are not of one moment`)
}

/** The last number of the first writer in each database, all of which must have every number before it. */
export function readNumbers(folder: string): readonly number[] {
  return DATABASE_FILES.map((file) => {
    const database = new Sqlite(join(folder, file))
    try {
      assert.equal(database.pragma('quick_check(1)', { simple: true }), 'ok')
      const row = database
        .prepare<[], { count: number; last: number }>('select count(*) as count, max(n) as last from numbers_a')
        .get()
      assert.equal(row?.count, row?.last, `${file} has a hole`)
      return row?.last ?? 0
    } finally {
      database.close()
    }
  })
}
