/** The client library in a real Chromium: a page on a separate origin that signs in, queries, sleeps and loses its network. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, type TestContext, test } from 'node:test'
import { buildClient } from '../../packages/client/build.js'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { signIn } from '../browser/scene.ts'
import { type BrowserContext, findComplaints, type Page, startChromium, type TestBrowser } from '../support/chromium.ts'
import { ADMIN, ALICE, post } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const SCOPE = 'openid profile offline_access Platform/Market'
let server: TestServer
let leave: () => Promise<void>
let pages: Server
let origin: string
let proxy: TcpProxy
let browser: TestBrowser
let context: BrowserContext
let page: Page
let admin: Gatehouse

/** An application as its developer writes it; the tests look at what it shows. */
const application = (): string => `<!doctype html><title>Page</title><p id="state"></p><p id="rows"></p>
<script type="module">
import { browser, Gatehouse } from '/client.js'
const params = new URLSearchParams(location.search)
const silent = location.pathname === '/silent'
const source = browser({ clientId: 'page', scope: silent ? 'openid Platform/Market' : '${SCOPE}', silent })
const auth = location.pathname === '/bound' ? (await import('/dpop.js')).dpop(source) : source
const gate = new Gatehouse('http://localhost:${proxy.port}', { issuer: '${server.issuer}', auth, heartbeat: 500 })
const states = []
gate.on('state', (change) => { states.push(change); document.querySelector('#state').textContent = change.state })
Object.assign(window, { gate, states })
window.signedIn = await gate.auth.signedIn().catch((error) => error.code)
window.watch = () => {
  window.live = gate.live\`select id, quantity from fills order by id\`
  live.subscribe(() => { document.querySelector('#rows').textContent = live.rows.map((row) => row.id + ':' + row.quantity).join(' ') })
}
</script>`

before(async () => {
  await buildClient()
  const script = await readFile(new URL('../../packages/client/dist/index.min.js', import.meta.url))
  const bound = await readFile(new URL('../../packages/client/dist/dpop.min.js', import.meta.url))
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, { flags: { '--demo': 'true', '--stream-drain-time': '0' } })
  proxy = await startTcpProxy('127.0.0.1', server.port)
  pages = createServer(({ url }, response) => {
    if (url?.startsWith('/client.js')) response.setHeader('content-type', 'text/javascript').end(script)
    else if (url === '/dpop.js') response.setHeader('content-type', 'text/javascript').end(bound)
    else response.setHeader('content-type', 'text/html').end(application())
  })
  await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve))
  origin = `http://localhost:${(pages.address() as AddressInfo).port}`
  admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.admin.clients.create({
    client_id: 'page',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: [`${origin}/`, `${origin}/silent`, `${origin}/bound`],
    post_logout_redirect_uris: [`${origin}/`],
    allowed_origins: [origin],
    scope: SCOPE,
    skip_consent: true,
  })
  await admin.query`create table fills (id Integer primary key, quantity Integer not null) read scope 'Platform/Market'`
  await admin.query`insert into fills values (1, 10), (2, 20)`
  browser = await startChromium()
  context = await browser.newContext()
  page = await context.newPage()
})
after(async () => {
  admin.close()
  await browser.stop()
  pages.closeAllConnections()
  pages.close()
  await proxy.close()
  await server.stop()
  await leave()
})

/** What the page computes; it may await. */
const inPage = (script: string, where = page): Promise<unknown> => where.evaluate(script)
const shows = async (selector: string, text: string, where = page): Promise<void> => {
  await where.waitForFunction(
    `document.querySelector(${JSON.stringify(selector)}).textContent === ${JSON.stringify(text)}`,
    undefined,
    { timeout: 30_000, polling: 50 },
  )
}
const settled = (where = page): Promise<unknown> => where.waitForFunction('window.signedIn !== undefined')

