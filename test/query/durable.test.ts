/** No write of the embedded database is answered before it is on disk: the sync of its log is held back here, let go, or fails. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPlace } from '../support/engines.ts'
import { holdSyncs } from '../support/held-sync.ts'
import { type QueryServer, type Reply, startQueryServer } from './query-server.ts'

let server: QueryServer
let leave: () => Promise<void>
const held = holdSyncs()

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startQueryServer(opened.place)
  await server.query('CREATE TABLE notes (id Integer PRIMARY KEY, t Text)')
})
after(async () => {
  await server.stop()
  await leave()
})

/** Sends an insert; `status` is that of the answer, 0 before there is one. */
function insert(id: number, headers: Readonly<Record<string, string>> = {}) {
  const sent = { status: 0, reply: server.call('/query/notes/insert', { id, t: 'x' }, { headers }) }
  void sent.reply.then(({ status }) => {
    sent.status = status
  })
  return sent
}

async function untilHeld(count: number): Promise<void> {
  for (const end = performance.now() + 5000; held.length < count; await sleep(5))
    if (performance.now() > end) throw new Error(`${held.length} syncs were asked for, not ${count}`)
}

const idsFrom = (reply: Reply): unknown[] => reply.json.Rows.map(({ id }) => id)

test('an insert is answered after the sync that began behind its commit; those that come meanwhile share the next', async () => {
  const first = insert(1)
  await untilHeld(1)
  const next = [insert(2), insert(3), insert(4)]
  await sleep(50)
  assert.deepEqual([first.status, ...next.map(({ status }) => status), held.length], [0, 0, 0, 0, 1])
  held[0]?.(null)
  assert.equal((await first.reply).status, 200)
  await untilHeld(2)
  await sleep(20)
  assert.deepEqual([...next.map(({ status }) => status), held.length], [0, 0, 0, 2])
  held[1]?.(null)
  assert.deepEqual(await Promise.all(next.map(async ({ reply }) => (await reply).status)), [200, 200, 200])
})

test('while the disk is busy, lookups are answered', async () => {
  const unanswered = insert(5)
  await untilHeld(1)
  assert.deepEqual(idsFrom(await server.query('SELECT id FROM notes WHERE id = 1')), [1])
  assert.equal(unanswered.status, 0)
  held[0]?.(null)
  await unanswered.reply
})

test('neither a repeated key, a refusal nor a definition is answered before what it rests on is on disk', async () => {
  const headers = { 'idempotency-key': 'once' }
  const first = insert(6, headers)
  await untilHeld(1)
  const others = [insert(6, headers).reply, insert(6).reply, server.query('CREATE TABLE more (id Integer PRIMARY KEY)')]
  let answered = 0
  for (const other of others) void other.then(() => answered++)
  await sleep(50)
  assert.deepEqual([first.status, answered], [0, 0])
  held[0]?.(null)
  assert.equal((await first.reply).status, 200)
  await untilHeld(2)
  await sleep(20)
  assert.equal(answered, 0)
  held[1]?.(null)
  assert.deepEqual(
    (await Promise.all(others)).map(({ status }) => status),
    [200, 409, 200],
  )
})

test('a long write in its own process begins when the short ones before it are on disk', async () => {
  const short = insert(7)
  await untilHeld(1)
  let isOver = false
  const long = server.query("UPDATE notes SET t = 'y' WHERE t = 'x'")
  void long.then(() => {
    isOver = true
  })
  await sleep(300)
  assert.equal(isOver, false)
  held[0]?.(null)
  assert.equal((await short.reply).status, 200)
  assert.equal((await long).json.RowsAffected, 7)
})

test('a failed sync fails all who wait, and from then on nothing is written, though later syncs would succeed', async () => {
  assert.equal(await server.service.check(), undefined)
  const lost = [insert(8), insert(9)]
  await untilHeld(1)
  const behind = insert(10)
  await sleep(50)
  held[0]?.(Object.assign(new Error('i/o error'), { code: 'EIO' }))
  for (const { reply } of [...lost, behind]) {
    const { status, json } = await reply
    assert.deepEqual([status, json.Code], [503, 'Data.WritesStopped'])
  }
  assert.deepEqual(idsFrom(await server.query('SELECT id FROM notes WHERE id = 10')), [], 'not even begun')
  const refused = [
    await insert(11).reply,
    await server.query("UPDATE notes SET t = 'z' WHERE t = 'y'"),
    await server.query('DROP TABLE notes'),
  ]
  assert.deepEqual(
    refused.map(({ status, json }) => [status, json.Code]),
    refused.map(() => [503, 'Data.WritesStopped']),
  )
  assert.equal(held.length, 1, 'nobody asked for another sync')
  assert.equal((await server.query("SELECT count(*) AS n FROM notes WHERE t = 'y'")).json.Rows[0]?.n, 7)
  await assert.rejects(server.service.check(), /until the server is restarted/)
  assert.ok(
    server.log.some((line) => line.includes('i/o error')),
    'the log has the cause',
  )
})
