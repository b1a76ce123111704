/** Addresses opened in a browser: a start page, and errors as pages; programs get what they always got. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { prefersHtml } from '../../packages/server/src/http/request/accept.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, useServer } from '../support/server.ts'

/** What Chromium, Firefox and Safari send when a person opens an address. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

test('HTML is for clients that name it and prefer it to JSON', () => {
  const table: readonly (readonly [accept: string | undefined, isHtml: boolean])[] = [
    [undefined, false],
    ['*/*', false],
    ['text/*', false],
    ['application/json', false],
    ['application/json, text/plain, */*', false],
    ['application/json, text/html', false],
    ['text/html;q=0.5, application/json', false],
    ['text/html;q=0.5, application/problem+json;q=0.6', false],
    ['text/html;q=0, */*', false],
    ['text/htmlx', false],
    ['', false],
    [',;q=,', false],
    ['text/html', true],
    ['TEXT/HTML', true],
    ['text/html, application/json;q=0.9', true],
    [BROWSER, true],
  ]
  for (const [accept, isHtml] of table)
    assert.equal(prefersHtml({ headers: accept === undefined ? {} : { accept } }), isHtml, accept)
  assert.equal(prefersHtml({ headers: { accept: BROWSER, authorization: 'Bearer x' } }), false)
})

describe('a browser', () => {
  const server = useServer()

  const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(server.issuer + path, { method, redirect: 'manual', headers: { accept: BROWSER, ...headers } })

  test('gets a start page with the health and a way to everything; the links work', async () => {
    const response = await open('/')
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(response.headers.get('vary') ?? '', /\baccept\b/)
    assert.doesNotMatch(response.headers.get('content-security-policy') ?? '', /unsafe/)
    const body = await response.text()
    assert.match(body, /<h1>Welcome to Gatehouse<\/h1>/)
    assert.match(body, /data-state="ok">Everything is running</)
    assert.match(body, /<li data-check="database" data-state="ok"><span>Database<\/span><b>running<\/b>/)
    const links = [...body.matchAll(/<a [^>]*href="(\/[^"]*)"/g)].map(([, path = '']) => path)
    for (const path of ['/console', '/account', '/docs', '/.well-known/openid-configuration', '/openapi.json'])
      assert.ok(links.includes(path), path)
    for (const path of new Set(links))
      if (path !== '/console') assert.ok((await open(path)).status < 400, `${path} is served`)
  })

  test('is greeted in its language', async () => {
    assert.match(await (await open('/', { 'accept-language': 'de' })).text(), /Willkommen bei Gatehouse/)
    assert.match(await (await open('/', { 'accept-language': 'fr-CH' })).text(), /Bienvenue sur Gatehouse/)
    assert.match(await (await open('/nothing', { 'accept-language': 'de' })).text(), /Seite nicht gefunden/)
  })

  test('programs get the same at / as before: 404 and a problem document', async () => {
    for (const accept of ['*/*', 'application/json', undefined]) {
      const response = await fetch(`${server.issuer}/`, accept === undefined ? {} : { headers: { accept } })
      assert.equal(response.status, 404)
      assert.equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8')
      assert.partialDeepStrictEqual(await response.json(), {
        Code: 'http.not_found',
        detail: 'Nothing is served at this address',
      })
    }
  })

  for (const [name, path, method, status, code] of [
    ['an unknown path', '/nothing', 'GET', 404, 'http.not_found'],
    ['an unknown page of ours', '/account/nothing', 'GET', 404, 'http.not_found'],
    ['a form for nobody', '/nothing', 'POST', 404, 'http.not_found'],
    ['a wrong method', '/connect/token', 'GET', 405, 'http.method_not_allowed'],
    ['an address for programs', '/admin/users', 'GET', 401, 'access.token_needed'],
    ['the metrics', '/metrics', 'GET', 401, 'access.token_needed'],
    ['the query service', '/query', 'GET', 401, 'Auth.Required'],
    ['a stream', '/Platform', 'GET', 426, 'stream.upgrade_required'],
    ['a long address', `/healthz?${'x'.repeat(9000)}`, 'GET', 414, 'request.url_too_long'],
  ] as const)
    test(`gets a page with the code and the request id for ${name}, programs a problem document`, async () => {
      const response = await open(path, { 'request-id': 'mine-1' }, method)
      assert.equal(response.status, status)
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.match(response.headers.get('vary') ?? '', /\baccept\b/)
      assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self'/)
      const body = await response.text()
      assert.ok(body.includes(`<code id="error">${code}</code>`), body)
      assert.ok(body.includes('<code id="request-id">mine-1</code>'))
      assert.match(body, /id="to-start" href="\/"/)
      for (const headers of [{ accept: '*/*' }, { accept: BROWSER, authorization: 'Bearer x' }]) {
        const other = await fetch(server.issuer + path, { method, headers })
        assert.match(other.headers.get('content-type') ?? '', /^application\/problem\+json/)
        assert.match(other.headers.get('vary') ?? '', /\baccept\b/)
        assert.equal(((await other.json()) as { status: number }).status, other.status)
      }
    })

  test('a wrong method keeps its Allow header', async () => {
    assert.equal((await open('/healthz', {}, 'DELETE')).headers.get('allow'), 'GET, HEAD')
  })

  test('RFC 6749 §5.2: an OAuth endpoint answers in JSON, whatever is accepted', async () => {
    const body = new URLSearchParams({ grant_type: 'password' })
    const response = await fetch(`${server.issuer}/connect/token`, {
      method: 'POST',
      headers: { accept: BROWSER },
      body,
    })
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  })

  test('what a path contains is escaped, and its text does not reach the page', async () => {
    const body = await (await open('/<script>alert(1)</script>')).text()
    assert.doesNotMatch(body, /<script>|alert/)
  })
})

test('at an issuer with a path, the path itself is the start page, and its links lead below it', async () => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--issuer': 'https://example.com/gate' } })
  try {
    for (const path of ['/gate', '/gate/', '/gate?utm=1']) {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { accept: BROWSER } })
      assert.equal(response.status, 200, path)
      assert.match(await response.text(), /<a class="tile" href="\/gate\/docs">/)
    }
    const outside = await fetch(`http://127.0.0.1:${server.port}/gates`, { headers: { accept: BROWSER } })
    assert.equal(outside.status, 404)
  } finally {
    await server.stop()
    await leave()
  }
})

test('a node without the identity service has the page too, without what it does not serve', async () => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--services': 'query' } })
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/`, { headers: { accept: BROWSER } })
    assert.equal(response.status, 200)
    const body = await response.text()
    assert.doesNotMatch(body, /href="\/account"|openid-configuration/)
    const [, stylesheet = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(body) ?? []
    assert.equal((await fetch(`http://127.0.0.1:${server.port}${stylesheet}`)).status, 200)
  } finally {
    await server.stop()
    await leave()
  }
})

test('a node that is stopping says so on its start page', async () => {
  const { place, leave } = await openPlace('sqlite')
  const server = await startTestServer(place, { flags: { '--stop-delay': '2' } })
  const stopped = server.stop()
  try {
    const response = await fetch(`${server.issuer}/`, { headers: { accept: BROWSER } })
    const body = await response.text()
    assert.match(body, /data-state="bad">Not everything is running</)
    assert.match(body, /<li data-check="process" data-state="bad"><span>Server<\/span><b>stopping<\/b>/)
  } finally {
    await stopped
    await leave()
  }
})
