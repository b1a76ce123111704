/** No write of the embedded database is answered before it is on disk. The tests delay the sync of its log, complete it, or let it fail. */
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

/** Sends an insert; `status` is that of the response, 0 until there is one. */
function insert(id: number, headers: Readonly<Record<string, string>> = {}) {
  const sent = { status: 0, reply: server.call('/query/notes/insert', { id, t: 'x' }, { headers }) }
  void sent.reply.then(({ status }) => {
    sent.status = status
  })
  return sent
}

async function untilHeld(count: number): Promise<void> {
  for (const end = performance.now() + 5000; held.length < count; await sleep(5))
    if (performance.now() > end) throw new Error(`${held.length} syncs were started, not ${count}`)
}

const idsFrom = (reply: Reply): unknown[] => reply.json.Rows.map(({ id }) => id)

test('an insert is answered after the sync that follows its commit; inserts that arrive meanwhile share the next sync', async () => {
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

test('lookups are answered while a sync is running', async () => {
  const unanswered = insert(5)
  await untilHeld(1)
  assert.deepEqual(idsFrom(await server.query('SELECT id FROM notes WHERE id = 1')), [1])
  assert.equal(unanswered.status, 0)
  held[0]?.(null)
  await unanswered.reply
})

test('a repeated key, a unique violation and a definition are not answered before the commits they depend on are on disk', async () => {
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
  // One sync, or several if the requests arrived late.
  let ended = 1
  const ending = setInterval(() => {
    while (ended < held.length) held[ended++]?.(null)
  }, 5)
  const replies = await Promise.all(others).finally(() => clearInterval(ending))
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 409, 200],
  )
})

test('a long write in its own process starts when the short ones before it are on disk', async () => {
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

test('a failed sync fails all waiting writes, and no further writes are accepted, even if later syncs would succeed', async () => {
  const check = server.service.check()
  await untilHeld(1)
  held[0]?.(null)
  assert.equal(await check, undefined)
  const lost = [insert(8), insert(9)]
  await untilHeld(2)
  const behind = insert(10)
  await sleep(50)
  held[1]?.(Object.assign(new Error('i/o error'), { code: 'EIO' }))
  for (const { reply } of [...lost, behind]) {
    const { status, json } = await reply
    assert.deepEqual([status, json.Code], [503, 'Data.WritesStopped'])
  }
  assert.deepEqual(idsFrom(await server.query('SELECT id FROM notes WHERE id = 10')), [], 'it has not started')
  const refused = [
    await insert(11).reply,
    await server.query("UPDATE notes SET t = 'z' WHERE t = 'y'"),
    await server.query('DROP TABLE notes'),
  ]
  assert.deepEqual(
    refused.map(({ status, json }) => [status, json.Code]),
    refused.map(() => [503, 'Data.WritesStopped']),
  )
  assert.equal(held.length, 2, 'there is no other sync')
  assert.equal((await server.query("SELECT count(*) AS n FROM notes WHERE t = 'y'")).json.Rows[0]?.n, 7)
  await assert.rejects(server.service.check(), /until the server is restarted/)
  assert.ok(
    server.log.some((line) => line.includes('i/o error')),
    'the log has the cause',
  )
})
