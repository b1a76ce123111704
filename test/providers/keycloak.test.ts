/** Keycloak 26 in Chromium: create, rules, linking, invitation, key rotation, logout there within a second, outage. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Page, startChromium, type TestBrowser } from '../support/chromium.ts'
import { IS_LONG_RUN, openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { openProviderPlace, type ProviderPlace, TRUSTED } from '../support/providers/provider-place.ts'
import { ALICE, authorizeUrl, decodeClaims, SECRET } from '../support/sign-in-place.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const HOME = process.env.KEYCLOAK_HOME ?? ''
const skip = !IS_LONG_RUN
  ? 'runs in npm run test:all'
  : existsSync(join(HOME, 'bin', 'kc.sh'))
    ? false
    : 'needs Java 17 (Debian: apt-get install default-jre-headless) and KEYCLOAK_HOME, the folder of an unpacked Keycloak 26 (Maven Central: org.keycloak:keycloak-quarkus-dist)'

const ADMIN = { username: 'admin', password: 'admin-password' }
const PASSWORD = 'a password at the other provider'
const START_MS = 240_000

describe('Keycloak', { skip, timeout: 600_000 }, () => {
  let keycloak: ChildProcess
  let origin: string
  let place: ProviderPlace
  let leave: () => Promise<void>
  let browser: TestBrowser
  let ticking: NodeJS.Timeout
  let relay: http.Server
  /** When Keycloak's logout token arrived, by performance.now. */
  let logoutAt: number | undefined
  before(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    keycloak = spawn(
      join(HOME, 'bin', 'kc.sh'),
      ['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem'],
      {
        detached: true,
        stdio: 'ignore',
        env: {
          ...process.env,
          KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
          KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
          JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
        },
      },
    )
    const opened = await openPlace('sqlite')
    leave = opened.leave
    place = await openProviderPlace(opened.place)
    // The clock of Keycloak cannot be held.
    ticking = setInterval(() => place.clock.advance(Date.now() - place.clock()), 100)
    browser = await startChromium()
    await until(
      'Keycloak answers',
      START_MS,
      async () => (await fetch(`${origin}/realms/master`).catch(() => undefined))?.ok === true,
    )
    relay = http.createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      logoutAt = performance.now()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const address = `${place.server.issuer}/external/corp/backchannel-logout`
      response.writeHead((await fetch(address, { method: 'POST', headers, body })).status).end()
    })
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
    const { port: relayPort } = relay.address() as AddressInfo
    await call('POST', '/admin/realms', realm(place.server.issuer, `http://127.0.0.1:${relayPort}/`))
    await place.stores.roles.put({ name: 'trader', scopes: ['Platform/Market'] })
    await declare({})
  })
  after(async () => {
    clearInterval(ticking)
    relay?.close()
    await browser?.stop()
    await place?.close()
    await leave?.()
    const isRunning = keycloak.exitCode === null && keycloak.signalCode === null
    if (keycloak.pid !== undefined && isRunning) process.kill(-keycloak.pid, 'SIGKILL')
  })

  async function operatorToken(): Promise<string> {
    const token = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN }),
    })
    return Object(await token.json()).access_token
  }

  async function call(method: string, path: string, body?: unknown, bearer?: string): Promise<unknown> {
    const response = await fetch(origin + path, {
      method,
      headers: { authorization: `Bearer ${bearer ?? (await operatorToken())}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  async function declare(members: Readonly<Record<string, unknown>>): Promise<void> {
    await place.admin('DELETE', '/admin/providers/corp')
    const { status, body } = await place.admin('POST', '/admin/providers', {
      ...{
        id: 'corp',
        name: 'Corp',
        issuer: `${origin}/realms/main`,
        client_id: 'gatehouse',
        client_secret: 'kc-secret',
      },
      ...{ private: true, provision: 'create', require: { groups: ['gatehouse'] } },
      rules: [{ claim: 'groups', value: 'fx', role: 'trader' }],
      ...members,
    })
    assert.equal(status, 201, JSON.stringify(body))
  }

  const address = (changes = {}) =>
    authorizeUrl(place.server.issuer, { ...TRUSTED, response_type: 'code', ...changes }).href

  /** The tokens for the code that the application gets. */
  async function redeem(end: URL): Promise<Record<string, string>> {
    const response = await fetch(`${place.server.issuer}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`trusted:${SECRET.replaceAll(' ', '+')}`)}` },
      body: new URLSearchParams({
        ...{ grant_type: 'authorization_code', code: end.searchParams.get('code') ?? '' },
        redirect_uri: TRUSTED.redirect_uri,
      }),
    })
    assert.equal(response.status, 200)
    return Object(await response.json())
  }

  async function signInThere(page: Page, username: string): Promise<void> {
    await page.locator('#username').fill(username)
    await page.locator('#password').fill(PASSWORD)
    await page.locator('#kc-login').click()
  }

  /** The address that the application would get; nothing listens there. */
  async function arrived(page: Page, act: () => Promise<unknown>): Promise<URL> {
    const request = page.waitForRequest((each) => each.url().startsWith('https://trusted.example.com/cb'))
    await act()
    return new URL((await request).url())
  }

  async function newPage(): Promise<Page> {
    return (await browser.newContext()).newPage()
  }

  test('create with rules, by the button of the sign-in page', async () => {
    const page = await newPage()
    await page.goto(address())
    await page.getByText('Sign in with Corp').click()
    const end = await arrived(page, () => signInThere(page, 'ann'))
    const claims = decodeClaims((await redeem(end)).id_token ?? '')
    const user = await place.stores.users.findById(String(claims.sub))
    assert.deepEqual([user?.username, user?.roles], ['ann', ['trader']])
  })

  test('require: somebody without the group is refused with a page', async () => {
    const page = await newPage()
    await page.goto(address())
    await page.getByText('Sign in with Corp').click()
    await signInThere(page, 'stranger')
    await page.locator('#error').waitFor()
    assert.equal(await page.locator('#error').textContent(), 'identity.not_allowed')
  })

  test('link: an unknown identity, a local sign-in, a confirmation', async () => {
    await declare({ provision: 'never', rules: [] })
    const page = await newPage()
    await page.goto(address())
    await page.getByText('Sign in with Corp').click()
    await signInThere(page, 'ben')
    await page.locator('#way-on').click()
    await page.locator('#username').fill(ALICE.username)
    await page.locator('#password').fill(ALICE.password)
    await page.locator('#sign-in-submit').click()
    const end = await arrived(page, () => page.locator('#link-confirm').click())
    assert.equal(decodeClaims((await redeem(end)).id_token ?? '').sub, place.aliceId)
    const [identity] = await place.stores.identities.listOfUser(place.aliceId)
    assert.equal(identity?.issuer, `${origin}/realms/main`)
  })

  test('invited: a set-up link is taken up through the provider', async () => {
    await declare({ provision: 'invited', rules: [] })
    const { body } = await place.admin('POST', '/admin/links', { username: 'guest' })
    const page = await newPage()
    await page.goto(String(body.url))
    await page.getByText('Sign in with Corp').click()
    await signInThere(page, 'carl')
    await page.waitForURL('**/account')
  })

  test('its logout ends the stream within a second; then a rotated key is found, and an outage has a page', async (t) => {
    await declare({})
    const page = await newPage()
    await page.goto(address({ scope: 'openid Platform/Market' }))
    await page.getByText('Sign in with Corp').click()
    const end = await arrived(page, () => signInThere(page, 'dora'))
    const { access_token: token } = await redeem(end)
    const client = await connect(Number(new URL(place.server.issuer).port), {
      headers: { authorization: `Bearer ${token}` },
    })
    const users = await call('GET', '/admin/realms/main/users?username=dora&exact=true')
    const bearer = await operatorToken()
    const began = performance.now()
    const asked = call('POST', `/admin/realms/main/users/${Object(users)[0].id}/logout`, undefined, bearer)
    const { code } = await client.closed
    const closed = performance.now()
    await asked
    // A busy machine may have Keycloak take longer for its own part.
    const milliseconds = closed - (logoutAt ?? Number.NEGATIVE_INFINITY)
    const whole = Math.round(closed - began)
    t.diagnostic(
      `closed with ${code} ${Math.round(milliseconds)} ms after the logout token, ${whole} ms after the request`,
    )
    assert.ok(milliseconds < 1000, `${milliseconds} ms`)

    // A new key with a higher priority signs from now on.
    const realms = await call('GET', '/admin/realms/main')
    await call('POST', '/admin/realms/main/components', {
      ...{ name: 'rotated', providerId: 'rsa-generated', providerType: 'org.keycloak.keys.KeyProvider' },
      parentId: Object(realms).id,
      config: { priority: ['1000'], enabled: ['true'], active: ['true'], algorithm: ['RS256'], keySize: ['2048'] },
    })
    const before = await place.stores.identities.listOfUser(
      String((await place.stores.users.findByUsername('dora'))?.id),
    )
    assert.equal(before.length, 1)
    // The keys were fetched less than a minute ago.
    clearInterval(ticking)
    ticking = setInterval(() => place.clock.advance(Date.now() + 55_000 - place.clock()), 100)
    await until('a minute has passed', 90_000, async () => {
      const other = await newPage()
      await other.goto(address())
      await other.getByText('Sign in with Corp').click()
      const answer = other.waitForRequest((each) => each.url().startsWith('https://trusted.example.com/cb'), {
        timeout: 8000,
      })
      await signInThere(other, 'dora')
      const isIn = await answer.then(
        () => true,
        () => false,
      )
      await other.context().close()
      return isIn
    })

    const last = await newPage()
    await last.goto(address())
    await last.getByText('Sign in with Corp').click()
    await last.locator('#username').waitFor()
    if (keycloak.pid !== undefined) process.kill(-keycloak.pid, 'SIGKILL')
    // Its metadata are cached, so the browser is sent there; the answer of a code that cannot be redeemed is a page of ours.
    const started = await place.start(place.newAgent())
    assert.equal(started.origin, origin)
    const local = await newPage()
    await local.goto(`${place.server.issuer}/sign-in?local`)
    await local.locator('#username').fill(ALICE.username)
    await local.locator('#password').fill(ALICE.password)
    await local.locator('#sign-in-submit').click()
    await local.waitForURL('**/account')
  })

  function realm(issuer: string, logoutUri: string) {
    const user = (username: string, ...groups: string[]) => ({
      ...{ username, enabled: true, email: `${username}@example.com`, emailVerified: true, groups },
      ...{ firstName: username, lastName: 'There' },
      credentials: [{ type: 'password', value: PASSWORD, temporary: false }],
    })
    return {
      ...{ realm: 'main', enabled: true, sslRequired: 'none' },
      groups: [{ name: 'gatehouse' }, { name: 'fx' }],
      users: [
        user('ann', '/gatehouse', '/fx'),
        user('dora', '/gatehouse', '/fx'),
        user('ben', '/gatehouse'),
        user('carl', '/gatehouse'),
        user('stranger'),
      ],
      clients: [
        {
          ...{ clientId: 'gatehouse', secret: 'kc-secret', enabled: true, standardFlowEnabled: true },
          redirectUris: [`${issuer}/external/corp/callback`],
          attributes: {
            'backchannel.logout.url': logoutUri,
            'backchannel.logout.session.required': 'true',
            'post.logout.redirect.uris': `${issuer}/external/corp/signed-out`,
            'pkce.code.challenge.method': 'S256',
          },
          protocolMappers: [
            {
              ...{ name: 'groups', protocol: 'openid-connect', protocolMapper: 'oidc-group-membership-mapper' },
              config: {
                'claim.name': 'groups',
                'full.path': 'false',
                'id.token.claim': 'true',
                'userinfo.token.claim': 'true',
              },
            },
          ],
        },
      ],
    }
  }
})
