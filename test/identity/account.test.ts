/** The account pages: profile, password, sessions and applications, and the revocation of what a user ends there. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { createRevocations } from '../../packages/server/src/store/authorizations/revocations.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { linksTo } from '../support/html-form.ts'
import { refuseEvents } from '../support/refused-events.ts'
import {
  authorizeUrl,
  type Changes,
  openSignInPlace,
  readAnswer,
  SECRET,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const PASSWORD = 'the first long password'

onEveryEngineInLongRuns('the account page', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())

  let count = 0
  async function newPerson() {
    const username = `owner-${++count}`
    const id = await place.stores.users.create({
      username,
      passwordHash: await hashPassword(PASSWORD),
      profile: { name: 'Olive', email: 'olive@example.com', email_verified: true },
    })
    return { username, password: PASSWORD, id }
  }
  type Person = Awaited<ReturnType<typeof newPerson>>

  async function tokens(agent: UserAgent, person: Person, changes: Changes = {}) {
    const url = authorizeUrl(place.server.issuer, { scope: 'openid offline_access', ...changes })
    const { end, seen } = await visit(agent, await agent.get(url), person)
    const response = await token({
      grant_type: 'authorization_code',
      code: readAnswer(end).get('code') ?? '',
      redirect_uri: 'https://app.example.com/callback',
    })
    const body = (await response.json()) as { access_token: string; refresh_token?: string }
    return { ...body, seen }
  }

  function token(form: Record<string, string>): Promise<Response> {
    const headers = { authorization: `Basic ${btoa(`web:${encodeURIComponent(SECRET)}`)}` }
    return fetch(`${place.server.issuer}/connect/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
  }

  async function userinfo(accessToken: string): Promise<number> {
    const headers = { authorization: `Bearer ${accessToken}` }
    return (await fetch(`${place.server.issuer}/connect/userinfo`, { headers })).status
  }

  const refresh = async (refreshToken = '') =>
    (await token({ grant_type: 'refresh_token', refresh_token: refreshToken })).status

  async function account(agent: UserAgent): Promise<Page> {
    const page = requirePage(await agent.get('/account'))
    assert.equal(page.url.pathname, '/account')
    return page
  }

  /** Follows the link of a list, or the one that a test chooses, to the page that asks; returns its form. */
  async function asked(
    agent: UserAgent,
    section: string,
    path: string,
    wanted: (query: URLSearchParams) => boolean = () => true,
  ) {
    const list = requirePage(await agent.get(section))
    assert.equal(list.url.pathname, section)
    const link = linksTo(list.body, path).find((target) => wanted(new URLSearchParams(target.split('?')[1])))
    if (link === undefined) throw new Error(`No link to ${path}: ${list.body}`)
    return formTo(requirePage(await agent.get(link)), path)
  }

  const withdrawal = (agent: UserAgent, clientId = 'web') =>
    asked(agent, '/account/applications', '/account/consents/withdraw', (query) => query.get('client_id') === clientId)

  function formTo(page: Page, path: string, wanted?: (fields: Record<string, string>) => boolean) {
    const form = page.forms.find(
      ({ action, fields }) =>
        action.pathname === path &&
        (wanted === undefined || wanted(Object.fromEntries(fields.map(({ name, value }) => [name, value])))),
    )
    if (form === undefined) throw new Error(`No form to ${path}: ${page.body}`)
    return form
  }

  test('C-67: a password change ends every other session and all tokens within a second, and keeps the current session', async () => {
    const person = await newPerson()
    const [here, there] = [place.newAgent(), place.newAgent()]
    const mine = await tokens(here, person)
    const theirs = await tokens(there, person)
    assert.deepEqual([await userinfo(mine.access_token), await userinfo(theirs.access_token)], [200, 200])
    const form = formTo(requirePage(await here.get('/account/password')), '/account/password')
    const before = here.jar.header(new URL(place.server.issuer))
    const wrong = requirePage(
      await here.submit(form, { current_password: 'not it at all', new_password: 'a new long password' }),
    )
    assert.equal(wrong.status, 400)
    const short = requirePage(await here.submit(form, { current_password: PASSWORD, new_password: 'short' }))
    assert.equal(short.status, 400)
    assert.equal(await userinfo(theirs.access_token), 200)
    const done = requirePage(
      await here.submit(form, { current_password: PASSWORD, new_password: 'a new long password' }),
    )
    assert.equal(done.url.pathname, '/account/security')
    assert.match(done.body, /Your password has been changed, and all other sessions have been ended/)
    assert.deepEqual([await userinfo(mine.access_token), await userinfo(theirs.access_token)], [401, 401])
    assert.deepEqual([await refresh(mine.refresh_token), await refresh(theirs.refresh_token)], [400, 400])
    assert.equal(requirePage(await there.get('/account')).url.pathname, '/sign-in')
    assert.notEqual(here.jar.header(new URL(place.server.issuer)), before)
    assert.equal((await tokens(here, { ...person, password: 'a new long password' })).seen.includes('sign-in'), false)
    assert.equal((await tokens(place.newAgent(), { ...person, password: 'a new long password' })).seen[0], 'sign-in')
  })

  test('withdrawing consent revokes its tokens, and the next request asks for consent again', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const { access_token, refresh_token } = await tokens(agent, person)
    const form = await withdrawal(agent)
    assert.equal(await userinfo(access_token), 200, 'asking has no effect')
    const done = requirePage(await agent.submit(form))
    assert.match(done.body, /The application no longer has access to your account/)
    assert.equal(await userinfo(access_token), 401)
    assert.equal(await refresh(refresh_token), 400)
    assert.deepEqual((await tokens(agent, person)).seen, ['question'])
  })

  test('a change that revokes tokens is made together with its event, or not at all', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const { access_token } = await tokens(agent, person)
    const { users, sessions, consents } = place.stores
    const state = async () => [
      (await users.findById(person.id))?.passwordHash,
      (await sessions.listOfUser(person.id)).length,
      await consents.find(person.id, 'web'),
    ]
    const before = await state()
    const password = formTo(requirePage(await agent.get('/account/password')), '/account/password')
    const consent = await withdrawal(agent)
    const allow = await refuseEvents(place.database)
    try {
      const changed = await agent.submit(password, { current_password: PASSWORD, new_password: 'a new long password' })
      assert.equal(requirePage(changed).status, 500)
      assert.equal(requirePage(await agent.submit(consent)).status, 500)
      assert.deepEqual(await state(), before)
    } finally {
      await allow()
    }
    assert.equal(await userinfo(access_token), 200)
  })

  test('clients that need no consent are listed too and can be revoked: the password grant, and first-party clients', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    await place.stores.clients.put({
      client_id: 'robot',
      client_name: 'Robot',
      token_endpoint_auth_method: 'none',
      grant_types: ['password', 'refresh_token'],
      scope: 'openid email offline_access',
    })
    const grants = ['openid', 'openid email offline_access'].map(async (scope) => {
      const { username, password } = person
      const form = { grant_type: 'password', client_id: 'robot', username, password, scope }
      const response = await fetch(`${place.server.issuer}/connect/token`, {
        method: 'POST',
        body: new URLSearchParams(form),
      })
      return (await response.json()) as { access_token: string; refresh_token?: string }
    })
    const [online, offline] = await Promise.all(grants)
    assert.ok(online !== undefined && offline !== undefined)
    const url = authorizeUrl(place.server.issuer, {
      client_id: 'trusted',
      redirect_uri: 'https://trusted.example.com/cb',
      response_type: 'id_token token',
    })
    const own = readAnswer((await visit(agent, await agent.get(url), person)).end).get('access_token') ?? ''

    const names = async () => {
      const { body } = requirePage(await agent.get('/account/applications'))
      return [...body.matchAll(/<li><div><p>([^<]+)</g)].map(([, name]) => name).sort()
    }
    assert.deepEqual(await names(), ['Robot', 'Trusted'])
    for (const [clientId, left] of [
      ['robot', ['Trusted']],
      ['trusted', []],
    ] as const) {
      await agent.submit(await withdrawal(agent, clientId))
      assert.deepEqual(await names(), left)
    }
    assert.deepEqual(await Promise.all([online.access_token, offline.access_token, own].map(userinfo)), [401, 401, 401])
    const refreshed = await fetch(`${place.server.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: 'robot',
        refresh_token: offline.refresh_token ?? '',
      }),
    })
    assert.equal(refreshed.status, 400)
    const other = await newPerson()
    assert.deepEqual(await place.stores.grants.listClientsOfUser(other.id), [])
  })

  async function post(path: string, form: Record<string, string>): Promise<Record<string, string>> {
    const body = new URLSearchParams({ client_id: 'device', ...form })
    const response = await fetch(`${place.server.issuer}${path}`, { method: 'POST', body })
    return (await response.json()) as Record<string, string>
  }

  async function approveDevice(agent: UserAgent): Promise<() => Promise<Record<string, string>>> {
    const asked = await post('/connect/deviceauthorization', { scope: 'openid offline_access' })
    const confirm = requirePage(await agent.get(`/device?user_code=${asked.user_code}`))
    await agent.submit(formTo(confirm, '/device/decision'), { decision: 'allow' })
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    return () => post('/connect/token', { grant_type, device_code: asked.device_code ?? '' })
  }

  test('the access of a device is listed too and can be revoked', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    await tokens(agent, person)
    const given = await (await approveDevice(agent))()
    assert.equal(await userinfo(given.access_token ?? ''), 200, JSON.stringify(given))
    await agent.submit(await withdrawal(agent, 'device'))
    assert.equal(await userinfo(given.access_token ?? ''), 401)
    const refreshed = await post('/connect/token', {
      grant_type: 'refresh_token',
      refresh_token: given.refresh_token ?? '',
    })
    assert.equal(refreshed.error, 'invalid_grant')
  })

  test('C-67: a device that has not redeemed its code gets no tokens once consent is withdrawn, even if another device is approved later', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    await tokens(agent, person)
    const [first, second] = [await approveDevice(agent), await approveDevice(agent)]
    await agent.submit(await withdrawal(agent, 'device'))
    assert.equal((await first()).error, 'invalid_grant')
    place.clock.advance(1)
    const third = await approveDevice(agent)
    assert.equal((await second()).error, 'invalid_grant')
    const given = await third()
    assert.equal(await userinfo(given.access_token ?? ''), 200, JSON.stringify(given))
  })

  test('B-75: the applications of a deleted user are notified of the end of the session', async () => {
    const person = await newPerson()
    await tokens(place.newAgent(), person)
    const { sessions, users, grants, events } = place.stores
    const [session] = await sessions.listOfUser(person.id)
    assert.deepEqual(await sessions.listClients(session?.id ?? ''), ['web'])
    place.clock.advance(1)
    await users.remove(person.id)
    await createRevocations({ grants, publish: events.append, clock: place.clock }).revokeUser(person.id)
    await until('the clients of the session have been notified', 2000, async () => {
      return (await sessions.listClients(session?.id ?? '')).length === 0
    })
    assert.deepEqual(await sessions.listOfUser(person.id), [])
  })

  test('a session ended from another browser is over at once: pages, silent renewal and tokens', async () => {
    const person = await newPerson()
    const [here, there] = [place.newAgent(), place.newAgent({ 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/140.0' })]
    await tokens(here, person)
    const theirs = await tokens(there, person, { scope: 'openid' })
    assert.match(requirePage(await here.get('/account/sessions')).body, /Firefox · Linux/)
    const others = (query: URLSearchParams) => query.get('session') === 'others'
    const form = await asked(here, '/account/sessions', '/account/sessions/end', (query) => !others(query))
    assert.equal(await userinfo(theirs.access_token), 200, 'asking has no effect')
    await here.submit(form)
    assert.equal(await userinfo(theirs.access_token), 401)
    const silent = await there.get(authorizeUrl(place.server.issuer, { prompt: 'none' }))
    assert.equal(readAnswer(silent).get('error'), 'login_required')
    assert.equal((await account(here)).url.pathname, '/account')
  })

  test('a user cannot end the session of another user', async () => {
    const [olive, mallory] = [await newPerson(), await newPerson()]
    const [hers, his] = [place.newAgent(), place.newAgent()]
    await tokens(hers, olive)
    await tokens(his, mallory)
    await tokens(place.newAgent(), mallory)
    const [session] = await place.stores.sessions.listOfUser(olive.id)
    const address = `/account/sessions/end?session=${session?.id}`
    assert.equal(requirePage(await his.get(address)).url.pathname, '/account/sessions', 'there is nothing to ask about')
    const form = await asked(
      his,
      '/account/sessions',
      '/account/sessions/end',
      (query) => query.get('session') !== 'others',
    )
    await his.submit(form, { session: session?.id ?? '' })
    assert.equal((await place.stores.sessions.listOfUser(olive.id)).length, 1)
    assert.equal((await account(hers)).status, 200)
  })

  test('C-02: a form is refused in another session, and without its CSRF token', async () => {
    const [olive, mallory] = [await newPerson(), await newPerson()]
    const agent = place.newAgent()
    await tokens(agent, olive)
    const form = formTo(await account(agent), '/account/profile')
    const other = place.newAgent()
    await tokens(other, mallory)
    for (const attempt of [
      () => other.submit(form, { name: 'Forged' }),
      () => agent.submit(form, { name: 'Forged', form_token: '' }),
      () => agent.post('/account/profile', [['name', 'Forged']]),
    ]) {
      assert.equal(requirePage(await attempt()).status, 403)
    }
    for (const { id } of [olive, mallory]) assert.equal((await place.stores.users.findById(id))?.profile.name, 'Olive')
  })

  test('users can edit their profile; a new email address is unverified, and a website must be an http(s) URL', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    await tokens(agent, person)
    const form = formTo(await account(agent), '/account/profile')
    assert.equal(requirePage(await agent.submit(form, { website: 'javascript:alert(1)' })).status, 400)
    await agent.submit(form, {
      name: 'Olive Oyl',
      email: 'oyl@example.com',
      nickname: '',
      website: 'https://o.example',
    })
    assert.deepEqual((await place.stores.users.findById(person.id))?.profile, {
      name: 'Olive Oyl',
      email: 'oyl@example.com',
      email_verified: false,
      website: 'https://o.example',
    })
  })

  test('times are shown in the time zone of the user, with UTC on hover; an unknown zone is refused', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    await tokens(agent, person)
    const set = async (zoneinfo: string) =>
      requirePage(await agent.submit(formTo(await account(agent), '/account/profile'), { zoneinfo }))
    const seen = async () => {
      const { body } = requirePage(await agent.get('/account/sessions'))
      const [, title = '', text = ''] = /Last used <time datetime="[^"]+" title="([^"]+)">([^<]+)</.exec(body) ?? []
      return { title, text }
    }
    const utc = await seen()
    assert.match(utc.text, / UTC$/)
    for (const unknown of ['Middle/Earth', '+01:00', 'constructor', '"><script>']) {
      const refused = requirePage(await set(unknown))
      assert.equal(refused.status, 400, unknown)
      assert.match(refused.body, /Choose a time zone from the list/)
      assert.doesNotMatch(refused.body, /<script>/)
      assert.deepEqual(await seen(), utc)
    }
    for (const zone of ['Asia/Tokyo', 'Asia/Kolkata', 'Asia/Calcutta', 'UTC'])
      assert.equal((await set(zone)).status, 200, zone)
    await set('Asia/Tokyo')
    assert.equal((await seen()).title, utc.title)
    assert.notEqual((await seen()).text, utc.text)
    assert.match((await account(agent)).body, /<option value="Asia\/Tokyo" selected>/)
    const format = (locale: string) =>
      new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo' }).format(
        place.clock(),
      )
    assert.equal((await seen()).text, format('en'))
    await agent.submit(formTo(await account(agent), '/account/profile'), { locale: 'en-GB' })
    assert.equal((await seen()).text, format('en-GB'))
  })

  test('a zone that an administrator has set is kept, even an unknown one, until the person chooses another', async () => {
    const person = await newPerson()
    await place.stores.users.update(person.id, { profile: { name: 'Olive', zoneinfo: 'Middle/Earth', locale: 'tlh' } })
    const agent = place.newAgent()
    await tokens(agent, person)
    assert.match(requirePage(await agent.get('/account/sessions')).body, /Last used <time[^>]+>[^<]+ UTC</)
    await agent.submit(formTo(await account(agent), '/account/profile'), { name: 'Olive Oyl' })
    assert.deepEqual((await place.stores.users.findById(person.id))?.profile, {
      name: 'Olive Oyl',
      zoneinfo: 'Middle/Earth',
      locale: 'tlh',
    })
  })

  test('the pages are in the language of the profile; an unknown language is refused', async () => {
    const person = await newPerson()
    const agent = place.newAgent({ 'accept-language': 'en' })
    await tokens(agent, person)
    const set = async (locale: string) =>
      requirePage(await agent.submit(formTo(await account(agent), '/account/profile'), { locale }))
    for (const unknown of ['xx', 'de de', 'English', '-']) {
      const refused = await set(unknown)
      assert.equal(refused.status, 400, unknown)
      assert.match(refused.body, /Choose a language from the list/)
    }
    assert.match((await set('de-at')).body, /<html lang="de">[\s\S]*Ihr Profil wurde gespeichert/)
    assert.equal((await place.stores.users.findById(person.id))?.profile.locale, 'de-AT')
    assert.match((await set('ja')).body, /<html lang="en">/)
  })

  test('permissions are a list in words: those of an application, and the rights of the person', async () => {
    const person = await newPerson()
    await place.stores.users.setRoles(person.id, ['reader'])
    const agent = place.newAgent()
    await tokens(agent, person, { scope: 'offline_access openid email Platform/Market' })
    const readTexts = (body: string) =>
      [...(/<ul class="permissions"[^>]*>(.*?)<\/ul>/s.exec(body)?.[1] ?? '').matchAll(/<span>([^<]+)<\/span>/g)].map(
        ([, text]) => text,
      )
    assert.deepEqual(readTexts(requirePage(await agent.get('/account/applications')).body), [
      'Know who you are',
      'See your email address',
      'Keep access when you are not using the application',
      'Read market data',
    ])
    assert.deepEqual(readTexts((await account(agent)).body), ['Read market data'])
  })

  test('B-47: signing out ends the tokens of the session, but offline access can still be refreshed', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const offline = await tokens(agent, person)
    const online = await tokens(agent, person, { scope: 'openid' })
    const left = requirePage(await agent.submit(formTo(await account(agent), '/account/sign-out')))
    assert.match(left.body, /You are signed out/)
    assert.deepEqual([await userinfo(offline.access_token), await userinfo(online.access_token)], [401, 401])
    const refreshed = await token({ grant_type: 'refresh_token', refresh_token: offline.refresh_token ?? '' })
    const { access_token } = (await refreshed.json()) as { access_token: string }
    assert.equal(await userinfo(access_token), 200)
  })

  test('a session expires', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    await tokens(agent, person)
    place.clock.advance(12 * 3600_000)
    assert.equal(requirePage(await agent.get('/account')).url.pathname, '/sign-in')
  })
})
