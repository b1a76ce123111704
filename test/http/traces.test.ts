/** Traces reach a collector as OTLP/HTTP JSON, belong to the caller's trace, and never carry an address. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

interface Span {
  traceId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: object }[]
}
interface Export {
  resourceSpans: { scopeSpans: { spans: Span[] }[] }[]
}

let collector: Server
let opened: { place: TestPlace; leave(): Promise<void> }
let server: TestServer
const received: Export[] = []

before(async () => {
  collector = createServer(async (request, response) => {
    // The test owns what it sends; the shape is asserted below.
    received.push((await json(request)) as Export)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  opened = await openPlace('sqlite')
  const { port } = collector.address() as AddressInfo
  server = await startTestServer(opened.place, {
    flags: { '--trace-endpoint': `http://127.0.0.1:${port}/v1/traces`, '--trace-ratio': '0' },
  })
})
after(async () => {
  collector.close()
  collector.closeAllConnections()
  await opened.leave()
})

test('a request with a sampled parent becomes a span of its trace, and one without is left out at ratio 0', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const response = await fetch(`${server.issuer}/healthz?code=very-secret`, {
    headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
  })
  assert.match(response.headers.get('traceresponse') ?? '', new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
  await fetch(`${server.issuer}/healthz`)
  await fetch(`${server.issuer}/healthz`, { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-00` } })
  await server.stop()
  const spans = received.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)),
  )
  assert.equal(spans.length, 1)
  const [span] = spans
  assert.partialDeepStrictEqual(span, { traceId: trace, parentSpanId: '00f067aa0ba902b7', name: 'GET /healthz' })
  assert.ok(BigInt(span?.endTimeUnixNano ?? 0) >= BigInt(span?.startTimeUnixNano ?? 1))
  assert.ok(!JSON.stringify(received).includes('very-secret'))
})
