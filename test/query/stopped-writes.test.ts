/** Long writes that are stopped, or whose process is killed, while they commit: an error means that nothing was written. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import {
  prepareCommitRecords,
  recordCommit,
  wasCommitted,
} from '../../packages/server/src/query/engines/sqlite/write/commit-records.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { count, csv, post } from './bulk-requests.ts'
import { createNums } from './nums.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

/** Enough pages for a checkpoint of many milliseconds, which SQLite makes within the COMMIT, when others see the rows already. */
const ROWS = 40_000
const COPY = `INSERT INTO copies SELECT a.n * 5000 + b.n, a.t || b.t FROM nums a CROSS JOIN nums b WHERE a.n < ${ROWS / 5000}`

let server: QueryServer
let place: TestPlace
let leave: () => Promise<void>
let writer: number
let isClosed = false

before(async () => {
  ;({ place, leave } = await openPlace('sqlite'))
  server = await startQueryServer(place, { limits: { writeWaitMs: 1 } })
  await createNums(server)
  await run("CREATE TABLE others (id Integer PRIMARY KEY) WRITE SCOPE 'Platform/Market'")
})
beforeEach(async () => {
  for (const table of ['copies', 't']) await run(`DROP TABLE IF EXISTS ${table}`)
  await run('CREATE TABLE copies (id Integer PRIMARY KEY, t Text)')
  await run('CREATE TABLE t (id Integer PRIMARY KEY, a Text, b Text)')
  // A long write, which starts the process if it does not run.
  await run('UPDATE nums SET t = t ALL')
  writer = writerProcess()
})
after(async () => {
  // What is closed already cannot be closed again.
  await server.stop().catch((error) => assert.ok(isClosed, error))
  await leave()
})

async function run(statement: string, as = 'admin'): Promise<void> {
  const { status, text } = await server.query(statement, { as })
  assert.equal(status, 200, text)
}

function writerProcess(): number {
  const found = readdirSync('/proc').filter((pid) => {
    try {
      const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
      return Number(parent) === process.pid && /\0write\0$/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
    } catch {
      return false
    }
  })
  assert.equal(found.length, 1, 'one writer process')
  return Number(found[0])
}

/** In a thread, because the server runs in this one. */
const SIGNAL_WHEN_VISIBLE = `
  const { workerData } = require('node:worker_threads')
  const reader = new (require(workerData.module))(workerData.file, { readonly: true })
  const find = reader.prepare('SELECT 1 FROM ' + workerData.table + ' LIMIT 1')
  const end = Date.now() + 20_000
  while (find.get() === undefined) if (Date.now() > end) throw new Error('no row became visible')
  process.kill(workerData.pid, workerData.signal)
`

/** Sends the signal to the writer process when another connection sees a row of the table, which is before COMMIT returns. */
async function whenVisible(table: string, signal: NodeJS.Signals): Promise<void> {
  const module = createRequire(import.meta.url).resolve('better-sqlite3')
  const workerData = { module, file: join(place.dataFolder, 'query.db'), table, pid: writer, signal }
  await once(new Worker(SIGNAL_WHEN_VISIBLE, { eval: true, workerData }), 'exit')
}

/** Stops a write that has committed, before its process can report it. */
async function stopLate(table: string, stop: () => unknown): Promise<void> {
  await whenVisible(table, 'SIGSTOP')
  const stopped = stop()
  await sleep(100)
  try {
    process.kill(writer, 'SIGCONT')
  } catch {
    // It was killed.
  }
  await stopped
}

const WAYS: readonly (readonly [name: string, stop: (id: string) => unknown])[] = [
  ['its caller cancels it', (id) => server.call(`/query/${id}`, undefined, { method: 'DELETE' })],
  ['the service stops', () => server.service.running.stopAll()],
  ['a write of another user has waited for it', () => run('INSERT INTO others VALUES (1)', 'market')],
]

for (const [index, [name, stop]] of WAYS.entries()) {
  test(`a write that has committed when ${name} is answered as written`, async () => {
    const id = `late-${index}`
    const late = stopLate('copies', () => stop(id))
    const { status, json, text } = await server.query(COPY, { headers: { 'request-id': id } })
    await late
    assert.deepEqual([status, json.RowsAffected], [200, ROWS], text)
    assert.equal(await count(server.url, 'copies'), ROWS)
    assert.match(server.metrics.render(), /gatehouse_query_writes_stopped_total 0/)
  })
}

test('a bulk insert that has committed when it is stopped is answered as written', async () => {
  const late = stopLate('t', () => server.service.running.stopAll())
  const { status, json } = await post(server.url, '/query/t/insert', 'text/csv', csv(ROWS, 100))
  await late
  assert.deepEqual([status, json.RowsAffected], [200, ROWS], JSON.stringify(json))
  assert.equal(await count(server.url), ROWS)
})

test('a write whose process is killed when it has committed is answered as written, with the rows that it returns', async () => {
  const killed = whenVisible('copies', 'SIGKILL')
  const { status, json, text } = await server.query(`${COPY} RETURNING id`)
  await killed
  assert.deepEqual([status, json.RowsAffected, json.Rows?.length], [200, ROWS, json.RowCount], text.slice(0, 500))
  assert.equal(await count(server.url, 'copies'), ROWS)
})

test('a write whose process is killed before it commits has failed, and nothing is written', async () => {
  const written = server.query(COPY)
  await sleep(20)
  process.kill(writer, 'SIGKILL')
  const { status } = await written
  assert.equal(status, 500)
  assert.equal(await count(server.url, 'copies'), 0)
})

test('a check is not added when ADD CHECK is stopped while it reads the rows again', async () => {
  await run('INSERT INTO others SELECT n FROM nums WHERE n > 1')
  const file = new Sqlite(join(place.dataFolder, 'query.db'), { readonly: true })
  const find = file.prepare("SELECT definition FROM _gh_tables WHERE key = 'others'").pluck()
  const hasCheck = (): boolean => /id *>= *0/.test(String(find.get()))
  const addAndStop = async () => {
    const added = server.query('ALTER TABLE others ADD CONSTRAINT positive CHECK (id >= 0)')
    for (const end = Date.now() + 10_000; !hasCheck() && Date.now() < end; ) await immediate()
    server.service.running.stopAll()
    return added
  }
  let reply = await addAndStop()
  // On a busy machine it may have read all rows before it was stopped.
  for (let attempt = 0; reply.status === 200 && attempt < 10; attempt++) {
    await run('ALTER TABLE others DROP CONSTRAINT positive')
    reply = await addAndStop()
  }
  assert.equal(reply.status, 503, reply.text)
  assert.ok(!hasCheck(), 'the check is removed')
  file.close()
})

test('a write that is not found to be committed cannot be committed later', () => {
  const database = new Sqlite(':memory:')
  prepareCommitRecords(database)
  assert.equal(recordCommit(database, 'committed'), true)
  assert.equal(wasCommitted(database, 'committed'), true)
  assert.equal(wasCommitted(database, 'lost'), false)
  assert.equal(recordCommit(database, 'lost'), false)
  for (let index = 0; index < 2000; index++) recordCommit(database, `later ${index}`)
  assert.equal(database.prepare('SELECT count(*) FROM _gh_commits').pluck().get(), 1000)
  database.close()
})

test('a service that closes waits for a write that commits, and answers it as written', async () => {
  const closed = stopLate('copies', () => server.service.close())
  const { status, json, text } = await server.query(COPY)
  await closed
  isClosed = true
  assert.deepEqual([status, json.RowsAffected], [200, ROWS], text)
})
