/** A gigabyte of databases, and a day of their segments, in a folder: what a restore reads. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import Sqlite from 'better-sqlite3'
import type { ReplicationOptions } from '../../packages/server/src/replication/options.ts'
import { type Checkout, serve } from './checkout.ts'
import { benchPath, newPort } from './program.ts'

const SPEED = 288
const DAY_MS = 86_400_000
const WRITE_EVERY_MS = 20
const ROWS_AT_ONCE = 5

export interface ReplicatedDay {
  readonly data: string
  readonly copy: string
  /** In Base64. */
  readonly key: string
}

/** Rows that do not compress, and a day in which some of them change 14,000 times an hour of its clock. */
export async function replicateDay(checkout: Checkout, folder: string, mebibytes: number): Promise<ReplicatedDay> {
  const [data, copy] = [`${folder}/data`, `${folder}/copy`]
  const key = Buffer.alloc(32, 1).toString('base64')
  const port = newPort()
  const flags = {
    '--demo': 'true',
    '--demo-market': 'false',
    '--port': String(port),
    '--log-level': 'warn',
    '--data': data,
  }
  const server = await serve(checkout, flags, { readyAt: `http://127.0.0.1:${port}/readyz` })
  await server.stop()
  const database = new Sqlite(`${data}/query.db`)
  database.pragma('journal_mode = wal')
  database.exec(`create table history (id integer primary key, content blob);
    insert into history with recursive n(i) as (select 1 union all select i + 1 from n where i < ${mebibytes * 1024})
    select i, randomblob(1000) from n`)
  const replicator = startReplicator({
    ...{ dataFolder: data, url: pathToFileURL(copy).href, key, everyMs: 100, fullMs: 10 * DAY_MS, rate: 2 ** 30 },
    ...{ spoolBytes: 2 ** 30, verifyMs: 100 * DAY_MS, timing: { mergeEveryMs: 200 } },
  })
  await replicator.logged('a base of the backup is stored')
  const change = database.prepare('update history set content = randomblob(1000) where id = ?')
  const end = performance.now() + DAY_MS / SPEED
  while (performance.now() < end) {
    database.transaction(() => {
      for (let row = 0; row < ROWS_AT_ONCE; row++) change.run(1 + Math.floor(Math.random() * mebibytes * 1024))
    })()
    await sleep(WRITE_EVERY_MS)
  }
  database.close()
  await replicator.stop()
  process.stderr.write(`${mebibytes} MiB, and a day of segments\n`)
  return { data, copy, key }
}

function startReplicator(options: ReplicationOptions) {
  const program = benchPath('../packages/server/src/replication/replicator-main.ts')
  const preload = pathToFileURL(benchPath('support/fast-clock.ts')).href
  const child = spawn(process.execPath, ['--import', preload, program], {
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
    env: { ...process.env, BENCH_CLOCK_SPEED: String(SPEED) },
  })
  child.stdin?.write(`${JSON.stringify(options)}\n`)
  return {
    logged: (message: string) => waitForLine(child, message),
    async stop(): Promise<void> {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.stdin?.end('stop\n')
      await ended
    },
  }
}

function waitForLine(child: ChildProcess, message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('The replicating process has ended')))
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes(message)) resolve()
      else if (line.includes('"error"')) process.stderr.write(`${line}\n`)
    })
  })
}
