/** Rows about headers, forms, cookies and other origins (C-01 to C-10). */
import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import { person } from '../support/providers/provider.ts'
import type { Page } from '../support/user-agent.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { signIn, signInForm, visit } from '../support/visitor.ts'
import { answer, listPairs, type RowTest } from './steps.ts'
import type { Trial, TrialParameters } from './trial.ts'

const XSS = `"'><script>alert(1)</script>`

export const browserRows: readonly RowTest[] = [
  {
    id: 'C-01',
    name: 'every page forbids framing',
    ours: true,
    async run(trial) {
      for (const page of await everyPage(trial)) {
        assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, page.url.pathname)
        assert.equal(page.headers.get('x-frame-options'), 'DENY', page.url.pathname)
      }
      const iframe = await fetch(String(trial.provider.metadata.check_session_iframe))
      assert.doesNotMatch(iframe.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
      assert.equal(iframe.headers.get('x-frame-options'), null)
    },
  },
  {
    id: 'C-02',
    name: 'no form is accepted without the CSRF token, or with that of another browser',
    ours: true,
    async run(trial) {
      const page = await signInPage(trial)
      const form = signInForm(page)
      assert.ok(form)
      const foreign = signInForm(await signInPage(trial.fresh()))
      const foreignToken = foreign?.fields.find(({ name }) => name === 'form_token')?.value ?? ''
      for (const token of ['', 'x', foreignToken]) {
        const filled = { username: person.username, password: person.password, form_token: token }
        const refused = await trial.agent.submit(form, filled)
        assert.ok(refused.kind === 'page' && [400, 403].includes(refused.status), `with ${JSON.stringify(token)}`)
      }
      assert.equal((await answer(trial, { prompt: 'none' })).parameters.get('error'), 'login_required')
    },
  },
  {
    id: 'C-02',
    name: 'consent, device and sign-out forms are not accepted without the CSRF token either',
    ours: true,
    async run(trial) {
      await trial.succeed()
      for (const [address, field] of [
        [authorizeUrl(trial, { prompt: 'consent' }), 'form_token'],
        [trial.provider.metadata.end_session_endpoint, 'form_token'],
        ['/device', 'form_token'],
      ] as const) {
        const page = await trial.agent.get(address)
        assert.ok(page.kind === 'page' && page.forms[0])
        assert.ok(page.forms[0].fields.some(({ name }) => name === field))
        const refused = await trial.agent.submit(page.forms[0], { [field]: 'forged' })
        assert.ok(refused.kind === 'page' && [400, 403].includes(refused.status), String(address))
      }
      await trial.succeed({ prompt: 'none' })
    },
  },
  {
    id: 'C-03',
    name: 'cookies: __Host-, Secure, HttpOnly; the one that the session iframe reads is not a credential',
    ours: true,
    async run(trial) {
      await trial.succeed()
      const cookies = trial.agent.jar.all()
      assert.ok(cookies.length > 0)
      const readable = cookies.filter(({ httpOnly }) => !httpOnly)
      for (const { name, secure, path, domain, sameSite } of cookies) {
        assert.ok(secure, `${name} is not Secure`)
        assert.match(name, /^__Host-/)
        assert.deepEqual([path, domain], ['/', undefined], name)
        assert.match(sameSite ?? '', /^(Lax|Strict|None)$/i, name)
      }
      assert.ok(readable.length <= 1, `${readable.map(({ name }) => name)}`)
      const alone = createUserAgent({ home: trial.provider.issuer, now: trial.provider.now })
      for (const cookie of readable) alone.jar.put(cookie)
      const page = await alone.get(authorizeUrl(trial, { prompt: 'none' }))
      assert.ok(page.kind === 'left' && page.url.searchParams.get('error') === 'login_required')
    },
  },
  {
    id: 'C-04',
    name: 'the session cookie changes at sign-in, and is invalid after sign-out',
    async run(trial) {
      await signInPage(trial)
      const before = new Set(trial.agent.jar.all().map(({ value }) => value))
      await trial.succeed()
      const signedIn = trial.agent.jar.copy()
      assert.ok(
        signedIn.all().some(({ value, httpOnly }) => httpOnly && !before.has(value)),
        'no new session cookie',
      )
      await visit(trial.agent, await trial.agent.get(trial.provider.metadata.end_session_endpoint), person)
      const thief = createUserAgent({ home: trial.provider.issuer, now: trial.provider.now, jar: signedIn })
      const replayed = await thief.get(authorizeUrl(trial, { prompt: 'none' }))
      assert.ok(replayed.kind === 'left')
      assert.equal(replayed.url.searchParams.get('error'), 'login_required')
    },
  },
  {
    id: 'C-05',
    name: 'forms are answered with a 303 or 302 redirect',
    async run(trial) {
      await trial.succeed({ prompt: 'login consent' })
      const posts = trial.agent.hops.filter(({ method }) => method === 'POST')
      assert.ok(posts.length >= 2)
      for (const { status, url } of posts) assert.ok(status === 303 || status === 302, `${status} at ${url.pathname}`)
    },
  },
  {
    id: 'C-06',
    name: 'input is escaped in every page, and no page allows inline scripts',
    ours: true,
    async run(trial) {
      const pages: Page[] = []
      for (const changes of [
        { client_id: XSS },
        { redirect_uri: XSS },
        { login_hint: XSS },
        { ui_locales: XSS },
        { client_id: 'nobody', state: XSS, error: XSS, error_description: XSS },
      ] satisfies TrialParameters[]) {
        const got = await trial.fresh().agent.get(authorizeUrl(trial, changes))
        assert.ok(got.kind === 'page')
        pages.push(got)
      }
      const device = await trial.agent.get(`/device?user_code=${encodeURIComponent(XSS)}`)
      if (device.kind === 'page') pages.push(device)
      const posted = await answer(trial, { state: XSS, response_mode: 'form_post' })
      assert.equal(posted.parameters.get('state'), XSS)
      if (posted.left.page !== undefined) pages.push(posted.left.page)
      for (const page of pages) {
        assert.ok(!page.body.includes('<script>alert'), page.url.href)
        const policy = page.headers.get('content-security-policy') ?? ''
        assert.ok(policy !== '' && !policy.includes('unsafe-inline') && !policy.includes('unsafe-eval'), policy)
      }
    },
  },
  {
    id: 'C-07',
    name: 'pages are not cached, leak no referrer, are not sniffed, and load nothing from other origins',
    ours: true,
    async run(trial) {
      for (const { headers, url, body } of await everyPage(trial)) {
        assert.match(headers.get('cache-control') ?? '', /no-store/, url.pathname)
        assert.equal(headers.get('referrer-policy'), 'no-referrer')
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
        assert.match(headers.get('strict-transport-security') ?? '', /max-age=31536000/)
        for (const [, address = ''] of body.matchAll(/<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="([^"]*)"/g))
          assert.ok(address.startsWith('/') || address.startsWith('data:'), address)
      }
    },
  },
  {
    id: 'C-08',
    name: 'no return URL is accepted from the request',
    ours: true,
    async run(trial) {
      for (const evil of ['https://evil.example', '//evil.example', '/\\evil.example', 'javascript:alert(1)']) {
        for (const name of ['returnUrl', 'ReturnUrl', 'return_to', 'next', 'flow', 'redirect']) {
          const other = trial.fresh()
          const start = await other.agent.get(`/sign-in?${name}=${encodeURIComponent(evil)}`)
          assert.ok(start.kind === 'page', `${name}=${evil}`)
          if (signInForm(start) === undefined) continue
          const end = await signIn(other.agent, start, person)
          assert.equal(end.kind, 'page', `${name}=${evil}`)
        }
      }
    },
  },
  {
    id: 'C-09',
    name: 'CORS: none at authorize, only registered origins at token and userinfo, every origin at discovery without credentials',
    ours: true,
    async run({ provider: { metadata, issuer } }) {
      const ask = (address: string, method: string) =>
        fetch(address, {
          method,
          headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
          redirect: 'manual',
        })
      for (const method of ['GET', 'OPTIONS']) {
        const { headers } = await ask(metadata.authorization_endpoint, method)
        assert.equal(headers.get('access-control-allow-origin'), null)
      }
      for (const endpoint of [metadata.token_endpoint, metadata.userinfo_endpoint, metadata.revocation_endpoint]) {
        const { headers } = await ask(endpoint, 'OPTIONS')
        assert.equal(headers.get('access-control-allow-origin'), null, endpoint)
      }
      for (const address of [`${issuer}/.well-known/openid-configuration`, metadata.jwks_uri]) {
        const { headers } = await ask(address, 'GET')
        assert.equal(headers.get('access-control-allow-origin'), '*', address)
        assert.equal(headers.get('access-control-allow-credentials'), null)
      }
    },
  },
  {
    id: 'C-10',
    name: 'Host and X-Forwarded-* of an untrusted caller change nothing',
    ours: true,
    async run({ provider: { issuer } }) {
      const forged = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'http',
        'x-forwarded-for': '10.0.0.1',
        forwarded: 'host=evil.example',
      }
      const body = await rawGet(`${issuer}/.well-known/openid-configuration`, forged)
      assert.ok(!body.includes('evil.example'))
      assert.equal((JSON.parse(body) as { issuer: string }).issuer, issuer)
    },
  },
]

