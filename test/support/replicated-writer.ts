/**
 * A process, to be killed, that writes to the three databases of a data folder without pause, replicates them, and prints each number once
 * it is committed to all three. A second one writes without replicating.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite, { type Database } from 'better-sqlite3'
import { startReplication } from '../../packages/server/src/replication/replication.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'

const [dataFolder = '', given = '', name = 'a', pauseMs = '0'] = process.argv.slice(2)
const logger = createLogger({
  level: 'info',
  format: 'json',
  destination: { write: (line) => process.stdout.write(`# ${line}`) },
})
const replication = given === '' ? undefined : startReplication(JSON.parse(given), logger)

const databases = ['identity.db', 'query.db', 'feeds.db'].map((file) => open(join(dataFolder, file)))
// What some of them had committed when it was killed is written again.
let number = Math.min(...databases.map(readLast))
let isStopping = false
process.stdin.on('data', () => {
  isStopping = true
})

while (!isStopping) {
  number++
  for (const database of databases) write(database, number)
  process.stdout.write(`${number} ${Date.now()}\n`)
  await sleep(Number(pauseMs))
}
for (const database of databases) database.close()
await replication?.stop()
process.exit()

function open(path: string): Database {
  const database = new Sqlite(path, { timeout: 20_000 })
  database.pragma('journal_mode = wal')
  database.pragma('synchronous = normal')
  database.exec(`create table if not exists numbers_${name} (n integer primary key, text text)`)
  database.exec('create table if not exists rewritten (id integer primary key, text text)')
  return database
}

function readLast(database: Database): number {
  return Number(database.prepare(`select coalesce(max(n), 0) from numbers_${name}`).pluck().get())
}

/** Rows that stay, rows that are replaced, rows that are deleted, and now and then the whole file is written anew. */
function write(database: Database, next: number): void {
  const text = 'x'.repeat((next * 977) % 1_500)
  database
    .transaction(() => {
      database.prepare(`insert or replace into numbers_${name} values (?, ?)`).run(next, `${next}${text}`)
      database.prepare('insert or replace into rewritten values (?, ?)').run(next % 211, text)
      if (next % 97 === 0) database.prepare('delete from rewritten where id % 3 = ?').run(next % 3)
    })
    .immediate()
  if (next % 499 === 0 && name === 'a') database.exec('vacuum')
}
