/** No write is acknowledged before it is on disk: these tests hold back fdatasync of the WAL. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Generated, Kysely, sql } from 'kysely'
import { createSqliteDialect, type SqliteDialect } from '../../packages/server/src/store/database/sqlite-dialect.ts'
import { WritesStopped } from '../../packages/server/src/store/database/wal-sync.ts'
import { holdSyncs } from '../support/held-sync.ts'

let folder: string
let dialect: SqliteDialect
let db: Kysely<{ notes: { id: Generated<number>; text: string } }>
const held = holdSyncs()

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  dialect = createSqliteDialect(join(folder, 'notes.db'))
  db = new Kysely({ dialect })
  await sql`create table notes (id integer primary key, text text)`.execute(db)
})
after(async () => {
  await db.destroy()
  await rm(folder, { recursive: true, force: true })
})

/** Writes a note; `state` follows its progress. */
function write(text: string) {
  const writing = { state: 'waiting' }
  const settle = (state: string) => () => {
    writing.state = state
  }
  db.insertInto('notes').values({ text }).execute().then(settle('done'), settle('failed'))
  return writing
}

test('a write waits for a sync that begins after its commit, not for one that was already running', async () => {
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

test('a transaction resolves only when its commit is on disk', async () => {
  let isDone = false
  const transaction = db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'third' }).execute())
  const done = transaction.then(() => {
    isDone = true
  })
  await sleep(20)
  assert.deepEqual([isDone, held.length], [false, 1])
  held[0]?.(null)
  await done
})

test('a failed sync fails every waiting write, and all writes from then on, even if later syncs would succeed', async () => {
  const lost = write('lost')
  await sleep(20)
  const unsynced = db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'unsynced' }).execute())
  const refused = assert.rejects(unsynced, WritesStopped)
  await sleep(20)
  let goOn = () => {}
  const open = db.transaction().execute(async (tx) => {
    await tx.insertInto('notes').values({ text: 'open' }).execute()
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
  })
  const waiting = [1, 2].map(() =>
    assert.rejects(
      db.transaction().execute((tx) => tx.insertInto('notes').values({ text: 'waiting' }).execute()),
      WritesStopped,
    ),
  )
  await sleep(20)
  dialect.checkWrites()
  held[0]?.(Object.assign(new Error('i/o error'), { code: 'EIO' }))
  await refused
  assert.equal(lost.state, 'failed')
  goOn()
  await assert.rejects(open, /notes\.db; nothing is written to it until the server is restarted/)
  await Promise.all(waiting)
  const later = write('later')
  await sleep(20)
  assert.deepEqual([later.state, held.length], ['failed', 1])
  const texts = (await db.selectFrom('notes').select('text').execute()).map(({ text }) => text)
  assert.deepEqual(texts, ['first', 'second', 'third', 'lost', 'unsynced'], 'committed rows may stay')
  assert.throws(() => dialect.checkWrites(), WritesStopped)
})
