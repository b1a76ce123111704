/** Live statements on a stream of a whole server: both sub-protocols, both profiles, errors, rights and operators. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { unpackMessage } from '../../packages/server/src/streaming/codec/message-pack.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

type Message = Record<string, unknown>

/** A client of either sub-protocol. */
interface LiveClient {
  readonly stream: StreamClient
  send(message: object): void
  next(): Promise<Message>
}

onEveryEngineInLongRuns('live statements on a stream', (place) => {
  let server: TestServer
  let admin: string
  let alice: string
  const clients: StreamClient[] = []
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--stream-drain-time': '0' } })
    admin = (await signIn(server, ADMIN)).access_token
    alice = (await signIn(server)).access_token
    await write(
      "CREATE TABLE fills (id Integer PRIMARY KEY, symbol Text NOT NULL, quantity Integer) READ SCOPE 'Platform/Market'",
    )
    await write(
      "CREATE TABLE diary (id Integer PRIMARY KEY, owner Text) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market' ROW FILTER (owner = :username)",
    )
    await write("INSERT INTO fills VALUES (1, 'BHP', 9007199254740993), (2, 'RIO', 5)")
  })
  after(async () => {
    for (const { socket } of clients) socket.terminate()
    await server.stop()
  })

  const call = async (method: string, path: string, body?: unknown, token = admin): Promise<Message> => {
    const type =
      typeof body === 'string'
        ? 'text/plain'
        : path.startsWith('/admin')
          ? 'application/merge-patch+json'
          : 'application/json'
    const response = await fetch(server.issuer + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': type, 'if-match': '*' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.ok(response.ok, text)
    return text === '' ? {} : JSON.parse(text)
  }
  const write = (statement: string, token = admin) => call('POST', '/query', statement, token)
  const open = async (token = alice, protocol = 'PlatformJson', version = '1.1'): Promise<LiveClient> => {
    const path = `/Platform?version=${version}`
    const stream = await connect(server.port, { ...bearer(token), protocols: [protocol], path })
    clients.push(stream)
    return protocol === 'PlatformJson'
      ? { stream, send: (message) => stream.send(message), next: () => stream.next() }
      : {
          stream,
          send: (message) => stream.send(Buffer.from(encode(message, { useBigInt64: true }))),
          next: async () => unpackMessage(await stream.nextBytes()) as Message,
        }
  }
  const about = (name: string, Action: string, more: object = {}) => ({
    Controller: 'Query',
    Topic: `Live/${name}`,
    Action,
    ...more,
  })
  const subscribe = async (
    client: LiveClient,
    name: string,
    Statement: string,
    more: object = {},
  ): Promise<Message> => {
    client.send(about(name, 'Sub', { Confirm: true, TransactionID: 7, Data: { Statement, ...more } }))
    const confirmed = await client.next()
    assert.deepEqual(confirmed, about(name, 'Sub', { Confirm: true, TransactionID: 7 }))
    return (await client.next()).Data as Message
  }

  test('the confirmation, the snapshot, the changes: in both sub-protocols and both profiles', async () => {
    const statement = 'SELECT symbol, quantity FROM fills WHERE symbol = :s'
    const all: LiveClient[] = []
    for (const version of ['1.1', '2.0'])
      for (const protocol of ['PlatformJson', 'PlatformMsgPack']) {
        const client = await open(alice, protocol, version)
        all.push(client)
        const snapshot = await subscribe(client, 'bhp', statement, { Parameters: { s: 'BHP' }, MaxRate: 50 })
        // A test reads JSON with doubles; MessagePack keeps the integer.
        const quantity = protocol === 'PlatformJson' ? 9007199254740992 : 9007199254740993n
        assert.deepEqual(snapshot.Put, [{ Key: [1], Row: { symbol: 'BHP', quantity } }])
        assert.partialDeepStrictEqual(snapshot, { Kind: 'Snapshot', Method: 'keys', Key: ['id'], More: false })
      }
    await write("INSERT INTO fills VALUES (3, 'BHP', 7), (4, 'RIO', 8)")
    const messages = await Promise.all(all.map((client) => client.next()))
    const [first] = messages
    assert.ok(first)
    assert.deepEqual((first.Data as Message).Put, [{ Key: [3], Row: { symbol: 'BHP', quantity: 7 } }])
    for (const [index, message] of messages.entries()) {
      const action = index < 2 ? { Action: 'Publish' } : {}
      assert.deepEqual(message, { Controller: 'Query', Topic: 'Live/bhp', ...action, Data: first.Data })
    }
    await write('DELETE FROM fills WHERE id = 3')
    for (const client of all) assert.deepEqual(((await client.next()).Data as Message).Remove, [[3]])
    for (const client of all) client.stream.socket.close()
  })

  test('numbers of parameters keep their digits, in an object or an array, in both sub-protocols', async () => {
    for (const protocol of ['PlatformJson', 'PlatformMsgPack'] as const) {
      const client = await open(alice, protocol)
      const Statement = 'SELECT id FROM fills WHERE quantity = $1'
      if (protocol === 'PlatformJson')
        client.stream.send(
          `{"Controller":"Query","Topic":"Live/n","Action":"Sub","Data":{"Statement":"${Statement}","Parameters":[9007199254740993],"MaxRate":1}}`,
        )
      else client.send(about('n', 'Sub', { Data: { Statement, Parameters: [9007199254740993n] } }))
      assert.deepEqual(((await client.next()).Data as Message).Put, [{ Key: [1], Row: { id: 1 } }])
      client.stream.socket.close()
    }
  })

  test('what is wrong with Data is named; a refused statement carries the problem document', async () => {
    const client = await open()
    const refused = async (name: string, Data: unknown, error: string): Promise<Message> => {
      client.send(about(name, 'Sub', { TransactionID: 1, Data }))
      const reply = await client.next()
      assert.equal(reply.Data, error, JSON.stringify(Data))
      return reply
    }
    const Statement = 'SELECT id FROM fills'
    await refused('a', undefined, 'Data Data')
    await refused('a', [], 'Data.Deserialise Data')
    await refused('a', {}, 'Data Statement')
    await refused('a', { Statement: 5 }, 'Data.Deserialise Statement')
    for (const MaxRate of [0, 51, 1.5, -1]) await refused('a', { Statement, MaxRate }, 'Data MaxRate')
    for (const MaxRate of ['5', null]) await refused('a', { Statement, MaxRate }, 'Data.Deserialise MaxRate')
    for (const Parameters of ['x', 5, true])
      await refused('a', { Statement, Parameters }, 'Data.Deserialise Parameters')
    for (const Resume of ['', 'not a position', 'x'.repeat(513), 'nonsense'])
      await refused('a', { Statement, Resume }, 'Data Resume')
    await refused('a', { Statement, Resume: 5 }, 'Data.Deserialise Resume')
    await refused('', { Statement }, 'Data Topic')
    await refused('x'.repeat(129), { Statement }, 'Data Topic')
    const { Problem } = await refused('a', { Statement: 'SELECT idd FROM fills' }, 'Data Statement')
    assert.partialDeepStrictEqual(Problem, { Code: 'IQL.UnknownColumn', status: 400, Position: { Offset: 7 } })
    const written = await refused('a', { Statement: 'SHOW TABLES' }, 'Data Statement')
    assert.equal((written.Problem as Message).Code, 'IQL.NotLive')
    await refused('a', { Statement: 'SELECT * FROM fills WHERE symbol = :s' }, 'Data Statement')
    const packed = await open(alice, 'PlatformMsgPack')
    packed.send(about('a', 'Sub', { Data: { Statement, Parameters: { s: Buffer.from('x') } } }))
    assert.equal((await packed.next()).Data, 'Data.Deserialise Parameters')
    await subscribe(client, 'x'.repeat(128), Statement)
    await refused('x'.repeat(128), { Statement }, 'Data Topic')
    client.stream.socket.close()
    packed.stream.socket.close()
  })

  test('Resume sends what was missed', async () => {
    const client = await open()
    const { Position } = await subscribe(client, 'a', "SELECT id FROM fills WHERE symbol = 'NEW'")
    client.send(about('a', 'Unsub', { Confirm: true }))
    assert.equal((await client.next()).Action, 'Unsub')
    await write("INSERT INTO fills VALUES (10, 'NEW', 1)")
    const change = await subscribe(client, 'a', "SELECT id FROM fills WHERE symbol = 'NEW'", { Resume: Position })
    assert.partialDeepStrictEqual(change, { Kind: 'Change', Recovered: true, Put: [{ Key: [10], Row: { id: 10 } }] })
    client.stream.socket.close()
  })

  test('a live statement is listed among the queries, and ended there', async () => {
    const client = await open()
    await subscribe(client, 'a', 'SELECT count(*) AS n FROM fills')
    const items = async () => (await call('GET', '/admin/queries')).items as Message[]
    const [listed] = (await items()).filter(({ kind }) => kind === 'live')
    assert.partialDeepStrictEqual(listed, { client: 'demo-cli', statement: 'SELECT count(*) AS n FROM fills' })
    await call('DELETE', `/admin/queries/${listed?.id}`)
    assert.deepEqual(await client.next(), about('a', 'Error', { Data: 'Operation.Abort' }))
    assert.deepEqual(await client.next(), about('a', 'Unsub', { Confirm: true }))
    assert.deepEqual(await items(), [])
    const again = await subscribe(client, 'a', 'SELECT count(*) AS n FROM fills')
    assert.equal(again.Kind, 'Snapshot')
    client.stream.socket.close()
    await until('the statement ends with its connection', 5_000, async () => (await items()).length === 0)
  })

  test('a renamed user gets a Reset and the rows of the new name', async () => {
    await write("INSERT INTO diary VALUES (1, 'alice')", alice)
    const client = await open()
    assert.deepEqual((await subscribe(client, 'own', 'SELECT id FROM diary')).Put, [{ Key: [1], Row: { id: 1 } }])
    await call('PATCH', '/admin/users/alice', { username: 'alicia' })
    assert.deepEqual((await client.next()).Data, { Kind: 'Reset', Reason: 'Rights' })
    assert.deepEqual(((await client.next()).Data as Message).Put, [])
    await call('PATCH', '/admin/users/alicia', { username: 'alice' })
    assert.equal(((await client.next()).Data as Message).Kind, 'Reset')
    assert.deepEqual(((await client.next()).Data as Message).Put, [{ Key: [1], Row: { id: 1 } }])
    client.stream.socket.close()
  })

  test('lost rights end the statement with Authority, and every further attempt is recorded', async () => {
    const client = await open()
    await subscribe(client, 'a', 'SELECT id FROM fills')
    await call('PATCH', '/admin/users/alice', { roles: [] })
    assert.deepEqual(await client.next(), about('a', 'Error', { Data: 'Authority' }))
    assert.deepEqual(await client.next(), about('a', 'Unsub', { Confirm: true }))
    for (const name of ['a', 'b']) {
      client.send(about(name, 'Sub', { Data: { Statement: 'SELECT id FROM fills' } }))
      assert.equal((await client.next()).Data, 'Authority')
    }
    const audited = async () => (await call('GET', '/admin/audit?event=live.refused')).items as Message[]
    await until('both are recorded', 5_000, async () => (await audited()).length > 1)
    assert.deepEqual(
      (await audited()).map(({ details }) => details),
      [{ reason: 'Authority' }, { reason: 'Authority' }],
    )
    client.stream.socket.close()
  })
})
