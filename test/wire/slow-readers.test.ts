/** Clients that read slowly, or not at all, while the queries of others wait. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, ALICE, bearer, signIn } from '../support/demo-user.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { useServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { message, readCancelKey, sendCancel, signInTo } from '../support/wire-client.ts'
import { WireSession } from '../support/wire-session.ts'

const server = useServer({
  flags: {
    '--demo': 'true',
    '--wire-port': '0',
    '--wire-writes': 'true',
    '--query-stall': '2',
    '--query-concurrency': '2',
  },
})
const LONG =
  'SELECT count(*) AS n FROM trades a, trades b, trades c, trades d WHERE a.price + b.price > c.price + d.price'
/** A row that no buffer between the programs holds. */
const ROWS = "SELECT repeat('x', 15000000) AS a FROM instruments LIMIT 3"

/** ReadyForQuery ends what has arrived. */
const READY = /Z\0\0\0\x05I$/

async function waiting(): Promise<string> {
  const { access_token: token } = await signIn(server, ADMIN)
  const reply = await fetch(`http://127.0.0.1:${server.port}/metrics`, bearer(token))
  return /^gatehouse_queries_waiting.*$/m.exec(await reply.text())?.[0] ?? ''
}

/** While other queries wait, reads the rows for some seconds in this way, and then all that is left; returns the last replies. */
async function outcome(read: (socket: Socket) => Promise<unknown>, asked = [ROWS], end = READY): Promise<string> {
  const { client } = await signInTo(server.wirePort ?? 0, ALICE.username, ALICE.password)
  const { socket } = client
  socket.removeAllListeners('data')
  const others = await Promise.all(
    Array.from({ length: 6 }, () => WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)),
  )
  for (const other of others) other.client.send(message('Q', `${LONG}\0`))
  await until('queries wait', 10_000, async () => / [1-9]/.test(await waiting()))
  socket.pause()
  client.send(...asked.map((text) => message('Q', `${text}\0`)))
  await read(socket)
  let last = ''
  socket.on('data', (chunk: Buffer) => {
    last = (last + chunk.toString('latin1', Math.max(0, chunk.length - 400))).slice(-400)
  })
  socket.resume()
  await until('the end', 20_000, () => end.test(last))
  for (const each of [...others, client]) each.close()
  return last
}

test('a client that reads slowly but steadily within one row gets all of it', IN_LONG_RUNS, async () => {
  const slowly = async (socket: Socket) => {
    for (const end = performance.now() + 6_000; performance.now() < end; ) {
      socket.once('data', () => socket.pause())
      socket.resume()
      await sleep(100)
    }
  }
  assert.match(await outcome(slowly), /SELECT 3\0/)
})

test('a client that reads nothing is stopped, whatever it sends', IN_LONG_RUNS, async () => {
  const sending = async (socket: Socket) => {
    for (const end = performance.now() + 6_000; performance.now() < end; ) {
      socket.write(message('H'))
      await sleep(200)
    }
  }
  assert.match(await outcome(sending), /C57014\0/)
})

test('a client that reads none of its small results is not stopped: they take no reader from others', async () => {
  const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
  await session.query('CREATE TABLE texts (id Integer PRIMARY KEY, t Text)')
  await session.query(`INSERT INTO texts VALUES (1, '${'x'.repeat(50_000)}')`)
  const many = Array.from({ length: 500 }, () => 'SELECT t FROM texts WHERE id = 1')
  const waits = async (): Promise<void> => {
    await sleep(5_000)
    assert.equal((await session.query('SELECT id FROM texts WHERE id = 1')).rows.length, 1)
  }
  const last = "SELECT 'the last one' AS a FROM texts WHERE id = 1"
  await outcome(waits, [...many, last], /the last one.*Z\0\0\0\x05I$/s)
  session.close()
})

test('a write whose rows the client reads when its time is over, or after a CancelRequest, is answered as written', async () => {
  const port = server.wirePort ?? 0
  const session = await WireSession.open(port, ADMIN.username, ADMIN.password)
  const insertInto = (table: string): string =>
    `INSERT INTO ${table} SELECT a.id, repeat('x', 1000000) FROM trades a ORDER BY a.id LIMIT 12`
  for (const table of ['rehearsal', 'longrows'])
    await session.run(`CREATE TABLE ${table} (id Integer PRIMARY KEY, t Text)`)
  // The time of the write is over only after it, on a busy machine too.
  const began = performance.now()
  await session.run(insertInto('rehearsal'))
  const limitMs = Math.max(3_000, Math.ceil(5 * (performance.now() - began)))
  const { client, replies } = await signInTo(port, ADMIN.username, ADMIN.password)
  const { processId, key } = readCancelKey(replies)
  const { socket } = client
  socket.removeAllListeners('data')
  socket.pause()
  client.send(message('Q', `SET statement_timeout = ${limitMs}\0`))
  client.send(message('Q', `${insertInto('longrows')} RETURNING *\0`))
  const written = async () => Number((await session.run('SELECT count(*) AS n FROM longrows')).rows[0]?.[0])
  await until('it is committed', 10_000, async () => (await written()) === 12)
  // Until the rows fill the buffers between the programs.
  await sleep(500)
  await sendCancel(port, processId, key)
  await sleep(limitMs)
  let last = ''
  socket.on('data', (chunk: Buffer) => {
    last = (last + chunk.toString('latin1', Math.max(0, chunk.length - 400))).slice(-400)
  })
  socket.resume()
  await until('the end', 10_000, () => last.endsWith('Z\0\0\0\x05I'))
  assert.match(last, /INSERT 0 12\0/)
  for (const each of [client, session]) each.close()
})
