/** Rows that were erased: what the backup still has of them, for how long, and that no trace is left after `gatehouse compact --all`. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { basesFolder, isManifest } from '../../packages/server/src/replication/objects/names.ts'
import { decodePart, type Pages } from '../../packages/server/src/replication/objects/segment.ts'
import { Catalogue } from '../../packages/server/src/replication/restore/catalogue.ts'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { type RunningProcess, runGatehouse, serveProcess } from '../support/process.ts'
import {
  BACKUP_KEY,
  endWriters,
  replicationOptions,
  restoreDatabases,
  startWriters,
  untilStored,
} from '../support/replicated-folder.ts'
import { until } from '../support/until.ts'

const PERSON = 'the address of a person who asks to be forgotten'

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-erasure-'))
})
afterEach(endWriters)
after(() => rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))

test('erased rows are in moments before only, and after compact --all and backup_keep_days nowhere', async () => {
  const [data, folder] = [join(scratch, 'data'), join(scratch, 'target')]
  const url = `file://${folder}`
  const serve = () =>
    serveProcess(['--demo', '--data', data, '--backup-url', url, '--backup-key', BACKUP_KEY.toString('base64')])
  const first = await serve()
  const call = await administer(first)
  // Without a change log, which has deleted rows for live_log_time.
  await call('/query', 'CREATE TABLE orders (id Integer PRIMARY KEY, customer Text NOT NULL) WITH (live = off)')
  await call('/query', 'CREATE INDEX orders_customer ON orders (customer)')
  // Enough that pages are split, and half of them are hers.
  for (let start = 0; start < 2_000; start += 200) {
    const rows = Array.from({ length: 200 }, (_row, at) => start + at)
    const values = rows.map((id) => `(${id}, '${id % 2 === 0 ? PERSON : 'somebody'} ${(id * 7919) % 2_000}')`)
    await call('/query', `INSERT INTO orders VALUES ${values.join(', ')}`)
  }
  await untilStored(data)
  const before = Date.now()
  const erased = await call('/admin/retention/orders/erase', {
    ...{ where: 'customer LIKE :c', parameters: { c: `${PERSON}%` }, reason: 'request 12' },
  })
  assert.equal(JSON.parse(erased).Rows, 1_000)
  await untilStored(data)
  await first.stop()

  const now = await restored(folder)
  assert.equal(count(now), 1_000)
  // As documented: the bytes stay in the file until they are overwritten.
  assert.ok(await hasTrace(now))
  assert.equal(count(await restored(folder, before)), 2_000)

  const compacted = await runGatehouse(['compact', '--all', '--data', data])
  assert.equal(compacted.status, 0, compacted.stderr)
  assert.ok(!(await hasTrace(data)))
  // Nothing but time is left to pass: bases and segments from before are deleted.
  const timing = { periods: [200, 400], ages: [400, 800], mergeEveryMs: 100, removeEveryMs: 200 } as const
  const options = replicationOptions(data, url, { fullMs: 1_000, keepMs: 2_000, timing })
  const writers = startWriters(options, { count: 1, pauseMs: 100 })
  const target = new FolderTarget(folder)
  assert.ok(await hasObjectWithTrace(target))
  await until('no object has a trace', 60_000, async () => !(await hasObjectWithTrace(target)))
  await writers.stop()
  await assert.rejects(restored(folder, before))
  const last = await restored(folder)
  assert.equal(count(last), 1_000)
  assert.ok(!(await hasTrace(last)))
})

async function administer(server: RunningProcess): Promise<(path: string, body: unknown) => Promise<string>> {
  const { access_token: token } = await signIn(server, ADMIN)
  return async (path, body) => {
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    const headers = { authorization: `Bearer ${token}`, 'content-type': type }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await fetch(`${server.issuer}${path}`, { method: 'POST', headers, body: text })
    const said = await reply.text()
    assert.equal(reply.status, 200, `${path}: ${said}`)
    return said
  }
}

async function restored(folder: string, at?: number): Promise<string> {
  const path = await mkdtemp(join(scratch, 'restored-'))
  await restoreDatabases(new FolderTarget(folder), path, at)
  return path
}

async function hasTrace(folder: string): Promise<boolean> {
  return (await readFile(join(folder, 'query.db'))).includes(PERSON)
}

/** Whether any base or segment has, of those that are not deleted meanwhile. */
async function hasObjectWithTrace(target: FolderTarget): Promise<boolean> {
  const catalogue = new Catalogue(target, BACKUP_KEY)
  const [generation = ''] = await target.folders()
  const isIn = (pages: Pages) =>
    [...pages.values()].some((own) => [...own.values()].some((page) => page.includes(PERSON)))
  const found: Pages[] = []
  for await (const name of target.list(basesFolder(generation))) {
    const content = isManifest(name) ? undefined : await catalogue.open(name).catch(ifMissing)
    if (content !== undefined) found.push(decodePart(name, content))
  }
  for (const name of await catalogue.segments(generation)) {
    const segment = await catalogue.segment(generation, name).catch(ifMissing)
    if (segment !== undefined) found.push(segment.pages)
  }
  return found.some(isIn)
}

function ifMissing(error: unknown): undefined {
  if (!String(error).includes('is missing')) throw error
}

function count(folder: string): number {
  const database = new Sqlite(join(folder, 'query.db'), { readonly: true })
  try {
    return Number(database.prepare('select count(*) from orders').pluck().get())
  } finally {
    database.close()
  }
}
