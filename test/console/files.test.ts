/** What the server sends at /console: the page, its files, their caching, compression and policy; and its client. */
import assert from 'node:assert/strict'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { buildConsole } from '../../packages/console/build.js'
import { consoleGroup } from '../../packages/server/src/console/routes.ts'
import { chooseEncoding } from '../../packages/server/src/http/compressed.ts'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { ADMIN, bearer, post, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let leave: () => Promise<void>

before(async () => {
  await buildConsole()
  const opened = await openPlace('sqlite')
  leave = opened.leave
  const port = await freePort()
  server = await startTestServer(opened.place, {
    flags: {
      '--demo': 'true',
      '--port': String(port),
      '--issuer': `http://localhost:${port}/gate`,
      '--brand-name': 'A & "B"',
      '--brand-colour': '#0a7d4f',
    },
  })
})
after(async () => {
  await server?.stop()
  await leave?.()
})

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.issuer + path, { headers, redirect: 'manual' })
}

async function urlsOfPage(): Promise<string[]> {
  const html = await (await get('/console')).text()
  return [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url).filter((url) => url.startsWith('/'))
}

test('every path below /console is the page, with the strictest policy', async () => {
  for (const path of ['/console', '/console/', '/console/people/42?tab=roles', '/CONSOLE/query']) {
    const reply = await get(path)
    assert.equal(reply.status, 200, path)
    assert.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(
      reply.headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; " +
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    )
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(reply.headers.get('cache-control'), 'no-cache')
    assert.match(await reply.text(), /<title>Console · A &amp; &quot;B&quot;<\/title>/)
  }
  assert.equal((await fetch(`${server.issuer}/console`, { method: 'POST' })).status, 405)
})

test('the page is not sent again to those who have it', async () => {
  const tag = (await get('/console')).headers.get('etag') ?? ''
  const again = await get('/console/people', { 'if-none-match': `"other", ${tag}` })
  assert.equal(again.status, 304)
  assert.equal(await again.text(), '')
})

test('the page is in the language of the cookie, or else of the browser, or else in English', async () => {
  for (const [accepted, cookie, language] of [
    ['de-AT, en;q=0.5', '', 'de'],
    ['en-GB, de;q=0.9', '', 'en'],
    ['xx, de;q=0.1', '', 'de'],
    ['xx', '', 'en'],
    ['en', 'a=b; console_language=de', 'de'],
    ['de', 'console_language=en', 'en'],
    ['de', 'console_language=xx', 'de'],
  ] as const) {
    const reply = await get('/console', { 'accept-language': accepted, cookie })
    const page = await reply.text()
    assert.ok(page.includes(`<html lang="${language}">`), `${accepted} ${cookie}`)
    assert.match(page, language === 'de' ? /<title>Konsole/ : /<title>Console/)
    assert.match(reply.headers.get('vary') ?? '', /accept-language, cookie/)
  }
})

test('its files are below the path of the issuer, cached forever, and compressed as the browser accepts', async () => {
  const urls = (await urlsOfPage()).filter((url) => url.includes('/console/assets/'))
  assert.ok(urls.length >= 4)
  for (const url of urls) {
    assert.ok(url.startsWith('/gate/console/assets/'), url)
    const path = url.slice('/gate'.length)
    const plain = await get(path, { 'accept-encoding': 'identity' })
    const gzip = await get(path, { 'accept-encoding': 'gzip' })
    assert.equal(plain.headers.get('content-encoding'), null)
    assert.equal(gzip.headers.get('content-encoding'), 'gzip')
    assert.equal((await get(path, { 'accept-encoding': 'gzip, br' })).headers.get('content-encoding'), 'br')
    assert.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal(plain.headers.get('vary'), 'accept-encoding')
    assert.equal(await gzip.text(), await plain.text())
  }
  const missing = await get('/console/assets/main-OLD.js')
  assert.equal(missing.status, 404)
})

test('the colours are those of the sign-in pages', async () => {
  const tokens = (await urlsOfPage()).find((url) => url.includes('/tokens-')) ?? ''
  const css = await (await get(tokens.slice('/gate'.length))).text()
  assert.match(css, /--button:#0a7d4f/)
  assert.match(css, /\[data-theme=dark\]/)
})

test('the first load is small', async (t) => {
  const sizes = await Promise.all(
    ['/gate/console', ...(await urlsOfPage()).filter((url) => url.includes('/console/assets/'))].map(async (url) => {
      const reply = await get(url.slice('/gate'.length), { 'accept-encoding': 'br' })
      return Number(reply.headers.get('content-length'))
    }),
  )
  const sum = sizes.reduce((total, size) => total + size, 0)
  t.diagnostic(`${sum} bytes compressed`)
  assert.ok(sum <= 55_000, `${sum} bytes`)
})

test('the style sheet of an area is loaded with the area, and only then', async () => {
  const html = await (await get('/console')).text()
  const linked = [...html.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)].map(([, url = '']) => url)
  const first = (await Promise.all(linked.map(async (url) => (await get(url.slice('/gate'.length))).text()))).join()
  const told = html.match(/<meta name="gatehouse" content="([^"]+)"/)?.[1]?.replaceAll('&quot;', '"') ?? ''
  const { areaStyles } = JSON.parse(told.replaceAll('&amp;', '&')) as { areaStyles: Record<string, string> }
  for (const [area, rule] of Object.entries({ query: '.query-result', boards: '.tile', streams: '.message-log' })) {
    assert.ok(!first.includes(rule), `${area} is not part of the first load`)
    const own = await (await get((areaStyles[area] ?? '').slice('/gate'.length))).text()
    assert.ok(own.includes(rule), area)
  }
  assert.match(first, /\.shell/)
})