test('sign-in by redirect, back to where the user was; a query; it stays signed in after a reload', async () => {
  const complaints = findComplaints(page)
  await page.goto(`${origin}/?tab=trades#top`)
  await settled()
  assert.equal(await inPage('signedIn'), false)
  await inPage('void gate.auth.signIn()')
  await page.waitForURL(`${server.issuer}/**`)
  await signIn(page, ALICE)
  await page.waitForURL(`${origin}/**`)
  await settled()
  assert.equal(await inPage('signedIn'), true)
  assert.equal(page.url(), `${origin}/?tab=trades#top`)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a template of the page
  assert.deepEqual(await inPage('gate.query`select id from fills where quantity > ${15}`.rows()'), [{ id: 2 }])
  assert.equal(await inPage('gate.auth.user().then(({ name }) => name)'), 'Alice Liddell')
  const refused = await inPage(
    'gate.query`select pric from trades`.rows().catch(({ name, code, requestId, caret }) => ({ name, code, hasId: requestId !== undefined, caret }))',
  )
  assert.deepEqual(refused, {
    name: 'QueryError',
    code: 'IQL.UnknownColumn',
    hasId: true,
    caret: '1 | select pric from trades\n           ^',
  })
  await page.reload()
  await settled()
  assert.equal(await inPage('signedIn'), true)
  assert.deepEqual(
    complaints.filter((text) => !text.includes('status of 400')),
    [],
  )
})

test('two tabs share their tokens, and one of them renews for both', async () => {
  const second = await context.newPage()
  await second.goto(origin)
  await settled(second)
  assert.equal(await inPage('signedIn', second), true)
  const renewals: string[] = []
  for (const tab of [page, second])
    tab.on('request', (request) => {
      if (request.url().endsWith('/connect/token')) renewals.push(String(request.postData()))
    })
  const expire = `for (const key of Object.keys(localStorage)) localStorage[key] = localStorage[key].replace(/"renewAt":\\d+(\\.\\d+)?/, '"renewAt":1')`
  await inPage(expire)
  await Promise.all([page.reload(), second.reload()])
  await Promise.all([settled(), settled(second)])
  const query = 'gate.query`select count(*) as n from fills`.rows()'
  assert.deepEqual(await Promise.all([inPage(query), inPage(query, second)]), [[{ n: 2 }], [{ n: 2 }]])
  assert.equal(renewals.length, 1)
  await second.close()
})

test('a live query, a page that sleeps while its connection is cut, and the rows that came meanwhile', async () => {
  await inPage('watch()')
  await shows('#rows', '1:10 2:20')
  const session = await context.newCDPSession(page)
  await session.send('Page.setWebLifecycleState', { state: 'frozen' })
  proxy.cut()
  await admin.query`insert into fills values (3, 30)`
  proxy.mend()
  await session.send('Page.setWebLifecycleState', { state: 'active' })
  await shows('#rows', '1:10 2:20 3:30')
  await shows('#state', 'online')
})

test('offline and online again', async () => {
  const before = await inPage('states.length')
  await context.setOffline(true)
  // By the event of the browser, not by the heartbeat some seconds later.
  const first = `states.slice(${before}).find(({ state }) => state === 'offline')?.code`
  await page.waitForFunction(first, undefined, { timeout: 30_000, polling: 50 })
  assert.equal(await inPage(first), 'client.offline')
  await admin.query`update fills set quantity = 31 where id = 3`
  await context.setOffline(false)
  await shows('#rows', '1:10 2:20 3:31')
  await shows('#state', 'online')
  assert.equal(await inPage('live.error === undefined'), true)
})

test('a server without a word: noticed within seconds', async () => {
  const before = await inPage('states.length')
  proxy.hold()
  const noticed = `states.slice(${before}).some(({ code }) => code === 'client.dead')`
  await page.waitForFunction(noticed, undefined, { timeout: 30_000, polling: 50 })
  proxy.cut()
  proxy.mend()
  await shows('#state', 'online')
})

test('a revoked token is replaced by the page itself; the end of the session is shown', async () => {
  const token = String(await inPage('gate.auth.token()'))
  await post(server, '/connect/revocation', { token, client_id: 'page' })
  await page.waitForFunction('states.some(({ state }) => state === "lapsed") && gate.stream.state === "online"')
  await admin.query`delete from fills where id = 3`
  await shows('#rows', '1:10 2:20')
  await admin.admin.of('alice', 'sessions').clear()
  await shows('#state', 'ended')
  assert.equal(await inPage('live.error.code'), 'session_ended')
  assert.equal(await inPage('gate.auth.signedIn()'), false)
})

