/** Traces are sent as OTLP/HTTP JSON, continue the caller's trace, contain child spans, and carry no secret. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { type ProgramRequest, startProgram } from '../support/remote-program.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'
import { WireSession } from '../support/wire-session.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[]
}
interface Export {
  resourceSpans: { scopeSpans: { spans: Span[] }[] }[]
}

onEveryEngineInLongRuns('traces', (place, engine) => {
  let collector: Server
  let server: TestServer
  let spans: readonly Span[]
  const received: Export[] = []

  before(async () => {
    collector = createServer(async (request, response) => {
      // The test owns what it sends; the shape is asserted below.
      received.push((await json(request)) as Export)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
    const { port } = collector.address() as AddressInfo
    const endpoint = `http://127.0.0.1:${port}/v1/traces`
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--wire-port': '0', '--trace-endpoint': endpoint, '--trace-ratio': '0' },
    })
    try {
      await useTheServer()
    } finally {
      await server.stop()
    }
    spans = received.flatMap(({ resourceSpans }) => resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)))
  })
  after(() => {
    collector.close()
    collector.closeAllConnections()
  })

  const HEALTH = 'a'.repeat(32)
  const TOKEN = 'b'.repeat(32)
  const QUERY = 'c'.repeat(32)
  const REFUSED = 'd'.repeat(32)
  const CALL = 'e'.repeat(32)
  const WIRE = 'f'.repeat(32)
  const AGENT = '9'.repeat(32)
  let called: ProgramRequest | undefined
  const CALLER = '00f067aa0ba902b7'
  const parent = (trace: string, flags = '01') => ({ traceparent: `00-${trace}-${CALLER}-${flags}` })

  async function useTheServer(): Promise<void> {
    const health = await fetch(`${server.issuer}/healthz?code=very-secret`, { headers: parent(HEALTH) })
    assert.match(health.headers.get('traceresponse') ?? '', new RegExp(`^00-${HEALTH}-[0-9a-f]{16}-01$`))
    await fetch(`${server.issuer}/healthz`)
    await fetch(`${server.issuer}/healthz`, { headers: parent(HEALTH, '00') })
    const form = { grant_type: 'password', username: 'admin', password: 'admin-please-change', client_id: 'demo-cli' }
    const token = await fetch(`${server.issuer}/connect/token`, {
      method: 'POST',
      headers: parent(TOKEN),
      body: new URLSearchParams(form),
    })
    const { access_token } = (await token.json()) as { access_token: string }
    const query = await fetch(`${server.issuer}/query`, {
      method: 'POST',
      headers: { ...parent(QUERY), authorization: `Bearer ${access_token}`, 'content-type': 'text/plain' },
      body: "SELECT symbol, 'very-secret' AS said FROM trades ORDER BY id LIMIT 3",
    })
    assert.equal(query.status, 200)
    await query.text()
    const refused = await fetch(`${server.issuer}/query`, {
      method: 'POST',
      headers: parent(REFUSED),
      body: 'SELECT 1',
    })
    assert.equal(refused.status, 401)
    assert.match(refused.headers.get('traceresponse') ?? '', new RegExp(`^00-${REFUSED}-[0-9a-f]{16}-01$`))
    await refused.text()
    await callRemoteController(access_token)
    const session = await WireSession.open(server.wirePort ?? 0, 'admin', 'admin-please-change')
    await session.query("SELECT symbol, 'very-secret' AS said FROM trades ORDER BY id LIMIT 3")
    await session.query(`SELECT id FROM trades LIMIT 3 /*app='x',traceparent='${parent(WIRE).traceparent}'*/`)
    session.close()
    const agent = new McpClient(server, await agentToken(server))
    const statement = "SELECT symbol, 'very-secret' AS said FROM trades ORDER BY id LIMIT 3"
    await agent.call('query', { statement }, { meta: parent(AGENT) })
    await agent.call('query', { statement }, { meta: parent(AGENT, '00') })
    await agent.call('query', { statement }, { meta: { traceparent: 'nonsense' } })
  }

  async function callRemoteController(token: string): Promise<void> {
    const program = await startProgram()
    const authorization = { authorization: `Bearer ${token}` }
    const declared = await fetch(`${server.issuer}/admin/controllers/Orders`, {
      method: 'PUT',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ url: program.url, topics: [{ name: 'Place', needs: 'identity' }] }),
    })
    assert.equal(declared.status, 201)
    const stream = await connect(server.port, { headers: { ...authorization, ...parent(CALL) } })
    await stream.request({ Controller: 'Orders', Topic: 'Place', TransactionID: 1, Data: 'very-secret' })
    stream.socket.terminate()
    called = program.requests[0]
    await program.stop()
  }

  const of = (trace: string) => {
    const mine = spans.filter(({ traceId }) => traceId === trace)
    const server = mine.find(({ kind }) => kind === 2)
    assert.ok(server !== undefined)
    return { server, children: mine.filter((span) => span !== server) }
  }
  const attributes = (span: Span) =>
    Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))

  test('a request with a sampled parent becomes a span of its trace, and one without is left out at ratio 0', () => {
    assert.equal(spans.filter(({ name }) => name === 'GET /healthz').length, 1)
    const { server: span } = of(HEALTH)
    assert.partialDeepStrictEqual(span, { parentSpanId: CALLER, name: 'GET /healthz' })
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano))
    assert.deepEqual(
      [...new Set(spans.map(({ traceId }) => traceId))].toSorted(),
      [AGENT, HEALTH, TOKEN, QUERY, REFUSED, CALL, WIRE].toSorted(),
    )
  })

  test('a statement over PostgreSQL’s protocol is a span, in the trace that a comment names', () => {
    const { server: span, children } = of(WIRE)
    assert.partialDeepStrictEqual(span, { parentSpanId: CALLER, name: 'query' })
    assert.deepEqual(children, [])
    assert.partialDeepStrictEqual(attributes(span), {
      'db.system.name': engine === 'sqlite' ? 'sqlite' : 'postgresql',
      'network.protocol.name': 'postgresql',
      'gatehouse.outcome': 'ok',
      'gatehouse.rows': 3,
    })
  })

  test('statements of the identity database are spans within the request that waits for them', () => {
    const { server: span, children } = of(TOKEN)
    assert.equal(span.name, 'POST /connect/token')
    const users = children.find(({ name }) => name === 'select users')
    assert.ok(users !== undefined, children.map(({ name }) => name).join(', '))
    assert.deepEqual(attributes(users), {
      'db.system.name': engine === 'sqlite' ? 'sqlite' : 'postgresql',
      'db.operation.name': 'select',
      'db.collection.name': 'users',
    })
    for (const child of children) {
      assert.equal(child.parentSpanId, span.spanId)
      assert.ok(BigInt(child.startTimeUnixNano) >= BigInt(span.startTimeUnixNano) - 1_000_000n, child.name)
      assert.ok(BigInt(child.endTimeUnixNano) <= BigInt(span.endTimeUnixNano), child.name)
      // Written later, for many requests together.
      assert.doesNotMatch(child.name, /audit/)
    }
  })

  test('a query is a span with its outcome and rows, and without its text', () => {
    const { server: span, children } = of(QUERY)
    const query = children.find(({ name }) => name === 'query')
    assert.ok(query !== undefined)
    assert.equal(query.parentSpanId, span.spanId)
    assert.partialDeepStrictEqual(attributes(query), { 'gatehouse.outcome': 'ok', 'gatehouse.rows': 3 })
  })

  test('a call of an agent is a span of the trace that its message names, with its statement', () => {
    const { server: span, children } = of(AGENT)
    assert.partialDeepStrictEqual(span, { parentSpanId: CALLER, name: 'tools/call query' })
    assert.deepEqual(attributes(span), { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'query' })
    const query = children.find(({ name }) => name === 'query')
    assert.equal(query?.parentSpanId, span.spanId)
  })

  test('a request to a remote controller is a span in the trace of the upgrade, which the program continues', () => {
    const span = spans.find(({ name }) => name === 'Orders/Place')
    assert.partialDeepStrictEqual(span, { traceId: CALL, parentSpanId: CALLER, kind: 3 })
    assert.equal(called?.headers.traceparent, `00-${CALL}-${span?.spanId}-01`)
    assert.deepEqual(span && attributes(span), {
      'http.request.method': 'POST',
      'gatehouse.request_id': called?.headers['x-request-id'],
      'gatehouse.outcome': 'ok',
    })
  })

  test('spans contain no URL, password, token or statement', () => {
    assert.doesNotMatch(JSON.stringify(received), /very-secret|admin-please-change|eyJ|trades/)
  })
})
