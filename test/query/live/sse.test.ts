/** Live statements over HTTP as server-sent events: formats, resuming, ends, rights, slow clients. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Principal } from 'gatehouse-protocol'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { type EventClient, type EventRequest, openEvents } from '../../support/event-client.ts'
import { createLocalBus } from '../../support/local-bus.ts'
import { createTestClock } from '../../support/server.ts'
import { until } from '../../support/until.ts'
import { CALLERS, caller, type QueryServer, startQueryServer } from '../query-server.ts'

const TEXT = { 'content-type': 'text/plain; charset=utf-8' }
const JSON_BODY = { 'content-type': 'application/json' }
const STATEMENT = 'SELECT price, quantity FROM trades WHERE symbol = :s'

onEveryEngineInLongRuns('live statements over HTTP', (place) => {
  const bus = createLocalBus()
  const clock = createTestClock()
  const opened: EventClient[] = []
  /** Callers that a test changes; undefined is a revoked token. */
  const changed = new Map<string, Principal | undefined>()
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), {
      bus,
      clock,
      authenticate: async (token) => (changed.has(token) ? changed.get(token) : CALLERS[token]),
    })
    const made = await server.query(
      `CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL, price Decimal(12, 4) NOT NULL, quantity Integer NOT NULL,
        owner Text) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Trading'`,
    )
    assert.equal(made.status, 200, made.text)
    await write("INSERT INTO trades VALUES (1, 'BHP', 45.1, 9007199254740993, 'trader'), (2, 'RIO', 120, 5, 'admin')")
  })
  after(async () => {
    for (const client of opened) client.close()
    await server.stop()
    await bus.close()
  })

  const write = async (statement: string): Promise<void> => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, reply.text)
  }
  const open = async (path: string, request: Partial<EventRequest> = {}): Promise<EventClient> => {
    const client = await openEvents(server.url + path, { token: 'market', ...request })
    opened.push(client)
    return client
  }
  const live = (statement: string, request: Partial<EventRequest> = {}): Promise<EventClient> =>
    open('/query', { headers: TEXT, body: statement, ...request })

  test('the result, then its changes; the last id resumes', async () => {
    const client = await open('/query?p.s=BHP', { headers: TEXT, body: STATEMENT })
    assert.equal(client.status, 200)
    assert.equal(client.headers['content-type'], 'text/event-stream')
    assert.equal(client.headers['cache-control'], 'no-store')
    const first = await client.next()
    const { Position: position, ...snapshot } = first.data
    assert.equal(first.event, 'snapshot')
    assert.equal(first.id, position)
    assert.partialDeepStrictEqual(snapshot, { Kind: 'Snapshot', Method: 'keys', Key: ['id'], More: false })
    assert.deepEqual(Object.keys(Object(snapshot.Columns)), ['price', 'quantity'])
    assert.equal(JSON.stringify(snapshot.Put), '[{"Key":[1],"Row":{"price":"45.1000","quantity":9007199254740992}}]')
    await write("INSERT INTO trades VALUES (9, 'BHP', 45.2, 5, 'admin')")
    const change = await client.next()
    assert.equal(change.event, 'change')
    assert.deepEqual(change.data.Put, [{ Key: [9], Row: { price: '45.2000', quantity: 5 } }])
    await write('DELETE FROM trades WHERE id = 9')
    assert.deepEqual((await client.next()).data.Remove, [[9]])
    client.close()

    const again = await open('/query?p.s=BHP', {
      headers: { ...TEXT, 'last-event-id': first.id ?? '' },
      body: STATEMENT,
    })
    const answer = await again.next()
    assert.equal(answer.event, 'change')
    assert.partialDeepStrictEqual(answer.data, { Kind: 'Change', Recovered: true })
    const other = await open('/query?p.s=RIO', {
      headers: { ...TEXT, 'last-event-id': first.id ?? '' },
      body: STATEMENT,
    })
    const reset = await other.next()
    assert.deepEqual([reset.event, reset.data.Reason, reset.id], ['reset', 'Expired', ''])
    assert.equal((await other.next()).data.Recovered, false)
  })

  test('GET takes the statement from the query string; rows, integers and keys in either form', async () => {
    const query = `statement=${encodeURIComponent(STATEMENT)}&p.s=BHP&maxrate=50&rows=arrays&integers=strings`
    const client = await open(`/query?${query}`, { method: 'GET' })
    assert.equal(client.status, 200)
    const { data } = await client.next()
    assert.deepEqual(data.Put, [{ Key: ['1'], Row: ['45.1000', '9007199254740993'] }])
    const body = JSON.stringify({ Statement: STATEMENT, Parameters: { s: 'RIO' }, MaxRate: 5 })
    const posted = await open('/query', { headers: JSON_BODY, body })
    assert.deepEqual((await posted.next()).data.Put, [{ Key: [2], Row: { price: '120.0000', quantity: 5 } }])
  })

  test('RFC 9110 §9.3.2: HEAD has the head of GET, and leaves no statement', async () => {
    const head = (statement: string) =>
      fetch(`${server.url}/query?p.s=BHP&statement=${encodeURIComponent(statement)}`, {
        method: 'HEAD',
        headers: { authorization: 'Bearer market', accept: 'text/event-stream' },
      })
    const running = server.service.load().liveStatements
    const reply = await head(STATEMENT)
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'text/event-stream'])
    assert.equal(await reply.text(), '')
    assert.equal(server.service.load().liveStatements, running)
    assert.equal((await head('SELECT nothing FROM trades')).status, 400)
  })

  test('what is refused before the first event is an ordinary error reply', async () => {
    const refused = async (path: string, request: Partial<EventRequest>, status: number, code: string) => {
      const client = await open(path, request)
      const text = (await Array.fromAsync(client.response)).join('')
      assert.deepEqual([client.status, JSON.parse(text).Code], [status, code], text)
      return JSON.parse(text)
    }
    const post = (
      body: string,
      status: number,
      code: string,
      path = '/query',
      headers: Record<string, string> = TEXT,
    ) => refused(path, { headers, body }, status, code)
    assert.ok((await post('SELECT nothing FROM trades', 400, 'IQL.UnknownColumn')).Position)
    await post('SHOW TABLES', 400, 'IQL.NotLive')
    await post(STATEMENT, 400, 'IQL.MissingParameter')
    for (const rate of ['0', '51', 'fast', '1.5', ''])
      await post('SELECT * FROM trades', 400, 'Request.BadParameter', `/query?maxrate=${rate}`)
    await post('{"Statement":"SELECT * FROM trades","MaxRate":"x"}', 400, 'Request.BadParameter', '/query', JSON_BODY)
    for (const id of ['not a position', 'x'.repeat(513), 'nonsense'])
      await post('SELECT * FROM trades', 400, 'Request.BadPosition', '/query', { ...TEXT, 'last-event-id': id })
    await post('SELECT * FROM trades', 415, 'Request.Unsupported', '/query', { 'content-type': 'text/html' })
    await refused('/query', { method: 'GET' }, 400, 'Request.BadParameter')
    await refused('/query?statement=x', { method: 'GET', headers: { accept: '*/*' } }, 406, 'Request.NotAcceptable')
    await refused('/query', { token: 'nobody', headers: TEXT, body: 'SELECT 1' }, 403, 'Auth.MissingScope')
    await refused('/query', { token: 'none', headers: TEXT, body: 'SELECT 1' }, 401, 'Auth.InvalidToken')
    const plain = await server.call('/query', { Statement: 'SELECT 1 AS x', MaxRate: 5 })
    assert.equal(plain.json.Code, 'Request.BadBody')
  })

  test('a comment line every 15 seconds', async () => {
    const client = await live('SELECT id FROM trades')
    await client.next()
    const before = client.comments()
    clock.advance(15_000)
    await until('a comment comes', 5_000, () => client.comments() > before)
  })

  test('the end of the token, of its rights and of the statement end the response with the problem document', async () => {
    const ends = async (client: EventClient, code: string) => {
      const last = (await client.ended()).at(-1)
      assert.equal(last?.event, 'end')
      assert.equal(last?.data.Code, code)
      assert.equal(typeof last?.data.RequestId, 'string')
    }
    const start = async (token: string) => {
      const client = await live('SELECT id FROM trades', { token })
      await client.next()
      return client
    }
    const until = clock() / 1000 + 5
    changed.set('short', { ...caller('short', ['Platform/Market'], []), expiresAt: until })
    const expiring = await start('short')
    clock.advance(5_000)
    await ends(expiring, 'Auth.InvalidToken')

    const revoked = await start('market')
    changed.set('market', undefined)
    await bus.publish({ kind: 'token-revoked', tokenId: 'token-market', expiresAt: 0 })
    await ends(revoked, 'Auth.InvalidToken')
    changed.delete('market')

    const lowered = await start('trader')
    changed.set('trader', caller('trader', ['Platform/Trading'], []))
    await bus.publish({ kind: 'rights-changed', subject: 'trader', scopes: [], roles: [], at: 0, expiresAt: 0 })
    await ends(lowered, 'Auth.MissingScope')
    changed.delete('trader')

    const headers = { ...TEXT, 'request-id': 'my-live-1' }
    const cancelled = await live('SELECT id FROM trades', { headers })
    await cancelled.next()
    const listed = [...server.service.activity.list()]
    assert.partialDeepStrictEqual(
      listed.find(({ requestId }) => requestId === 'my-live-1'),
      {
        kind: 'live',
        subject: 'market',
        clientId: 'market-client',
        statement: 'SELECT id FROM trades',
      },
    )
    const cancel = (as: string) => server.call('/query/my-live-1', undefined, { method: 'DELETE', as })
    assert.equal((await cancel('trader')).status, 404, 'it belongs to somebody else')
    assert.equal((await cancel('market')).status, 204)
    await ends(cancelled, 'Limit.Cancelled')
    const logged = server.log.filter((line) => line.includes('"reqId":"my-live-1"'))
    assert.equal(logged.length, 1, 'the request is logged when it ends')
  })

  test('changed claims send another result: a Reset, then a snapshot', async () => {
    await write(
      "CREATE TABLE notes (id Integer PRIMARY KEY, owner Text) WRITE SCOPE 'Platform/Trading' ROW FILTER (owner = :username)",
    )
    const inserted = await server.query("INSERT INTO notes VALUES (1, 'trader')", { as: 'trader' })
    assert.equal(inserted.status, 200, inserted.text)
    changed.set('alice', { ...caller('alice', ['Platform/Market'], []), username: 'trader' })
    const client = await live('SELECT id FROM notes', { token: 'alice' })
    assert.deepEqual((await client.next()).data.Put, [{ Key: [1], Row: { id: 1 } }])
    changed.set('alice', { ...caller('alice', ['Platform/Market'], []), username: 'alicia' })
    await bus.publish({ kind: 'user-changed', subject: 'alice', renamed: true })
    const reset = await client.next()
    assert.deepEqual([reset.event, reset.data.Reason, reset.id], ['reset', 'Rights', ''])
    assert.deepEqual((await client.next()).data.Put, [])
  })

  test('a client that goes away ends its statement and is logged; one that does not read ends after a minute', async () => {
    const ids = () => [...server.service.activity.list()].map(({ requestId }) => requestId)
    const gone = await live('SELECT id FROM trades', { headers: { ...TEXT, 'request-id': 'gone-1' } })
    await gone.next()
    assert.ok(ids().includes('gone-1'))
    gone.close()
    await until('it is gone', 5_000, () => !ids().includes('gone-1'))
    const logged = () => server.log.filter((line) => line.includes('"reqId":"gone-1"'))
    await until('it is logged', 5_000, () => logged().length > 0)
    assert.equal(logged().length, 1)
    await write('CREATE TABLE large (id Integer PRIMARY KEY, body Text)')
    const body = 'x'.repeat(100_000)
    // More than the system takes for a client that does not read.
    for (let first = 0; first < 140; first += 70) {
      const rows = Array.from({ length: 70 }, (_row, index) => ({ id: first + index, body }))
      assert.equal((await server.call('/query/large/insert', rows)).status, 200)
    }
    const stalled = await live('SELECT * FROM large', { headers: { ...TEXT, 'request-id': 'stalled-1' } })
    stalled.response.pause()
    const metric = () => /gatehouse_query_send_queue_bytes (\d+)/.exec(server.metrics.render())?.[1]
    await until('what waits is counted', 5_000, () => Number(metric()) > 0)
    assert.ok(Number(metric()) < 1_000_000, 'and bounded')
    clock.advance(60_000)
    await until('it is ended', 5_000, () => !ids().includes('stalled-1'))
    await until('nothing waits', 5_000, () => metric() === '0')
  })

  test('a client that does not read the end is given no more time than others, and counts until then', async () => {
    const queued = (): number =>
      Number(/^gatehouse_query_send_queue_bytes (\d+)/m.exec(server.metrics.render())?.[1] ?? 0)
    const headers = { ...TEXT, 'request-id': 'unread-1' }
    const client = await live("SELECT id, rpad('a', 8000000, 'y') AS t FROM trades", { headers })
    client.response.pause()
    await until('its messages are queued', 10_000, () => queued() > 0)
    assert.equal(server.service.live.end('unread-1', undefined), true)
    assert.ok(queued() > 0, 'the client has still not read them')
    clock.advance(61_000)
    await until('its connection is closed', 5_000, () => queued() === 0)
    client.response.resume()
    assert.ok((await client.ended()).every(({ event }) => event !== 'end'))
  })

  test('a slow client skips states and ends with the last one', async () => {
    const client = await live('SELECT id, body FROM large WHERE id = 0', { headers: TEXT })
    await client.next()
    client.response.pause()
    for (let round = 0; round < 30; round++) {
      const Assignments = { body: String(round).padEnd(200_000, 'y') }
      const Criteria = [{ ColumnName: 'id', Operator: '=', Value: 0 }]
      assert.equal((await server.call('/query/large/update', { Criteria, Assignments })).status, 200)
    }
    client.response.resume()
    let last = ''
    let events = 0
    while (!last.startsWith('29y')) {
      const { data } = await client.next()
      events++
      if (Array.isArray(data.Put)) last = data.Put[0].Row.body
    }
    assert.ok(events < 30, `${events} events`)
  })

  test('a node that stops ends the responses and says when to come back', async () => {
    const client = await live('SELECT id FROM trades')
    await client.next()
    server.service.stopLive()
    const last = (await client.ended()).at(-1)
    assert.deepEqual([last?.event, last?.data.Code], ['end', 'Limit.Overload'])
    assert.match(last?.retry ?? '', /^[1-4]\d{3}$/)
    assert.equal((await live('SELECT id FROM trades')).status, 503)
  })
})
