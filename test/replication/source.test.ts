/** The time of a look at the databases: what was committed before it is in the changes, and nothing later is. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { PageHash } from '../../packages/server/src/replication/log/page-sums.ts'
import { Source } from '../../packages/server/src/replication/ship/source.ts'
import { BACKUP_KEY } from '../support/replicated-folder.ts'

test('what is committed after the clock was read, and is part of the look, is not later than its moment', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-source-'))
  const databases = ['identity.db', 'query.db'].map((name) => {
    const database = new Sqlite(join(dataFolder, name))
    database.pragma('journal_mode = wal')
    database.exec('create table numbers (n integer primary key)')
    return database
  })
  const source = new Source({
    ...{ dataFolder, spoolBytes: 2 ** 26, hash: new PageHash(BACKUP_KEY, 'generation'), since: 0 },
    ...{ loadSums() {}, onFull() {}, onGap() {} },
  })
  t.after(async () => {
    source.close()
    for (const database of databases) database.close()
    await rm(dataFolder, { recursive: true })
  })
  source.look()
  while (source.compare());
  source.changes.clear()
  assert.ok(source.isComplete)

  const clock = Date.now
  let committedAt = 0
  let commits = 0
  t.mock.method(Date, 'now', () => {
    const read = clock()
    if (commits < 3) {
      const database = databases[commits++ % 2]
      while (clock() < read + 3);
      committedAt = clock()
      database?.prepare('insert into numbers values (?)').run(commits)
    }
    return read
  })
  source.look()
  t.mock.restoreAll()
  assert.ok(source.isComplete)
  assert.ok(source.moment >= committedAt, `${committedAt - source.moment} ms before what it has`)
  assert.equal(commits, 3, 'while it looked for a moment')
  assert.deepEqual([...source.changes.pages.keys()].sort(), ['identity.db', 'query.db'])
})