test('sign-in by pop-up; signing out', async () => {
  await page.goto(origin)
  await settled()
  assert.equal(await inPage('signedIn'), false)
  const [popup] = await Promise.all([
    page.waitForEvent('popup'),
    inPage('window.popup = gate.auth.signIn({ popup: true }).then(() => "in", (error) => error.code), undefined'),
  ])
  await popup.waitForURL(`${server.issuer}/**`)
  await signIn(popup, ALICE).catch(() => {})
  assert.equal(await inPage('popup'), 'in')
  assert.deepEqual(await inPage('gate.query`select count(*) as n from fills`.rows()'), [{ n: 2 }])
  await inPage('window.isLeft = true, void gate.auth.signOut()')
  await page.waitForFunction('window.isLeft === undefined && window.signedIn !== undefined')
  assert.equal(page.url(), `${origin}/`)
  assert.equal(await inPage('signedIn'), false)
  assert.equal(await inPage('Object.keys(localStorage).length'), 0)
})

test('without a refresh token: silent renewal in a hidden frame, as long as there is a session', async () => {
  await page.goto(`${origin}/silent`)
  await settled()
  assert.equal(await inPage('signedIn'), false)
  await inPage('void gate.auth.signIn()')
  await page.waitForURL(`${server.issuer}/**`)
  await signIn(page, ALICE)
  await page.waitForURL(`${origin}/silent`)
  await settled()
  assert.equal(await inPage('signedIn'), true)
  const before = await inPage('gate.auth.token()')
  const renewed = await inPage(`gate.auth.token(${JSON.stringify(before)})`)
  assert.equal(typeof renewed, 'string')
  assert.notEqual(renewed, before)
})

/** A page in a fresh profile, in which no user is signed in. */
async function freshPage(t: TestContext): Promise<{ fresh: Page; asked: string[] }> {
  const own = await browser.newContext()
  t.after(() => own.close())
  const fresh = await own.newPage()
  const asked: string[] = []
  fresh.on('request', (request) => {
    if (request.url().endsWith('/connect/token')) asked.push(request.url())
  })
  return { fresh, asked }
}

/** The page has sent its user to sign in, and waits for the answer to this state. */
async function leaveToSignIn(fresh: Page): Promise<string> {
  await fresh.goto(origin)
  await settled(fresh)
  const sent = fresh.waitForRequest((request) => request.url().includes('/connect/authorize'))
  await inPage('void gate.auth.signIn()', fresh)
  await fresh.waitForURL(`${server.issuer}/**`)
  return new URL((await sent).url()).searchParams.get('state') ?? ''
}

test('an address with a state and a code that are not ours is left to whom it belongs', async (t) => {
  const { fresh, asked } = await freshPage(t)
  const foreign = ['?state=p.x&code=y', '?state=f.x&error=y', '?state=r.x&code=y&tab=1#top', '?state=r.&code=y']
  // These look like the messages of the library, but nothing waits for them.
  const madeUp = ['p', 'f', 'r'].map((kind) => `?tab=1&state=${kind}.${'123456789-'.repeat(8)}&code=y&iss=z#top`)
  for (const address of [...foreign, ...madeUp]) {
    await fresh.goto(`${origin}/${address}`)
    await settled(fresh)
    assert.equal(await inPage('signedIn', fresh), false, address)
    assert.equal(fresh.url(), `${origin}/${address}`)
  }
  assert.deepEqual(asked, [])
})

test('RFC 9207 §2.4: an answer without the issuer that the server announces is not accepted', async (t) => {
  for (const iss of ['', '&iss=https%3A%2F%2Fevil.example']) {
    const { fresh, asked } = await freshPage(t)
    const state = await leaveToSignIn(fresh)
    await fresh.goto(`${origin}/?code=stolen&state=${state}${iss}`)
    await settled(fresh)
    assert.equal(await inPage('signedIn', fresh), 'client.untrusted', iss)
    assert.deepEqual(asked, [])
    assert.equal(fresh.url(), `${origin}/`)
  }
})

test('a sign-in that was begun at another issuer, or for another client, is not finished here', async (t) => {
  for (const other of [`gatehouse:https://other.example:page`, `gatehouse:${server.issuer}:other`]) {
    const { fresh, asked } = await freshPage(t)
    const state = await leaveToSignIn(fresh)
    await fresh.goto(origin)
    await settled(fresh)
    // As another client of this page keeps it.
    const change = `(() => {
      const [[key, kept], ...more] = Object.entries(sessionStorage)
      if (more.length > 0 || key !== 'gatehouse:${server.issuer}:page:${state}') throw new Error('Kept as ' + key)
      sessionStorage.clear()
      sessionStorage['${other}:${state}'] = kept
      return kept
    })()`
    const kept = await inPage(change, fresh)
    const address = `${origin}/?code=stolen&state=${state}&iss=${encodeURIComponent(server.issuer)}`
    await fresh.goto(address)
    await settled(fresh)
    assert.equal(await inPage('signedIn', fresh), false)
    assert.deepEqual(asked, [])
    // Another client of this page may be the one that began it.
    assert.equal(fresh.url(), address)
    assert.equal(await inPage(`sessionStorage['${other}:${state}']`, fresh), kept)
  }
})

