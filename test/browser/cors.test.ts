/** A page of another origin in a real Chromium: it signs in, queries, inserts, administers, and reads headers and errors. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { type Page, startChromium, type TestBrowser } from '../support/chromium.ts'
import { openPlace } from '../support/engines.ts'
import { type Gatehouse, startGatehouse } from '../support/providers/gatehouse.ts'
import { type RelyingParty, startRelyingParty } from '../support/relying-party.ts'

interface Asked {
  readonly path: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

interface Seen {
  readonly status: number
  readonly headers: Record<string, string>
  readonly text: string
}

describe('a page of another origin', () => {
  let app: RelyingParty
  let stranger: RelyingParty
  let gatehouse: Gatehouse
  let browser: TestBrowser
  let leave: () => Promise<void>
  let page: Page
  let token: string
  before(async () => {
    app = await startRelyingParty({ host: 'localhost' })
    stranger = await startRelyingParty({ host: 'localhost' })
    const opened = await openPlace('sqlite')
    leave = opened.leave
    gatehouse = await startGatehouse(opened.place, {
      declaration: declare(app.origin),
      flags: { '--limit-exempt': '', '--limit-admin': 'user=5/3600' },
    })
    browser = await startChromium()
    page = await openPage(app)
    const signedIn = await ask(page, {
      path: '/connect/token',
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=password&client_id=page&username=alice&password=${encodeURIComponent(PASSWORD)}`,
    })
    assert.equal(signedIn.status, 200, signedIn.text)
    token = JSON.parse(signedIn.text).access_token
  })
  after(async () => {
    await browser.stop()
    await gatehouse.stop()
    await app.stop()
    await stranger.stop()
    await leave()
  })

  async function openPage({ origin }: RelyingParty): Promise<Page> {
    const opened = await (await browser.newContext()).newPage()
    await opened.goto(origin)
    return opened
  }

  /** In the page: a failed preflight or a reply that it may not read rejects. */
  function ask(from: Page, { path, method = 'POST', headers = {}, body }: Asked): Promise<Seen> {
    const url = `http://127.0.0.1:${gatehouse.server.port}${path}`
    return from.evaluate(
      async ({ url, ...init }) => {
        const response = await fetch(url, init)
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          text: await response.text(),
        }
      },
      { url, method, headers, ...(body === undefined ? {} : { body }) },
    )
  }
  const withToken = (asked: Asked, from = page) =>
    ask(from, { ...asked, headers: { authorization: `Bearer ${token}`, ...asked.headers } })

  test('queries and inserts, and reads the headers of the replies', async () => {
    const json = { 'content-type': 'application/json', 'request-id': 'from-a-page', 'idempotency-key': 'first' }
    const inserted = await withToken({ path: '/Query/notes/Insert', headers: json, body: '{"id": 1, "body": "hello"}' })
    assert.deepEqual([inserted.status, inserted.headers['request-id']], [200, 'from-a-page'], inserted.text)
    const read = await withToken({ path: '/query?p.id=1', body: 'SELECT body FROM notes WHERE id = :id' })
    assert.deepEqual(JSON.parse(read.text).Rows, [{ body: 'hello' }])
    for (const name of ['request-id', 'ratelimit', 'ratelimit-policy', 'date']) assert.ok(read.headers[name], name)
    const user = await withToken({ path: '/admin/users/alice', method: 'GET' })
    assert.equal(user.status, 200, user.text)
    const changed = await withToken({
      path: '/admin/users/alice',
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json', 'if-match': user.headers.etag ?? '' },
      body: '{"nickname": "Al"}',
    })
    assert.equal(changed.status, 200, changed.text)
  })

  test('follows a live statement', async () => {
    const first = await page.evaluate(
      async ({ url, authorization }) => {
        const response = await fetch(url, {
          method: 'POST',
          headers: { authorization, accept: 'text/event-stream', 'last-event-id': '' },
          body: 'SELECT * FROM notes',
        })
        const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        while (!text.includes('data: ')) text += (await reader?.read())?.value ?? 'ended: data: '
        await reader?.cancel()
        return text
      },
      { url: `http://127.0.0.1:${gatehouse.server.port}/query`, authorization: `Bearer ${token}` },
    )
    assert.match(first, /^event: snapshot$/im)
  })

  test('reads why it was refused: 400, 401, 404, 413 and 429', async () => {
    const readCode = ({ status, text }: Seen) => [status, JSON.parse(text).Code]
    assert.deepEqual(readCode(await withToken({ path: '/query', body: 'SELEC' })), [400, 'IQL.Syntax'])
    const nobody = await withToken({ path: '/query', headers: { authorization: 'Bearer x' }, body: 'SELECT 1 AS a' })
    assert.deepEqual(readCode(nobody), [401, 'Auth.InvalidToken'])
    assert.match(nobody.headers['www-authenticate'] ?? '', /invalid_token/)
    assert.deepEqual(readCode(await withToken({ path: '/Query/nosuch/Select' })), [404, 'Data.UnknownTable'])
    assert.deepEqual(readCode(await withToken({ path: '/admin/no/such' })), [404, 'http.not_found'])
    let refused = await withToken({ path: '/admin/users', method: 'GET' })
    for (let count = 0; count < 5 && refused.status === 200; count++)
      refused = await withToken({ path: '/admin/users', method: 'GET' })
    assert.deepEqual(readCode(refused), [429, 'http.too_many_requests'])
    assert.ok(Number(refused.headers['retry-after']) >= 1)
  })

  test('reads that a body is too large, however much of it is unsent', async () => {
    for (const megabytes of [1, 12]) {
      const seen = await page.evaluate(
        async ({ url, authorization, megabytes }) => {
          const body = 'x'.repeat(megabytes * 1024 * 1024)
          const response = await fetch(url, { method: 'POST', headers: { authorization }, body })
          return { status: response.status, headers: {}, text: await response.text() }
        },
        { url: `http://127.0.0.1:${gatehouse.server.port}/query`, authorization: `Bearer ${token}`, megabytes },
      )
      assert.deepEqual([seen.status, JSON.parse(seen.text).Code], [413, 'Request.TooLarge'], `${megabytes} MiB`)
    }
  })

  test('is refused without a registered origin, and with cookies', async () => {
    const other = await openPage(stranger)
    for (const asked of [
      { path: '/query', body: 'SELECT 1 AS a' },
      { path: '/admin/users', method: 'GET' },
    ])
      await assert.rejects(withToken(asked, other), /Failed to fetch/)
    const withCookies = page.evaluate(
      (url) => fetch(url, { method: 'POST', credentials: 'include', body: 'SELECT 1 AS a' }).then(() => undefined),
      `http://127.0.0.1:${gatehouse.server.port}/query`,
    )
    await assert.rejects(withCookies, /Failed to fetch/)
  })
})

const PASSWORD = 'a long walk down the rabbit hole'

function declare(origin: string): Declaration {
  return {
    roles: [{ name: 'all', scopes: ['Platform/Admin', 'Platform/Market', 'Identity/Admin'] }],
    users: [{ username: 'alice', password: PASSWORD, roles: ['all'] }],
    clients: [
      {
        client_id: 'page',
        token_endpoint_auth_method: 'none',
        grant_types: ['password'],
        response_types: [],
        allowed_origins: [origin],
        scope: 'openid Platform/Admin Platform/Market Identity/Admin',
      },
    ],
    tables: [
      {
        name: 'notes',
        columns: [
          { name: 'id', type: 'Integer', primary_key: true },
          { name: 'body', type: 'Text' },
        ],
      },
    ],
  }
}
