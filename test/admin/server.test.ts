/** Administration of a running server: real tokens, streaming connections, running queries, metrics, audit log. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import WebSocket from 'ws'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

onEveryEngineInLongRuns('a server in operation', (place) => {
  let server: TestServer
  let admin: string
  let trader: string
  before(async () => {
    server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    admin = await requestToken('admin', 'admin-please-change')
    trader = await requestToken('alice', 'wonderland-1')
  })
  after(() => server.stop())

  async function requestToken(username: string, password: string): Promise<string> {
    const form = { grant_type: 'password', username, password, client_id: 'demo-cli' }
    const response = await fetch(`${server.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    return readToken(await response.json())
  }

  const call = async (method: string, path: string, token = admin, body?: string) => {
    const response = await fetch(server.issuer + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'text/plain' }) },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    return { status: response.status, text, headers: response.headers }
  }
  const items = async (path: string): Promise<Record<string, unknown>[]> =>
    JSON.parse((await call('GET', path)).text).items

  test('a token without administration scopes is refused', async () => {
    for (const path of ['/admin/users', '/admin/streams', '/admin/audit', '/admin/settings', '/metrics'])
      assert.equal((await call('GET', path, trader)).status, 403, path)
    assert.equal((await fetch(`${server.issuer}/metrics`)).status, 401)
  })

  test('metrics count tokens, requests and connections', async () => {
    await fetch(`${server.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', username: 'alice', password: 'no', client_id: 'demo-cli' }),
    })
    const { text } = await call('GET', '/metrics')
    for (const line of [
      /gatehouse_tokens_total\{grant="password",outcome="issued"\} \d/,
      /gatehouse_tokens_total\{grant="password",outcome="invalid_grant"\} \d/,
      /gatehouse_http_requests_total\{method="POST",route="\/connect\/token",status="200"\} \d/,
      /gatehouse_streaming_connections\{state="authenticated"\} \d/,
      /gatehouse_query_processes\{state="idle"\} \d/,
      /gatehouse_hash_queue\{state="running"\} 0/,
      /gatehouse_bus_lag_seconds 0\.\d/,
    ])
      assert.match(text, line)
  })

  test('a renamed user does not keep the rows of the old name, with a token in use', async () => {
    const query = async (statement: string, token: string) =>
      JSON.parse((await call('POST', '/Query', token, statement)).text)
    const scopes = "READ SCOPE 'Platform/Trading' WRITE SCOPE 'Platform/Trading'"
    await query(`CREATE TABLE own (id Integer PRIMARY KEY, owner Text) ${scopes} ROW FILTER (owner = :username)`, admin)
    await query("INSERT INTO own VALUES (1, 'alice')", trader)
    assert.deepEqual((await query('SELECT id FROM own', trader)).Rows, [{ id: 1 }])
    const rename = async (from: string, username: string) => {
      const headers = {
        authorization: `Bearer ${admin}`,
        'content-type': 'application/merge-patch+json',
        'if-match': '*',
      }
      const init = { method: 'PATCH', headers, body: JSON.stringify({ username }) }
      assert.equal((await fetch(`${server.issuer}/admin/users/${from}`, init)).status, 200)
    }
    await rename('alice', 'alicia')
    await until('the row is gone', 2000, async () => (await query('SELECT id FROM own', trader)).Rows.length === 0)
    await rename('alicia', 'alice')
    await until('the row is back', 2000, async () => (await query('SELECT id FROM own', trader)).Rows.length === 1)
  })

  test('streaming connections are listed and closed', async () => {
    const socket = new WebSocket(`${server.issuer.replace('http', 'ws')}/Platform?version=1.1`, 'PlatformJson', {
      headers: { authorization: `Bearer ${trader}` },
    })
    await once(socket, 'open')
    await until('the stream is listed', 2000, async () => (await items('/admin/streams')).length === 1)
    const [stream] = await items('/admin/streams')
    assert.partialDeepStrictEqual(stream, { username: 'alice', client: 'demo-cli', subscriptions: 0 })
    const closed = once(socket, 'close')
    const kicked = await call('DELETE', `/admin/streams/${stream?.id}`)
    assert.deepEqual([kicked.status, JSON.parse(kicked.text)], [200, { closed: 1, silent: [] }])
    const [code] = await closed
    assert.equal(code, 4000)
    await until('the stream is gone', 2000, async () => (await items('/admin/streams')).length === 0)
  })

  test('a running query is listed and cancelled', async () => {
    const many = Array.from({ length: 7 }, (_value, index) => `trades t${index}`).join(' CROSS JOIN ')
    const slow = call('POST', '/query', admin, `SELECT count(*) AS n FROM ${many}`)
    await until('the query is listed', 5000, async () => (await items('/admin/queries')).length === 1)
    const [running] = await items('/admin/queries')
    assert.match(String(running?.statement), /^SELECT count/)
    assert.equal((await call('DELETE', `/admin/queries/${running?.id}`)).status, 204)
    assert.ok((await slow).status >= 400)
    assert.equal((await call('DELETE', '/admin/queries/none')).status, 404)
  })

  test('table definitions are recorded in the audit log', async () => {
    const made = await call('POST', '/query', admin, 'CREATE TABLE kept (id Integer PRIMARY KEY)')
    assert.equal(made.status, 200, made.text)
    await call('POST', '/query', admin, 'ALTER TABLE kept ADD COLUMN note Text')
    await call('POST', '/query', admin, 'DROP TABLE kept')
    const rows = await items('/admin/audit?event=query.defined&target=kept')
    assert.deepEqual(
      rows.map(({ details }) => details),
      [
        { statement: 'drop', table: 'kept' },
        { statement: 'add-column', table: 'kept' },
        { statement: 'create', table: 'kept' },
      ],
    )
    assert.match(String(rows[0]?.actor), /^usr_/)
  })

  test('the effective settings are shown without secrets', async () => {
    const settings = await items('/admin/settings')
    const url = settings.find(({ name }) => name === 'database_url')
    assert.equal(url?.value, place().engine === 'postgres' ? '********' : '')
    assert.equal(settings.find(({ name }) => name === 'demo')?.source, 'flag')
  })

  test('the OpenAPI document is served', async () => {
    const response = await fetch(`${server.issuer}/openapi.json`)
    const api = JSON.parse(await response.text())
    assert.equal(api.openapi, '3.1.0')
    for (const path of ['/admin/users/{user}', '/query', '/Query/{TableName}/Select'])
      assert.ok(path in api.paths, path)
  })

  test('RFC 9110 §8.4, §13.1.2: the OpenAPI document is compressed, and not sent again to who has it', async () => {
    const ask = (headers: Record<string, string>) =>
      request({ port: server.port, path: '/openapi.json', headers, agent: false }).end()
    const lengths: number[] = []
    let text: string | undefined
    for (const [coding, decode] of [
      ['identity', (bytes: Buffer) => bytes],
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const [reply] = await once(ask({ 'accept-encoding': coding }), 'response')
      const bytes = Buffer.concat(await Array.fromAsync<Buffer>(reply))
      const { 'content-encoding': sent = 'identity', 'content-type': type, vary } = reply.headers
      assert.deepEqual([reply.statusCode, sent, type], [200, coding, 'application/json'])
      assert.match(vary, /accept-encoding/)
      lengths.push(bytes.length)
      text ??= bytes.toString()
      assert.equal(String(decode(bytes)), text)
      const [again] = await once(ask({ 'accept-encoding': coding, 'if-none-match': reply.headers.etag }), 'response')
      assert.deepEqual([again.statusCode, (await Array.fromAsync(again)).length], [304, 0])
    }
    const [plain = 0, gzip = 0, brotli = 0] = lengths
    assert.ok(gzip < plain / 4 && brotli < gzip, `${lengths}`)
  })

  test('rate limits are enforced, and reported in the responses that they count', async () => {
    const limited = await startTestServer(place(), {
      flags: { '--limit-exempt': '', '--limit-query': 'address=1000/60 user=3/60', '--limit-admin': 'client=2/60' },
    })
    try {
      const query = () =>
        fetch(`${limited.issuer}/query`, {
          method: 'POST',
          headers: { authorization: `Bearer ${own}`, 'content-type': 'text/plain' },
          body: 'SELECT 1 AS one',
        })
      const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
      const answer = await fetch(`${limited.issuer}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
      const own = readToken(await answer.json())
      const first = await query()
      assert.match(first.headers.get('ratelimit') ?? '', /"user";r=2/)
      await query()
      await query()
      const refused = await query()
      assert.equal(refused.status, 429)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      const users = () => fetch(`${limited.issuer}/admin/users`, { headers: { authorization: `Bearer ${own}` } })
      assert.deepEqual([(await users()).status, (await users()).status, (await users()).status], [200, 200, 429])
    } finally {
      await limited.stop()
    }
  })
})

function readToken(body: unknown): string {
  assert.ok(typeof body === 'object' && body !== null && 'access_token' in body)
  return String(body.access_token)
}