test('a sign-in leads back to this origin only, and an aborted one ends', async (t) => {
  const { fresh } = await freshPage(t)
  await fresh.goto(origin)
  await settled(fresh)
  for (const returnTo of ['https://evil.example/', '//evil.example/', 'javascript:alert(1)', 'http://['])
    assert.equal(
      await inPage(`gate.auth.signIn({ returnTo: ${JSON.stringify(returnTo)} }).catch(({ name }) => name)`, fresh),
      'TypeError',
      returnTo,
    )
  assert.equal(fresh.url(), `${origin}/`)
  const aborted = 'gate.auth.signIn({ popup: true, signal: AbortSignal.abort() }).catch(({ code }) => code)'
  assert.equal(await inPage(aborted, fresh), 'client.no_answer')
})

test('without any storage a page still knows that no user is signed in', async (t) => {
  const { fresh } = await freshPage(t)
  await fresh.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
    Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError') } })`)
  await fresh.goto(origin)
  await settled(fresh)
  assert.equal(await inPage('signedIn', fresh), false)
})

test('dpop(): the code is bound to the key, which is in IndexedDB beside the refresh token, and no script can export it', async (t) => {
  const { fresh: tab } = await freshPage(t)
  const asked: URL[] = []
  tab.on('request', (request) => {
    const url = new URL(request.url())
    if (url.pathname === '/connect/authorize') asked.push(url)
  })
  await tab.goto(`${origin}/bound`)
  await settled(tab)
  await inPage('void gate.auth.signIn()', tab)
  await tab.waitForURL(`${server.issuer}/**`)
  await signIn(tab, ALICE)
  await tab.waitForURL(`${origin}/**`)
  await settled(tab)
  assert.equal(await inPage('signedIn', tab), true)
  const found = await inPage(
    `(async () => {
      const done = (pending) => new Promise((resolve, reject) => Object.assign(pending, { onsuccess: () => resolve(pending.result), onerror: () => reject(pending.error) }))
      const [{ name }] = await indexedDB.databases()
      const database = await done(indexedDB.open(name))
      const store = database.transaction(database.objectStoreNames).objectStore(database.objectStoreNames[0])
      const [keys, [{ privateKey, publicKey }]] = [await done(store.getAllKeys()), await done(store.getAll())]
      const { crv, kty, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify({ crv, kty, x, y })))
      return {
        keys,
        usages: privateKey.usages,
        algorithm: [privateKey.algorithm.name, privateKey.algorithm.namedCurve],
        extractable: privateKey.extractable,
        exports: await Promise.all(['jwk', 'pkcs8'].map((format) => crypto.subtle.exportKey(format, privateKey).then(() => 'exported', ({ name }) => name))),
        thumbprint: btoa(String.fromCharCode(...new Uint8Array(digest))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=/g, ''),
        bound: JSON.parse(atob((await gate.auth.token()).split('.')[1].replace(/-/g, '+').replace(/_/g, '/'))).cnf.jkt,
        hasRefreshToken: Object.values(localStorage).some((text) => text.includes('refreshToken')),
      }
    })()`,
    tab,
  )
  const thumbprint = asked[0]?.searchParams.get('dpop_jkt')
  assert.match(thumbprint ?? '', /^[\w-]{43}$/)
  assert.deepEqual(found, {
    keys: [server.issuer],
    usages: ['sign'],
    algorithm: ['ECDSA', 'P-256'],
    extractable: false,
    exports: ['InvalidAccessError', 'InvalidAccessError'],
    thumbprint,
    bound: thumbprint,
    hasRefreshToken: true,
  })
  // After a reload the refresh token is still good, with the same key.
  await tab.reload()
  await settled(tab)
  assert.equal(await inPage('gate.auth.token().then(async (old) => (await gate.auth.token(old)) !== old)', tab), true)
})
