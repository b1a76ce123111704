/** A server under load, brought back as of random instants: users, tables and feeds are of one moment, and the audit log's chain is whole. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { restoreMoment } from '../../packages/server/src/replication/restore/restore.ts'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { assertOneMoment, BACKUP_KEY } from '../support/replicated-folder.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const INSTANTS = 50
const LOAD_MS = 20_000

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-instants-'))
})
after(() => rm(scratch, { recursive: true, force: true }))

test(`${INSTANTS} random instants: all databases of one moment, what was acknowledged by then, and a whole audit log`, async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const target = join(scratch, 'target')
  const flags = { '--demo': 'true', '--backup-url': `file://${target}`, '--backup-key': BACKUP_KEY.toString('base64') }
  const server = await startTestServer(place, { flags: { ...flags, '--backup-every': '0.2' } })
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= server.stop())
  t.after(stop)
  const { access_token: token } = await signIn(server, ADMIN)
  const post = async (path: string, body: unknown) => {
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    const headers = { authorization: `Bearer ${token}`, 'content-type': type }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await fetch(`${server.issuer}${path}`, { method: 'POST', headers, body: text })
    const said = await reply.text()
    assert.ok(reply.ok, `${path}: ${reply.status} ${said}`)
  }
  await post('/query', 'CREATE TABLE numbers (n Integer PRIMARY KEY)')
  await post('/admin/feeds', {
    name: 'Numbers',
    class: 'Market',
    read: 'Platform/Market',
    write: 'Platform/Admin',
    keep: 'all',
    history: {},
  })
  const write = async (n: number) => {
    await post('/admin/roles', { name: `n-${n}`, scopes: [] })
    await post('/query', `INSERT INTO numbers VALUES (${n})`)
    await post('/feeds/Numbers/n', { n })
  }
  const acknowledged: number[] = []
  const next = async () => {
    await write(acknowledged.length + 1)
    acknowledged.push(Date.now())
  }
  await next()
  await until('there is a base', 60_000, () => readStatus(place.dataFolder)?.moment !== undefined)
  const from = Date.now()
  for (const end = from + LOAD_MS; Date.now() < end; ) await next()
  const to = Date.now()
  await sleep(100)
  await next()
  await stop()

  const moments = new Set<number>()
  for (let instant = 0; instant < INSTANTS; instant++) {
    const at = Math.round(from + Math.random() * (to - from))
    const dataFolder = join(scratch, `instant-${instant}`)
    // It refuses a broken chain.
    const { time } = await restoreMoment({ target: new FolderTarget(target), key: BACKUP_KEY, dataFolder, at })
    moments.add(time)
    assert.ok(time <= at)
    const numbers = readNumbers(dataFolder)
    assertOneMoment(numbers)
    const least = acknowledged.filter((when) => when < time).length
    const most = acknowledged.filter((when) => when <= time).length + 1
    assert.ok(
      numbers.every((number) => number >= least && number <= most),
      `${numbers} at ${time}: from ${least} to ${most}`,
    )
    await rm(dataFolder, { recursive: true })
  }
  t.diagnostic(`${acknowledged.length} numbers, ${moments.size} different moments`)
  assert.ok(moments.size > INSTANTS / 3, 'moments are about as fine as they are sent')
})

/** In the order in which each number is written. */
function readNumbers(folder: string): readonly number[] {
  const read = (file: string, statement: string): number => {
    const database = new Sqlite(join(folder, file), { readonly: true })
    try {
      return Number(database.prepare(statement).pluck().get() ?? 0)
    } finally {
      database.close()
    }
  }
  return [
    read('identity.db', "select count(*) from roles where name like 'n-%'"),
    read('query.db', 'select count(*) from numbers'),
    read('feeds.db', "select max(json_extract(data, '$.n')) from messages"),
  ]
}