/** One page of each kind. */
async function everyPage(trial: Trial): Promise<Page[]> {
  const pages: Page[] = []
  const keep = async (address: URL | string) => {
    const page = await trial.agent.get(address)
    assert.ok(page.kind === 'page', String(address))
    pages.push(page)
  }
  await keep(authorizeUrl(trial, {}))
  await keep(authorizeUrl(trial, { client_id: 'nobody' }))
  await trial.succeed()
  await keep(authorizeUrl(trial, { prompt: 'consent' }))
  await keep('/device')
  await keep('/account')
  await keep(trial.provider.metadata.end_session_endpoint)
  const { end } = await visit(trial.agent, await trial.agent.get(trial.provider.metadata.end_session_endpoint), person)
  assert.ok(end.kind === 'page')
  return [...pages, end]
}

function authorizeUrl(trial: Trial, changes: TrialParameters): URL {
  const url = new URL(trial.provider.metadata.authorization_endpoint)
  for (const [name, value] of listPairs(trial.request(changes))) url.searchParams.set(name, value)
  return url
}

async function signInPage(trial: Trial): Promise<Page> {
  const page = await trial.agent.get(authorizeUrl(trial, {}))
  assert.ok(page.kind === 'page')
  return page
}

/** fetch does not let a test set the Host header. */
function rawGet(address: string, headers: Record<string, string>): Promise<string> {
  const { get } = address.startsWith('https') ? https : http
  return new Promise((resolve, reject) => {
    get(address, { headers, servername: 'localhost' }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => resolve(body))
    }).on('error', reject)
  })
}
