/** Searches, pages and counts among many users on both engines: `node fuzz/users.ts [users] [sqlite|postgres]`, a million by default. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { SearchHit } from '../packages/server/src/store/accounts/user-search.ts'
import { countRows } from '../packages/server/src/store/database/counts.ts'
import { type Database, type Engine, openDatabase } from '../packages/server/src/store/database/database.ts'
import { userSearch } from '../packages/server/src/store/database/migrations.ts'
import { createStores, type Stores } from '../packages/server/src/store/stores.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../test/support/postgres.ts'
import { FIRST, fillUsers, LAST } from './fill-users.ts'

const SEARCHES = 400
const PAGE = 20

const users = Number(process.argv[2] ?? 1_000_000)
const engines = (process.argv[3] === undefined ? ['sqlite', 'postgres'] : [process.argv[3]]) as Engine[]
for (const engine of engines) await measure(engine)
process.exit(0)

async function measure(engine: Engine): Promise<void> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'gatehouse-users-'))
  const postgres = engine === 'postgres' ? await createPostgresDatabase() : undefined
  const database = await openDatabase({ dataFolder, url: postgres?.url ?? '' })
  try {
    const stores = createStores(database, Date.now)
    const filled = await timed(() => fillUsers(database, users))
    console.log(`${engine}: ${users} users, inserted in ${(filled / 1000).toFixed(1)} s`)
    await dropKeys(database)
    const migrated = await timed(() => database.db.transaction().execute((tx) => userSearch.up(tx)))
    console.log(`  migration of their keys: ${(migrated / 1000).toFixed(1)} s`)
    if (engine === 'postgres') await sql`analyze users`.execute(database.db)
    const found = { hits: 0 }
    report('search, first page', await repeat(SEARCHES, () => search(stores, randomPrefix(), found)))
    report('search that finds nobody', await repeat(SEARCHES, () => search(stores, `qx${Math.random()}`, found)))
    report('search, 200 pages in a row', await followPages(stores))
    report('list by the beginning of the username', await repeat(SEARCHES, () => list(stores)))
    report('count of users, up to 10,000', await repeat(50, () => countRows(database.db, 'users')))
    console.log(`  ${found.hits} users found`)
  } finally {
    await database.close()
    await postgres?.drop()
    if (postgres !== undefined) await stopOwnPostgres()
    rmSync(dataFolder, { recursive: true, force: true })
  }
}

/** Back to the schema without them. */
async function dropKeys({ db }: Database): Promise<void> {
  const columns = ['name_key', 'family_key', 'email_key']
  for (const column of columns) await db.schema.dropIndex(`users_by_${column}`).execute()
  for (const column of columns) await db.schema.alterTable('users').dropColumn(column).execute()
}

function randomPrefix(): string {
  const name = `${any(FIRST)} ${any(LAST)} ${Math.ceil(Math.random() * users)}`
  const text = any([name, any(LAST), `${any(FIRST)}.${Math.ceil(Math.random() * users)}@`, `u${Math.random()}`])
  return text.slice(0, 1 + Math.floor(Math.random() * 12))
}

async function search(stores: Stores, text: string, found: { hits: number }): Promise<void> {
  found.hits += (await stores.users.search(text, { limit: PAGE })).users.length
}

async function followPages({ users: store }: Stores): Promise<number[]> {
  const times: number[] = []
  let after: SearchHit | undefined
  for (let page = 0; page < 200; page++) {
    times.push(
      await timed(async () => {
        after = (await store.search('a', { limit: PAGE, after })).next
      }),
    )
  }
  return times
}

async function list({ users: store }: Stores): Promise<void> {
  await store.list({ prefix: `u${Math.ceil(Math.random() * 999)}`, limit: PAGE })
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<number[]> {
  const results: number[] = []
  for (let time = 0; time < times; time++) results.push(await timed(work))
  return results
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function report(what: string, milliseconds: readonly number[]): void {
  const sorted = milliseconds.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1)
  console.log(`  ${what}: median ${at(0.5)} ms, 99 % ${at(0.99)} ms, slowest ${at(1)} ms`)
}

function any<T>(values: readonly T[]): T {
  const value = values[Math.floor(Math.random() * values.length)]
  if (value === undefined) throw new Error('unreachable: the list is not empty')
  return value
}
