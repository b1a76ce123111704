/** Agents on two nodes with one PostgreSQL: what one began, the other goes on with; what one ends, ends on the other within a second. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const FLAGS = { '--demo': 'true', '--limit-mcp': '', '--agent-scan-rows': '20', '--agent-rows-per-day': '500' }
let opened: Awaited<ReturnType<typeof openPlace>>
let one: TestServer
let other: TestServer
let admin: string

before(async () => {
  opened = await openPlace('postgres')
  one = await startTestServer(opened.place, { flags: FLAGS })
  other = await startTestServer(opened.place, { flags: { ...FLAGS, '--issuer': one.issuer } })
  admin = (await signIn(one, ADMIN)).access_token
  await write('CREATE TABLE shared (id Integer PRIMARY KEY, price Decimal(18, 4))')
  await until('the other node has the table', 5_000, async () => (await at(other, 'SELECT id FROM shared')).ok)
})
after(async () => {
  await other?.stop()
  await one?.stop()
  await opened?.leave()
  await stopOwnPostgres()
})

/** Clients of both nodes with one token. */
async function clients(): Promise<[McpClient, McpClient]> {
  const token = await agentToken(one)
  return [new McpClient(one, token), new McpClient(other, token)]
}
const call = (server: TestServer, path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${server.port}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${admin}`, ...init.headers },
  })
const at = (server: TestServer, statement: string) =>
  call(server, '/query', { method: 'POST', headers: { 'content-type': 'text/plain; charset=utf-8' }, body: statement })
async function write(statement: string): Promise<void> {
  const reply = await at(one, statement)
  assert.equal(reply.status, 200, await reply.text())
}
interface Grant {
  readonly id: string
  readonly last_call_at: string | null
  readonly calls_today: number
  readonly rows_today: number
  readonly watches: number
}
async function newestGrant(server: TestServer): Promise<Grant> {
  const reply = await call(server, '/admin/grants?agent=true&limit=1')
  const { items } = (await reply.json()) as { items: Grant[] }
  const [grant] = items
  assert.ok(grant !== undefined)
  return grant
}

const ROWS = 'SELECT id, price FROM shared'

test('a watch of one node goes on at the other', async () => {
  const [here, there] = await clients()
  const { structuredContent } = await here.call('watch', { statement: ROWS, format: 'json' })
  const { id, since } = structuredContent
  await write('INSERT INTO shared (id, price) VALUES (1, 2.5)')
  const changed = await there.call('changes', { id, since, wait: 10, format: 'json' })
  assert.deepEqual(
    changed.structuredContent.put.map(({ row }: { row: unknown }) => row),
    [[1, '2.5000']],
  )
  const again = await here.call('changes', { id, since: changed.structuredContent.since, format: 'json' })
  assert.deepEqual([again.structuredContent.reset, again.structuredContent.put], [false, []])
})

test('what initialize of one node began goes on at the other; a live chart too, and its listener there is notified', async () => {
  const [here, there] = await clients()
  assert.equal((await here.legacy('initialize', { protocolVersion: '2025-11-25' })).status, 200)
  const listed = await there.legacy('tools/call', { name: 'list_tables', arguments: { search: 'shared' } })
  assert.match(listed.body.result.content[0].text, /\nshared/)
  const { _meta: meta } = await here.call('chart', { statement: ROWS, live: true })
  const { id, since } = meta['gatehouse/chart']
  const notifications = { resourceSubscriptions: [`gatehouse://watch/${id}`] }
  const { body, headers } = there.envelope('subscriptions/listen', { notifications })
  const left = new AbortController()
  const stream = await there.open(body, headers, left.signal)
  const sent = (async () => {
    let text = ''
    for await (const piece of stream.body ?? []) {
      text += Buffer.from(piece).toString()
      if (text.includes('notifications/resources/updated')) return text
    }
    return text
  })()
  await write('INSERT INTO shared (id, price) VALUES (7, 1)')
  assert.ok((await sent).includes(`gatehouse://watch/${id}`))
  left.abort()
  const { structuredContent } = await there.call('changes', { id, since, format: 'json' })
  assert.deepEqual(structuredContent.put.at(-1).row, [7, '1.0000'])
  await write('DELETE FROM shared WHERE id = 7')
})

test('a question of one node is answered at the other', async () => {
  const [here, there] = await clients()
  const params = { name: 'query', arguments: { statement: 'SELECT DISTINCT venue FROM trades' } }
  const forms = { capabilities: { elicitation: {} } }
  const asked = await here.request('tools/call', params, forms)
  const { requestState } = asked.body.result
  const inputResponses = { run: { action: 'accept', content: { run: true } } }
  const ran = await there.request('tools/call', { ...params, requestState, inputResponses }, forms)
  assert.match(ran.body.result.content[0].text, /^4 rows · venue Text/)
})

test('the last call, and the calls, rows and watches of a grant are those of both', async () => {
  const [here, there] = await clients()
  assert.deepEqual(Object.values(await newestGrant(one)).slice(-4), [null, 0, 0, 0])
  await here.text('query', { statement: 'SELECT id FROM trades ORDER BY id LIMIT 3' })
  await there.error('query', { statement: 'SELECT nothing FROM trades' })
  await there.text('query', { statement: 'SELECT id FROM trades ORDER BY id LIMIT 4' })
  await there.call('watch', { statement: ROWS })
  await until('both have written what they counted', 10_000, async () => (await newestGrant(one)).calls_today === 4)
  const { last_call_at: last, rows_today: rows, watches } = await newestGrant(other)
  assert.deepEqual([rows, watches], [8, 1])
  assert.ok(Math.abs(Date.parse(last ?? '') - Date.now()) < 60_000, `${last}`)
})

test('a grant that is ended at one node ends a wait and a stream of the other within a second', async (t) => {
  const [, there] = await clients()
  const grant = await newestGrant(one)
  const { structuredContent } = await there.call('watch', { statement: ROWS, format: 'json' })
  const { id, since } = structuredContent
  const waiting = there.request('tools/call', { name: 'changes', arguments: { id, since, wait: 30 } })
  const notifications = { resourceSubscriptions: [`gatehouse://watch/${id}`] }
  const { body, headers } = there.envelope('subscriptions/listen', { notifications })
  const stream = await there.open(body, headers)
  assert.equal(stream.status, 200)
  const ended = stream.text().catch((error: unknown) => String(error))
  await new Promise((resolve) => setTimeout(resolve, 500))
  const start = performance.now()
  assert.equal((await call(one, `/admin/grants/${grant.id}`, { method: 'DELETE' })).status, 204)
  const [reply, text] = await Promise.all([waiting, ended])
  const took = performance.now() - start
  assert.equal(reply.status, 401, reply.text)
  assert.doesNotMatch(text, /"resultType":"complete"/)
  t.diagnostic(`ended after ${Math.round(took)} ms`)
  assert.ok(took < 1_500, `${took} ms`)
})

test('the rows of a day are one budget for both', async () => {
  const series = { statement: 'SELECT i FROM generate_series(1, 200) AS i' }
  const boss = await agentToken(one, ADMIN)
  const [first, second] = [new McpClient(one, boss), new McpClient(other, boss)]
  for (let at = 0; at < 3; at++) await first.call('query', series)
  await until('the other node knows', 15_000, async () => (await second.call('query', series)).isError === true)
  assert.match(await second.error('query', series), /^mcp\.rows: /)
})
