/** The log of slow statements: the text as it was sent, who sent it and how it ended; never the values of parameters. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

describe('the log of slow statements', () => {
  let server: TestServer
  let token: string
  let leave: () => Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    server = await startTestServer(opened.place, { flags: { '--demo': 'true', '--log-slow-query': '0' } })
    token = (await signIn(server, ADMIN)).access_token
  })
  after(async () => {
    await server.stop()
    await leave()
  })

  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, {
      ...{ method: 'POST', body },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    })
  const slow = (part: string) =>
    server.log
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ msg, statement }) => msg === 'slow statement' && String(statement).includes(part))

  test('has the literals of a statement, and not the values of its parameters', async () => {
    const statement = `SELECT count(*) AS n FROM trades WHERE symbol = :symbol AND id <> 4711`
    const body = JSON.stringify({ statement, parameters: { symbol: 'NEEDLE' } })
    const reply = await post('/query', body, { 'request-id': 'slow-1' })
    assert.equal(reply.status, 200, await reply.text())
    const [line] = slow('4711')
    assert.partialDeepStrictEqual(line, {
      level: 'warn',
      reqId: 'slow-1',
      client: 'demo-cli',
      outcome: 'ok',
      statement,
    })
    assert.match(String(line?.user), /^usr_/)
    assert.equal(typeof line?.ms, 'number')
    assert.ok(!server.log.some((text) => text.includes('NEEDLE')))
  })

  test('names a call by its path, without its criteria', async () => {
    const reply = await post('/Query/trades/Select', JSON.stringify([{ symbol: 'NEEDLE-2' }]))
    await reply.text()
    assert.equal(slow('/Query/trades/Select').length, 1)
    assert.ok(!server.log.some((text) => text.includes('NEEDLE-2')))
  })

  test('names a bulk insert by its path', async () => {
    const line = {
      id: 900_001,
      symbol: 'ACME',
      side: 'Buy',
      quantity: 1,
      price: '1.5',
      executed_at: '2026-01-05T09:00:00Z',
    }
    const reply = await post('/Query/trades/Insert', `${JSON.stringify(line)}\n`, {
      'content-type': 'application/x-ndjson',
    })
    assert.equal(reply.status, 200, await reply.text())
    assert.deepEqual(
      slow('/Query/trades/Insert').map(({ outcome, client }) => [outcome, client]),
      [['ok', 'demo-cli']],
    )
  })

  test('says how a statement failed, and cuts a long text', async () => {
    const text = `SELECT no_such_column FROM trades WHERE symbol <> '${'x'.repeat(20_000)}'`
    assert.equal((await post('/query', text, { 'content-type': 'text/plain' })).status, 400)
    const [line] = slow('no_such_column')
    assert.notEqual(line?.outcome, 'ok')
    assert.equal(String(line?.statement).length, 10_001)
  })

  test('has the runs of live statements', async () => {
    const stop = new AbortController()
    const reply = await fetch(`http://127.0.0.1:${server.port}/query`, {
      ...{ method: 'POST', body: 'SELECT max(price) AS p FROM trades WHERE id < 4712', signal: stop.signal },
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain', accept: 'text/event-stream' },
    })
    assert.equal(reply.status, 200)
    await until('it is logged', 2000, () => slow('4712').length === 1)
    assert.match(String(slow('4712')[0]?.owner), /^user:usr_/)
    stop.abort()
  })
})

test('no statement is logged by default', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--demo': 'true' } })
  t.after(async () => {
    await server.stop()
    await leave()
  })
  const { access_token } = await signIn(server, ADMIN)
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'text/plain' }
  const body = 'SELECT count(*) AS n FROM trades a, trades b WHERE b.id <= 3'
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/query`, { method: 'POST', headers, body })).status, 200)
  assert.ok(!server.log.some((line) => line.includes('slow statement')))
})
