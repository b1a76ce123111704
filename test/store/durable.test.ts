/** Nothing is acknowledged before it is on disk: the sync of the log is held back here, and let go. */
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, mock, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Generated, Kysely, sql } from 'kysely'
import { createSqliteDialect } from '../../src/store/sqlite-dialect.ts'

type Callback = (error: NodeJS.ErrnoException | null) => void

let folder: string
let db: Kysely<{ notes: { id: Generated<number>; text: string } }>
let held: Callback[] = []

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  db = new Kysely({ dialect: createSqliteDialect(join(folder, 'notes.db')) })
  await sql`create table notes (id integer primary key, text text)`.execute(db)
})
after(async () => {
  await db.destroy()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  held = []
  mock.method(fs, 'fdatasync', (_descriptor: number, callback: Callback) => held.push(callback))
  syncBuiltinESMExports()
})
afterEach(() => {
  mock.restoreAll()
  syncBuiltinESMExports()
})

/** Writes a note; `state` tells how far its writer has got. */
function write(text: string) {
  const writing = { state: 'waiting' }
  const settle = (state: string) => () => {
    writing.state = state
  }
  db.insertInto('notes').values({ text }).execute().then(settle('done'), settle('failed'))
  return writing
}

test('a write waits for the sync that begins after its commit, not for one that was under way', async () => {
  const first = write('first')
  await sleep(20)
  const second = write('second')
  await sleep(20)
  assert.deepEqual([first.state, second.state, held.length], ['waiting', 'waiting', 1])
  held[0]?.(null)
  await sleep(5)
  assert.deepEqual([first.state, second.state, held.length], ['done', 'waiting', 2])
  held[1]?.(null)
  await sleep(5)
  assert.equal(second.state, 'done')
})

test('a transaction is not over before its commit is on disk', async () => {
  let isOver = false
  const transaction = db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'third' }).execute())
  const over = transaction.then(() => {
    isOver = true
  })
  await sleep(20)
  assert.deepEqual([isOver, held.length], [false, 1])
  held[0]?.(null)
  await over
})

test('when the disk fails, the writer hears of it', async () => {
  const lost = write('lost')
  await sleep(20)
  held[0]?.(Object.assign(new Error('i/o error'), { code: 'EIO' }))
  await sleep(5)
  assert.equal(lost.state, 'failed')
})

test('a commit that could not be synced takes back nothing of the transaction after it', async () => {
  const unsynced = db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'unsynced' }).execute())
  const refused = assert.rejects(unsynced, /no space/)
  await sleep(20)
  let goOn = () => {}
  const next = db.transaction().execute(async (tx) => {
    await tx.insertInto('notes').values({ text: 'next, before' }).execute()
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
    await tx.insertInto('notes').values({ text: 'next, after' }).execute()
  })
  await sleep(20)
  held.shift()?.(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
  await refused
  goOn()
  await sleep(20)
  for (const callback of held.splice(0)) callback(null)
  await next
  const written = await db.selectFrom('notes').select('text').where('text', 'like', 'next%').execute()
  assert.deepEqual(written, [{ text: 'next, before' }, { text: 'next, after' }])
})
