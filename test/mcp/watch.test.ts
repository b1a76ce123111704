/** Watches of agents: what has changed since a number, waits, resets, and streams of notifications. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const STATEMENT = 'SELECT id, name FROM items WHERE id < :most'
const WATCH = { statement: STATEMENT, parameters: { most: 100 } }

onEveryEngineInLongRuns('watches of agents', (place) => {
  let server: TestServer
  let client: McpClient
  let admin: string
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--limit-mcp': '' } })
    client = new McpClient(server, await agentToken(server))
    admin = (await signIn(server, ADMIN)).access_token
    await write('CREATE TABLE items (id Integer PRIMARY KEY, name Text)')
    await write("INSERT INTO items (id, name) VALUES (1, 'one'), (2, 'two')")
    const feed = { name: 'Prices', read: 'Platform/Market', write: 'Platform/Admin' }
    await post('/admin/feeds', { ...feed, keep: 'all', history: { messages: 10 } })
    await post('/admin/feeds', { ...feed, name: 'Gone', keep: 'all' })
  })
  after(() => server.stop())

  async function post(path: string, body: object): Promise<void> {
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, init)
    assert.ok(reply.ok, await reply.text())
  }
  const write = (statement: string) => post('/query', { Statement: statement })
  const publish = (data: unknown) => post('/feeds/Prices', [{ Topic: 'NYSE/ACME', Data: data }])
  const watch = async (args: object = WATCH) => {
    const text = await client.text('watch', args)
    const [, id = '', since = ''] = /^watch (\S+) · since (\d+) · whole\n/.exec(text) ?? []
    assert.notEqual(id, '', text)
    return { id, since: Number(since), text }
  }

  test('watch gives the whole result; changes what is new, different or gone, and the same again for the same number', async () => {
    const { id, since, text } = await watch()
    assert.match(text, /\n2 rows · id Integer, name Text\nid,name\n1,one\n2,two$/)
    assert.match(await client.text('changes', { id, since }), /^watch \S+ · since 2 · nothing has changed$/)
    await write("UPDATE items SET name = 'zwei' WHERE id = 2")
    await write("INSERT INTO items (id, name) VALUES (3, 'three'), (300, 'not watched')")
    await write('DELETE FROM items WHERE id = 1')
    const expected = ['key,id,name', '- "[""1""]"', '+ "[""2""]",2,zwei', '+ "[""3""]",3,three']
    for (const number of [3, 4]) {
      const [head, , ...lines] = (await client.text('changes', { id, since })).split('\n')
      assert.equal(head, `watch ${id} · since ${number} · changes`)
      assert.deepEqual(lines.toSorted(), expected.toSorted())
    }
    assert.match(await client.text('changes', { id, since: 4 }), /nothing has changed$/)
  })

  test('format json has id, since, put and remove as structured content', async () => {
    const { structuredContent: whole } = await client.call('watch', { ...WATCH, format: 'json' })
    assert.deepEqual([whole.since, whole.reset, whole.rows.length], [1, true, 2])
    await write("UPDATE items SET name = 'drei' WHERE id = 3")
    const { structuredContent: changed } = await client.call('changes', { id: whole.id, since: 1, format: 'json' })
    assert.deepEqual([changed.put, changed.remove, changed.reset], [[{ key: ['3'], row: [3, 'drei'] }], [], false])
  })

  test('at most 200 rows, or changes, are shown, 1,000 changes as JSON, and the rest is counted', async () => {
    await write('CREATE TABLE many (id Integer PRIMARY KEY)')
    const { id, since } = await watch({ statement: 'SELECT id FROM many' })
    await write('INSERT INTO many SELECT i FROM generate_series(1, 1500) AS i')
    const [, head, , ...lines] = (await client.text('changes', { id, since, wait: 20 })).split('\n')
    assert.equal(head, '1500 new or different (+), 0 gone (-)')
    assert.equal(lines.filter((line) => line.startsWith('+ ')).length, 200)
    assert.match(lines.at(-1) ?? '', /^# Cut: 1300 changes more\./)
    const { structuredContent: changed } = await client.call('changes', { id, since, format: 'json' })
    assert.deepEqual([changed.put.length, changed.remove, changed.more], [1000, [], true])
    const whole = await client.text('watch', { statement: 'SELECT id FROM many' })
    assert.match(whole, /· whole\n200 rows, more follow · id Integer\n/)
    const { structuredContent } = await client.call('watch', { statement: 'SELECT id FROM many', format: 'json' })
    const { rows, keys, more } = structuredContent
    assert.deepEqual([rows.length, keys.length, more], [200, 200, true])
    await write('DELETE FROM many ALL')
    const { structuredContent: gone } = await client.call('changes', {
      ...{ id: structuredContent.id, since: 1, wait: 20 },
      format: 'json',
    })
    assert.deepEqual([gone.put, gone.remove.length, gone.more], [[], 1000, true])
  })

  test('a wait ends with the change', async () => {
    const { id, since } = await watch()
    const waiting = client.text('changes', { id, since, wait: 30 })
    await write("INSERT INTO items (id, name) VALUES (4, 'four')")
    assert.match(await waiting, /\n\+ "\[""4""\]",4,four$/)
  })

  test('a number that is not known gives the whole result; an id of another grant, and a guessed one, nothing', async () => {
    const { id } = await watch()
    assert.match(await client.text('changes', { id, since: 99 }), /· whole\n\d rows/)
    const other = new McpClient(server, await agentToken(server))
    for (const [who, wrong] of [
      [other, id],
      [client, 'guessed'],
    ] as const)
      assert.match(await who.error('changes', { id: wrong, since: 1 }), /^mcp\.no_watch: /)
    const { body } = await other.request('resources/read', { uri: `gatehouse://watch/${id}` })
    assert.equal(body.error.code, -32602)
    const own = await client.request('resources/read', { uri: `gatehouse://watch/${id}` })
    assert.match(own.body.result.contents[0].text, /^\d rows · id Integer/)
  })

  test('a NUL, which PostgreSQL does not take, names nothing', async () => {
    for (const name of ['\0', 'a\0b']) {
      assert.match(await client.error('changes', { id: name, since: 1 }), /^mcp\.no_watch: /)
      assert.match(await client.error('saved_query', { name }), /^Saved\.NotFound: /)
    }
  })

  test('topics of feeds; a feed that keeps nothing, writes, and half an argument are refused', async () => {
    await publish({ p: 1 })
    const { id, since } = await watch({ feed: 'Prices', topic: 'NYSE/ACME' })
    await publish({ p: 2 })
    await publish({ p: 3 })
    assert.match(await client.text('changes', { id, since }), /· changes\n2 messages\n.*\{"p":2\}\n.*\{"p":3\}$/)
    const waiting = client.text('changes', { id, since: 2, wait: 30 })
    await publish({ p: 4 })
    assert.match(await waiting, /1 message\n.*\{"p":4\}$/)
    assert.match(await client.text('changes', { id, since: 3 }), /nothing has changed$/)
    assert.match(await client.error('watch', { feed: 'Gone', topic: 'x' }), /^feed\.no_history/)
    assert.match(await client.error('watch', { statement: 'DELETE FROM items ALL' }), /^Request\.WritesRefused/)
    assert.match(await client.error('watch', { feed: 'Prices' }), /^mcp\.arguments/)
    assert.match(await client.error('watch', { statement: 'SELECT gen_uuid() AS u FROM items' }), /^IQL\.NotLive/)
  })

  test('the audit log names the feed and the topic of what is read and followed, also where it is refused', async () => {
    const audited = async () => {
      const headers = { authorization: `Bearer ${admin}` }
      const path = '/admin/audit?event=agent.called&limit=50'
      const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers })
      const { items } = (await reply.json()) as { items: { details: Record<string, unknown> }[] }
      return items.map(({ details: { tool, feed, topic } }) => String([tool, feed, topic]))
    }
    const count = async (wanted: string) => (await audited()).filter((entry) => entry === wanted).length
    const read = { feed: 'Prices', topic: 'NYSE/AUDITED' }
    await post('/feeds/Prices', [{ Topic: read.topic, Data: 1 }])
    const { id, since } = await watch(read)
    await client.text('changes', { id, since })
    await client.text('read_feed', read)
    await client.text('list_feeds', { feed: 'Prices', prefix: 'NYSE/AUD' })
    for (const uri of [`gatehouse://watch/${id}`, `gatehouse://feed/${read.feed}/${read.topic}`])
      assert.equal((await client.request('resources/read', { uri })).body.error, undefined)
    await client.error('read_feed', { feed: 'Unknown', topic: 'x' })
    await client.error('watch', { feed: 'Gone', topic: 'x' })
    for (const [entry, times] of [
      ['watch,Prices,NYSE/AUDITED', 1],
      ['changes,Prices,NYSE/AUDITED', 1],
      ['read_feed,Prices,NYSE/AUDITED', 1],
      ['list_feeds,Prices,', 1],
      ['resources/read,Prices,NYSE/AUDITED', 2],
      ['read_feed,Unknown,x', 1],
    ] as const)
      await until(`it has ${entry}`, 5_000, async () => (await count(entry)) === times)
    await until('it has the watch that is refused', 5_000, async () => (await count('watch,Gone,x')) > 0)
  })

  test('a grant has 20 watches', async () => {
    const token = await agentToken(server)
    const other = new McpClient(server, token)
    for (let count = 0; count < 20; count++) await other.text('watch', WATCH)
    assert.match(await other.error('watch', WATCH), /^mcp\.watches/)
  })

  test('a wait of a caller who loses the token gives nothing', async () => {
    const token = await agentToken(server)
    const other = new McpClient(server, token)
    const text = await other.text('watch', WATCH)
    const id = /^watch (\S+)/.exec(text)?.[1]
    const waiting = other.request('tools/call', { name: 'changes', arguments: { id, since: 1, wait: 30 } })
    await new Promise((resolve) => setTimeout(resolve, 300))
    await revoke(token)
    await write("UPDATE items SET name = 'secret' WHERE id = 2")
    const { text: reply } = await waiting
    assert.doesNotMatch(reply, /secret/)
  })

  test('a wait of a caller who loses a role that a row filter uses gives nothing', async () => {
    await post('/admin/roles', { name: 'desk', scopes: ['Platform/Market', 'Platform/News'] })
    await post('/admin/roles', { name: 'plain', scopes: ['Platform/Market', 'Platform/News'] })
    await post('/admin/users', { username: 'dana', password: 'a password of dana', roles: ['plain', 'desk'] })
    await write(
      'CREATE TABLE desks (id Integer PRIMARY KEY, desk Text, who Text) ROW FILTER (desk IN (:roles) OR who = :username)',
    )
    const other = new McpClient(server, await agentToken(server, { username: 'dana', password: 'a password of dana' }))
    const { structuredContent } = await other.call('watch', { statement: 'SELECT id, desk FROM desks', format: 'json' })
    const waiting = other.request('tools/call', {
      name: 'changes',
      arguments: { id: structuredContent.id, since: 1, wait: 10 },
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json', 'if-match': '*' }
    const changed = await fetch(`http://127.0.0.1:${server.port}/admin/users/dana`, {
      ...{ method: 'PATCH', headers },
      body: JSON.stringify({ roles: ['plain'] }),
    })
    assert.equal(changed.status, 200, await changed.text())
    await write("INSERT INTO desks (id, desk, who) VALUES (1, 'desk', 'admin')")
    const { status, text } = await waiting
    assert.equal(status, 401, text)
    const again = await other.text('changes', { id: structuredContent.id, since: 1 })
    assert.match(again, /nothing has changed$|\n0 rows/)
  })

  const revoke = (token: string) =>
    fetch(`http://127.0.0.1:${server.port}/connect/revocation`, {
      method: 'POST',
      body: new URLSearchParams({ token, client_id: 'demo-cli' }),
    })
  const refresh = async (token: string, scope: string) => {
    const form = { grant_type: 'refresh_token', client_id: 'demo-cli', refresh_token: token, scope }
    const reply = await fetch(`http://127.0.0.1:${server.port}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, resource: `${server.issuer}/mcp` }),
    })
    const body = (await reply.json()) as { access_token: string; refresh_token: string }
    assert.equal(reply.status, 200, JSON.stringify(body))
    return body
  }

  test('subscriptions/listen: the acknowledgment first, then what has changed; revocation cuts it', async () => {
    const token = await agentToken(server)
    const other = new McpClient(server, token)
    const id = /^watch (\S+)/.exec(await other.text('watch', WATCH))?.[1]
    const uri = `gatehouse://watch/${id}`
    const feed = 'gatehouse://feed/Prices/NYSE/ACME'
    const notifications = {
      resourceSubscriptions: [uri, feed, 'gatehouse://watch/guessed', 'gatehouse://feed/Nothing/x'],
    }
    const { body, headers } = other.envelope('subscriptions/listen', { notifications }, { id: 'l1' })
    const reply = await other.open(body, headers)
    assert.equal(reply.headers.get('content-type'), 'text/event-stream')
    const messages = readEvents(reply)
    const meta = { 'io.modelcontextprotocol/subscriptionId': 'l1' }
    const first = (await messages.next()).value
    assert.deepEqual(first?.params, { notifications: { resourceSubscriptions: [uri, feed] }, _meta: meta })
    await write("UPDATE items SET name = 'changed' WHERE id = 2")
    const second = (await messages.next()).value
    assert.deepEqual([second?.method, second?.params], ['notifications/resources/updated', { uri, _meta: meta }])
    await publish({ p: 5 })
    assert.deepEqual((await messages.next()).value?.params, { uri: feed, _meta: meta })
    await revoke(token)
    assert.equal((await messages.next()).done, true)
  })

  test('subscriptions/listen: what has changed since the last call is notified, also where other URIs are still being opened', async () => {
    const other = new McpClient(server, await agentToken(server))
    const trade = (id: number) => ({ statement: `SELECT id FROM trades WHERE id = ${id}` })
    const ids = await Promise.all(
      [WATCH, trade(1), trade(2)].map(async (args) => /^watch (\S+)/.exec(await other.text('watch', args))?.[1]),
    )
    await write("UPDATE items SET name = 'before the stream' WHERE id = 2")
    const uris = ids.map((id) => `gatehouse://watch/${id}`)
    const { body, headers } = other.envelope('subscriptions/listen', {
      notifications: { resourceSubscriptions: uris },
    })
    const left = new AbortController()
    const messages = readEvents(await other.open(body, headers, left.signal))
    assert.deepEqual((await messages.next()).value?.params.notifications.resourceSubscriptions, uris)
    const late = setTimeout(() => left.abort(), 10_000)
    const second = (await messages.next()).value
    assert.deepEqual([second?.method, second?.params.uri], ['notifications/resources/updated', uris[0]])
    const again = readEvents(await other.open(body, headers, left.signal))
    assert.equal((await again.next()).value?.method, 'notifications/subscriptions/acknowledged')
    assert.equal((await again.next()).value?.params.uri, uris[0], 'a second stream, that of a client that came back')
    clearTimeout(late)
    left.abort()
  })

  test('subscriptions/listen: what was published since the last call of the watch of a feed is notified', async () => {
    const { id } = await watch({ feed: 'Prices', topic: 'NYSE/ACME' })
    await publish({ p: 6 })
    const notifications = { resourceSubscriptions: [`gatehouse://watch/${id}`] }
    const { body, headers } = client.envelope('subscriptions/listen', { notifications })
    const left = new AbortController()
    const late = setTimeout(() => left.abort(), 10_000)
    const messages = readEvents(await client.open(body, headers, left.signal))
    assert.deepEqual((await messages.next()).value?.params.notifications, notifications)
    assert.equal((await messages.next()).value?.method, 'notifications/resources/updated')
    clearTimeout(late)
    left.abort()
  })

  test('subscriptions/listen: a token with fewer scopes of the same grant does not share what another may read', async () => {
    const { refresh_token: first } = await signIn(server, ADMIN)
    const whole = await refresh(first, 'Platform/Market Platform/News')
    const narrow = await refresh(whole.refresh_token, 'Platform/News')
    const [one, other] = [new McpClient(server, whole.access_token), new McpClient(server, narrow.access_token)]
    const { id } = (await one.call('watch', { statement: 'SELECT * FROM trades WHERE id = 1', format: 'json' }))
      .structuredContent
    const left = new AbortController()
    const acknowledged = async (client: McpClient) => {
      const notifications = { resourceSubscriptions: [`gatehouse://watch/${id}`] }
      const { body, headers } = client.envelope('subscriptions/listen', { notifications })
      const first = await readEvents(await client.open(body, headers, left.signal)).next()
      return first.value?.params.notifications
    }
    assert.deepEqual(await acknowledged(one), { resourceSubscriptions: [`gatehouse://watch/${id}`] })
    assert.deepEqual(await acknowledged(other), {})
    left.abort()
  })

  test('subscriptions/listen: a token with a role that an earlier one of its grant lacks is notified of what it sees', async () => {
    for (const name of ['trainee', 'floor'])
      await post('/admin/roles', { name, scopes: ['Platform/Market', 'Platform/News'] })
    const user = { username: 'erin', password: 'a password of erin' }
    await post('/admin/users', { ...user, roles: ['trainee'] })
    await write(
      "CREATE TABLE floors (id Integer PRIMARY KEY, floor Text) ROW FILTER (floor IN (:roles) OR 'admin' = :username)",
    )
    const scope = 'Platform/Market'
    const before = await refresh((await signIn(server, user)).refresh_token, scope)
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json', 'if-match': '*' }
    const changed = await fetch(`http://127.0.0.1:${server.port}/admin/users/erin`, {
      ...{ method: 'PATCH', headers },
      body: JSON.stringify({ roles: ['trainee', 'floor'] }),
    })
    assert.equal(changed.status, 200, await changed.text())
    const later = await refresh(before.refresh_token, scope)
    const [one, other] = [new McpClient(server, before.access_token), new McpClient(server, later.access_token)]
    const { structuredContent } = await one.call('watch', { statement: 'SELECT id FROM floors', format: 'json' })
    const left = new AbortController()
    const late = setTimeout(() => left.abort(), 20_000)
    const streams = []
    for (const listener of [one, other]) {
      const notifications = { resourceSubscriptions: [`gatehouse://watch/${structuredContent.id}`] }
      const asked = listener.envelope('subscriptions/listen', { notifications })
      const messages = readEvents(await listener.open(asked.body, asked.headers, left.signal))
      assert.deepEqual((await messages.next()).value?.params.notifications, notifications)
      streams.push(messages)
    }
    await write("INSERT INTO floors (id, floor) VALUES (1, 'floor')")
    assert.equal((await streams[1]?.next())?.value?.method, 'notifications/resources/updated')
    clearTimeout(late)
    left.abort()
  })

  test('subscriptions/listen: tables that change, 406 without events, 5 streams a grant, the result at the end', async () => {
    const token = await agentToken(server)
    const other = new McpClient(server, token)
    const ask = (notifications: object) => other.envelope('subscriptions/listen', { notifications })
    const { body, headers } = ask({ resourcesListChanged: true, toolsListChanged: true })
    const refused = await other.post(body, { ...headers, accept: 'application/json' })
    assert.deepEqual([refused.status, refused.body.error.code], [406, -32600])
    assert.equal((await other.post(ask({ resourceSubscriptions: [1] }).body, headers)).body.error.code, -32602)
    const left = new AbortController()
    const open = await Promise.all(
      [1, 2, 3, 4, 5].map(() => other.open(ask({ resourcesListChanged: true }).body, headers, left.signal)),
    )
    const sixth = await other.post(body, headers)
    assert.deepEqual([sixth.status, sixth.body.error.code], [429, -32603])
    const messages = readEvents(open[0] as Response)
    assert.deepEqual((await messages.next()).value?.params.notifications, { resourcesListChanged: true })
    await write('CREATE TABLE another (id Integer PRIMARY KEY)')
    assert.equal((await messages.next()).value?.method, 'notifications/resources/list_changed')
    left.abort()
  })
})

// biome-ignore lint/suspicious/noExplicitAny: what a test expects of them, it asserts.
async function* readEvents(reply: Response): AsyncGenerator<any, undefined> {
  let rest = ''
  for await (const text of (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length))
  }
}