test('encodings: the best that is accepted, none that is refused', () => {
  assert.equal(chooseEncoding('gzip, deflate, br, zstd'), 'br')
  assert.equal(chooseEncoding('br;q=0, gzip;q=0.5'), 'gzip')
  assert.equal(chooseEncoding('BR'), 'br')
  assert.equal(chooseEncoding('gzip;q=0.000'), undefined)
  assert.equal(chooseEncoding(undefined), undefined)
})

test('the client of the console is built in: listed, and protected from change', async () => {
  const port = { port: server.port }
  const { access_token: token } = await signIn(port, ADMIN)
  const admin = (path: string, method = 'GET', body?: unknown) =>
    fetch(`${server.issuer}/admin${path}`, {
      method,
      headers: { ...bearer(token).headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const shown = (await (await admin('/clients/gatehouse-console')).json()) as Record<string, unknown>
  assert.equal(shown.built_in, true)
  assert.deepEqual(shown.redirect_uris, [`${server.issuer}/console`])
  const ids: string[] = []
  for (let path: string | null = '/clients?limit=2'; path !== null; ) {
    const page = (await (await admin(path)).json()) as { items: { client_id: string }[]; next: string | null }
    ids.push(...page.items.map(({ client_id }) => client_id))
    path = page.next?.slice('/admin'.length) ?? null
  }
  assert.deepEqual(ids, [...new Set(ids)].sort(), 'each once, in order')
  assert.ok(ids.includes('gatehouse-console') && ids.includes('demo-spa'))
  for (const [path, method, body] of [
    ['/clients/gatehouse-console', 'PATCH', { disabled: true }],
    ['/clients/gatehouse-console', 'DELETE', undefined],
    ['/clients/gatehouse-console/secrets', 'POST', {}],
  ] as const)
    assert.equal((await admin(path, method, body)).status, 409, method)
  const taken = {
    client_id: 'gatehouse-console',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['https://x.test/'],
  }
  assert.equal((await admin('/clients', 'POST', taken)).status, 422)
})

test('its redirect URI is that of the issuer alone, and it has no other grant', async () => {
  const url = new URL(`${server.issuer}/connect/authorize`)
  url.search = new URLSearchParams({
    client_id: 'gatehouse-console',
    redirect_uri: 'https://evil.example/console',
    response_type: 'code',
    scope: 'openid',
  }).toString()
  const reply = await fetch(url, { redirect: 'manual' })
  assert.equal(reply.status, 400)
  const granted = await post(server, '/gate/connect/token', {
    grant_type: 'password',
    client_id: 'gatehouse-console',
    ...ADMIN,
  })
  assert.equal(((await granted.json()) as { error: string }).error, 'unauthorized_client')
})

test('before it is built the page says what to do; afterwards it is there without a restart', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-console-'))
  t.after(() => rm(folder, { recursive: true }))
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  t.after(() => listener.close(0))
  const group = consoleGroup({
    nonce: () => undefined,
    ...{
      folder,
      base: '',
      issuer: 'http://localhost',
      version: '1',
      services: [],
      mail: false,
      agents: false,
      wire: undefined,
      demo: false,
    },
    ...{ name: 'Gate', tokens: ':root{}', font: '', logo: undefined },
  })
  const logger = createLogger({ level: 'silent', format: 'json', destination: { write() {} } })
  const metrics = new Metrics()
  listener.answerWith(new Pipeline({ groups: [group], logger, metrics, readAddress: connectionAddress }))
  const ask = () => fetch(`http://127.0.0.1:${listener.port}/console/query`)
  const before = await ask()
  assert.equal(before.status, 503)
  assert.match(await before.text(), /npm run setup/)
  await cp(fileURLToPath(new URL('../../packages/console/dist', import.meta.url)), folder, { recursive: true })
  const after = await ask()
  assert.equal(after.status, 200)
  assert.match(await after.text(), /<script type="module"/)
})

test('switched off, there is neither the console nor its client', async () => {
  const { place, leave: leaveOther } = await openPlace('sqlite')
  const other = await startTestServer(place, { flags: { '--console': 'false' } })
  try {
    assert.equal((await fetch(`${other.issuer}/console`)).status, 404)
    const reply = await post(other, '/connect/token', {
      grant_type: 'authorization_code',
      client_id: 'gatehouse-console',
    })
    assert.equal(((await reply.json()) as { error: string }).error, 'invalid_client')
  } finally {
    await other.stop()
    await leaveOther()
  }
})
