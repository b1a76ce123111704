/** Group commit of the SQLite driver: writes share commits, fail separately, and wait for an open transaction. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { type Generated, Kysely, sql } from 'kysely'
import { GroupCommit } from '../../packages/server/src/store/database/group-commit.ts'
import { createSqliteDialect } from '../../packages/server/src/store/database/sqlite-dialect.ts'

interface Notes {
  notes: { id: Generated<number>; text: string }
}

let folder: string
let db: Kysely<Notes>

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  db = new Kysely<Notes>({ dialect: createSqliteDialect(join(folder, 'notes.db')) })
  await sql`create table notes (id integer primary key, text text not null unique)`.execute(db)
})
after(async () => {
  await db.destroy()
  await rm(folder, { recursive: true, force: true })
})

test('of several writes in one commit, only the invalid one fails', async () => {
  const results = await Promise.allSettled(
    ['a', 'b', 'a', 'c'].map((text) => db.insertInto('notes').values({ text }).execute()),
  )
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(await texts(), ['a', 'b', 'c'])
})

test('writes of different owners take turns, and a group that takes long leaves the rest for the next', async () => {
  const file = join(folder, 'turns.db')
  const database = new Sqlite(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  const commits = new GroupCommit(database, file)
  const ran: string[] = []
  const write = (owner: string, name: string): Promise<void> =>
    commits.write(
      () => {
        ran.push(name)
        for (const end = performance.now() + 25; performance.now() < end; );
      },
      { owner },
    )
  const [first, ...others] = [write('a', 'a1'), write('a', 'a2'), write('a', 'a3'), write('b', 'b1')]
  await first
  assert.deepEqual(ran, ['a1'], 'the first is acknowledged before the others run')
  await Promise.all(others)
  assert.equal(ran.indexOf('b1') < ran.indexOf('a3'), true, ran.join())
  await commits.close()
  database.close()
})

test('with other workers: a write that waits for their lock can be stopped, and one that does not wait never reads the signal', async () => {
  const file = join(folder, 'shared.db')
  const [database, other] = [new Sqlite(file), new Sqlite(file)]
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.pragma('busy_timeout = 0')
  const commits = new GroupCommit(database, file, { committed() {}, waiting() {} })
  const unread = {
    get signal(): AbortSignal {
      throw new Error('A signal costs more than the write')
    },
  }
  assert.equal(await commits.write(() => 'at once', { running: unread }), 'at once')
  other.exec('BEGIN IMMEDIATE')
  const [early, late, kept] = [new AbortController(), new AbortController(), new AbortController()]
  early.abort(new Error('before the wait'))
  const stopped = assert.rejects(
    commits.write(() => 'early', { running: early }),
    /before the wait/,
  )
  const stoppedLater = assert.rejects(
    commits.write(() => 'late', { running: late }),
    /during the wait/,
  )
  const written = commits.write(() => 'kept', { running: kept })
  await stopped
  late.abort(new Error('during the wait'))
  await stoppedLater
  const joined = commits.write(() => 'joined', { running: late })
  await assert.rejects(joined, /during the wait/)
  other.exec('ROLLBACK')
  assert.equal(await written, 'kept')
  assert.equal(await commits.write(() => 'at once', { running: unread }), 'at once')
  await commits.close()
  database.close()
  other.close()
})

test('of concurrent deletes of a row, one gets it', async () => {
  await db.insertInto('notes').values({ text: 'single use' }).execute()
  const spends = await Promise.all(
    Array.from({ length: 50 }, () =>
      db.deleteFrom('notes').where('text', '=', 'single use').returning('id').executeTakeFirst(),
    ),
  )
  assert.equal(spends.filter((row) => row !== undefined).length, 1)
})

test('a read does not see an open transaction, and a write waits for its end', async () => {
  const waiting: Promise<unknown>[] = []
  await db.transaction().execute(async (tx) => {
    await tx.insertInto('notes').values({ text: 'inside' }).execute()
    assert.equal((await texts()).includes('inside'), false)
    waiting.push(db.insertInto('notes').values({ text: 'outside' }).execute())
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal((await texts()).includes('outside'), false)
  })
  await Promise.all(waiting)
  assert.deepEqual((await texts()).slice(-2), ['inside', 'outside'])
})

test('a transaction that throws is rolled back, and the next one runs', async () => {
  const before = await texts()
  const failing = db.transaction().execute(async (tx) => {
    await tx.insertInto('notes').values({ text: 'undone' }).execute()
    throw new Error('changed my mind')
  })
  const next = db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'kept' }).execute())
  await assert.rejects(failing, /changed my mind/)
  await next
  assert.deepEqual(await texts(), [...before, 'kept'])
})

test('a failed commit is rolled back before the next transaction begins', async () => {
  await sql`create table replies (note integer references notes (id) deferrable initially deferred)`.execute(db)
  const orphan = db.transaction().execute((tx) => sql`insert into replies values (999999)`.execute(tx))
  const next = db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'after a failure' }).execute())
  await assert.rejects(orphan, /FOREIGN KEY/)
  await next
  assert.ok((await texts()).includes('after a failure'))
  assert.deepEqual((await sql`select * from replies`.execute(db)).rows, [])
})

async function texts(): Promise<string[]> {
  return (await db.selectFrom('notes').select('text').orderBy('id').execute()).map(({ text }) => text)
}
