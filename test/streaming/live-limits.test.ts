/** The limits of live statements over the wire, names of topics, rows longer than a piece, the audit log, and connections that end. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { unpackMessage } from '../../packages/server/src/streaming/codec/message-pack.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

type Message = Record<string, unknown>

onEveryEngineInLongRuns('limits of live statements on the wire', (place) => {
  let server: TestServer
  let admin: string
  let alice: string
  const clients: StreamClient[] = []
  before(async () => {
    server = await startTestServer(place(), {
      flags: {
        '--demo': 'true',
        '--demo-market': 'false',
        '--stream-drain-time': '0',
        '--live-statements-per-connection': '2',
        '--live-statements-per-user': '3',
        '--live-statements': '4',
        '--live-rows': '5',
      },
    })
    admin = (await signIn(server, ADMIN)).access_token
    alice = (await signIn(server)).access_token
    await write("CREATE TABLE few (id Integer PRIMARY KEY, t Text) READ SCOPE 'Platform/Market'")
    await write("INSERT INTO few VALUES (1, 'a'), (2, 'b')")
  })
  after(async () => {
    for (const { socket } of clients) socket.terminate()
    await server.stop()
  })

  const call = async (method: string, path: string, body?: string, type = 'text/plain'): Promise<Message> => {
    const reply = await fetch(server.issuer + path, {
      method,
      headers: { authorization: `Bearer ${admin}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    })
    const text = await reply.text()
    assert.ok(reply.ok, text)
    return text === '' ? {} : JSON.parse(text)
  }
  const write = (statement: string) => call('POST', '/query', statement)
  const open = async (token = alice): Promise<StreamClient> => {
    const stream = await connect(server.port, { ...bearer(token), protocols: ['PlatformJson'] })
    clients.push(stream)
    return stream
  }
  const sub = (name: string, Statement = 'SELECT id FROM few') => ({
    Controller: 'Query',
    Topic: `Live/${name}`,
    Action: 'Sub',
    Data: { Statement },
  })
  const first = async (client: StreamClient, name: string, statement?: string): Promise<unknown> => {
    client.send(sub(name, statement))
    const { Data } = await client.next()
    return typeof Data === 'object' && Data !== null && 'Kind' in Data ? Data.Kind : Data
  }
  const closed = async (...streams: readonly StreamClient[]): Promise<void> => {
    for (const { socket } of streams) socket.close()
    await until('their statements have ended', 10_000, async () => {
      const { items } = await call('GET', '/admin/queries')
      return Array.isArray(items) && items.length === 0
    })
  }
  const events = (token: string, statement = 'SELECT id FROM few') =>
    openEvents(`${server.issuer}/query`, { token, headers: { 'content-type': 'text/plain' }, body: statement })

  test('of a connection, a user and a node; who leaves makes room', async () => {
    const [a, b] = [await open(), await open()]
    assert.deepEqual(
      [await first(a, '1'), await first(a, '2'), await first(a, '3')],
      ['Snapshot', 'Snapshot', 'Limited live statements'],
    )
    assert.deepEqual([await first(b, '1'), await first(b, '2')], ['Snapshot', 'Limited live statements'])
    const refused = await events(alice)
    assert.equal(refused.status, 429)
    const other = await events(admin)
    assert.equal((await other.next()).event, 'snapshot')
    const c = await open(admin)
    assert.equal(await first(c, '1'), 'Limited live statements')
    a.send({ Controller: 'Query', Topic: 'Live/1', Action: 'Unsub', Confirm: true })
    assert.equal((await a.next()).Action, 'Unsub')
    assert.deepEqual([await first(c, '1'), await first(a, '1')], ['Snapshot', 'Limited live statements'])
    other.close()
    await closed(a, b, c)
    const again = await open()
    assert.deepEqual([await first(again, '1'), await first(again, '2')], ['Snapshot', 'Snapshot'])
    await closed(again)
  })

  test('rows beyond the limit: at once, and later', async () => {
    const client = await open()
    assert.equal(await first(client, 'a'), 'Snapshot')
    const stream = await events(alice)
    await stream.next()
    await write("INSERT INTO few VALUES (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f')")
    assert.deepEqual(await client.next(), {
      Controller: 'Query',
      Topic: 'Live/a',
      Action: 'Error',
      Data: 'Limited rows',
    })
    assert.deepEqual(await client.next(), { Controller: 'Query', Topic: 'Live/a', Action: 'Unsub', Confirm: true })
    assert.equal((await stream.ended()).at(-1)?.data.Code, 'Limit.Rows')
    assert.equal(await first(client, 'a'), 'Limited rows')
    const ordered = 'SELECT id FROM few ORDER BY id LIMIT 5'
    assert.equal(await first(client, 'a', ordered), 'Snapshot')
    await write('DELETE FROM few WHERE id > 2')
    await closed(client)
  })

  test('names of topics are the client’s: control characters, slashes, other scripts, characters beyond 16 bits', async () => {
    const client = await open()
    for (const name of ['a/b', 'Ünïcode', 'tab\tnew\nline', '\u0000', ' ', '__proto__', '\u{1D11E}'.repeat(64)]) {
      client.send(sub(name))
      const { Topic, Data } = await client.next()
      assert.equal(Topic, `Live/${name}`)
      assert.equal((Data as Message).Kind, 'Snapshot', JSON.stringify(name))
      client.send({ Controller: 'Query', Topic: `Live/${name}`, Action: 'Unsub', Confirm: true })
      assert.equal((await client.next()).Action, 'Unsub')
    }
    client.send(sub('\u{1D11E}'.repeat(64).concat('x')))
    assert.equal((await client.next()).Data, 'Data Topic')
    await closed(client)
  })

  test('a row longer than a piece, in MessagePack too', async () => {
    const row = { id: 9, t: 'x'.repeat(300_000) }
    await call('POST', '/query/few/insert', JSON.stringify([row]), 'application/json')
    const stream = await connect(server.port, { ...bearer(alice), protocols: ['PlatformMsgPack'] })
    clients.push(stream)
    stream.send(Buffer.from(encode(sub('m', 'SELECT id, t FROM few WHERE id > 1'))))
    const seen: unknown[] = []
    for (let more = true; more; ) {
      const { Data } = unpackMessage(await stream.nextBytes()) as { Data: { More: boolean; Put: { Row: object }[] } }
      seen.push(...Data.Put.map(({ Row }) => Row))
      more = Data.More
    }
    assert.deepEqual(seen, [{ id: 2, t: 'b' }, row])
    await write('DELETE FROM few WHERE id = 9')
    await closed(stream)
  })

  test('the audit log is live, for administrators', async () => {
    const client = await events(
      admin,
      "SELECT seq, event, target FROM auditlog WHERE event = 'user.created' AND target <> ''",
    )
    const snapshot = await client.next()
    assert.deepEqual([snapshot.data.Method, client.status], ['rerun', 200])
    const user = { username: 'newcomer', password: 'a long enough password' }
    const created = await call('POST', '/admin/users', JSON.stringify(user), 'application/json')
    assert.ok(created)
    for (;;) {
      const { event, data } = await client.next()
      if (event !== 'change') continue
      const [entry] = data.Put as { Row: Message }[]
      assert.equal(entry?.Row.event, 'user.created')
      break
    }
    client.close()
    const refused = await events(alice, 'SELECT event FROM auditlog')
    assert.equal(refused.status, 400, 'for others there is no such table')
  })

  test('an operator who ends the connection ends its statements', async () => {
    const client = await open()
    assert.equal(await first(client, 'a'), 'Snapshot')
    const { items } = await call('GET', '/admin/streams')
    const [{ id }] = items as [{ id: string }]
    await call('DELETE', `/admin/streams/${id}`)
    await client.closed
    await closed()
  })
})
