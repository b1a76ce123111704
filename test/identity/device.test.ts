/** The page on which a person lets a device in (RFC 8628 §3.3, §5); on every engine. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { ALICE, BOB, openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts'
import type { Departure, Page, UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

onEveryEngine('the device page', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())

  async function start(): Promise<{ device_code: string; user_code: string; verification_uri_complete: string }> {
    const response = await post('/connect/deviceauthorization', {
      client_id: 'device',
      scope: 'openid offline_access Platform/Market Platform/Admin',
    })
    return (await response.json()) as Awaited<ReturnType<typeof start>>
  }

  function post(path: string, form: Record<string, string>): Promise<Response> {
    return fetch(place.server.issuer + path, { method: 'POST', body: new URLSearchParams(form) })
  }

  async function poll(deviceCode: string): Promise<{ status: number; body: Record<string, string> }> {
    place.clock.advance(6000)
    const response = await post('/connect/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'device',
      device_code: deviceCode,
    })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }

  /** A browser in which the person is signed in, at the page. */
  async function openAt(person: { username: string; password: string }, path = '/device') {
    const agent = place.newAgent()
    const page = pageOf(await signIn(agent, pageOf(await agent.get(path)), person))
    return { agent, page }
  }

  const submitCode = (agent: UserAgent, page: Page, user_code: string) =>
    agent.submit(formOf(page, 'device'), { user_code }).then(pageOf)

  function decide(agent: UserAgent, page: Page, decision: 'allow' | 'deny') {
    const form = formOf(page, 'device-confirm')
    return agent.submit(
      form,
      {},
      form.buttons.find(({ value }) => value === decision),
    )
  }

  test('C-77: the code from the link is shown, with who asks for what, and is confirmed by hand', async () => {
    const { device_code, user_code, verification_uri_complete } = await start()
    const { agent, page } = await openAt(ALICE, verification_uri_complete)
    assert.equal(page.url.pathname, '/device')
    assert.match(page.body, new RegExp(`id="user-code">${user_code}<`))
    assert.match(page.body, /Trading Terminal/)
    assert.match(page.body, /Read market data/)
    assert.doesNotMatch(page.body, /Administer the platform/, 'a right that the person does not hold')
    assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
    assert.equal((await poll(device_code)).body.error, 'authorization_pending')
    const done = pageOf(await decide(agent, page, 'allow'))
    assert.match(done.body, /Your device is connected/)
    const { status, body } = await poll(device_code)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(body.scope?.split(' ').sort(), ['Platform/Market', 'offline_access', 'openid'])
  })

  test('C-73, C-75: typed in lower case without its dash, and denied', async () => {
    const { device_code, user_code } = await start()
    const { agent, page } = await openAt(ALICE)
    const confirm = await submitCode(agent, page, ` ${user_code.toLowerCase().replace('-', ' ')}`)
    assert.match(pageOf(await decide(agent, confirm, 'deny')).body, /Access was denied/)
    assert.equal((await poll(device_code)).body.error, 'access_denied')
  })

  test('C-77: a decision without the token of the session is refused', async () => {
    const { device_code, user_code } = await start()
    const { agent, page } = await openAt(ALICE)
    const confirm = await submitCode(agent, page, user_code)
    const other = await openAt(BOB)
    const forged = pageOf(await decide(other.agent, confirm, 'allow'))
    assert.equal(forged.status, 403)
    const bare = await agent.post('/device/decision', [
      ['user_code', user_code],
      ['decision', 'allow'],
    ])
    assert.equal(pageOf(bare).status, 403)
    assert.equal((await poll(device_code)).body.error, 'authorization_pending')
  })

  test('C-78: of two people who decide, the first decides', async () => {
    const { device_code, user_code } = await start()
    const people = await Promise.all([openAt(ALICE), openAt(BOB)])
    const confirms = await Promise.all(people.map(({ agent, page }) => submitCode(agent, page, user_code)))
    const ends = await Promise.all(
      people.map(({ agent }, index) => decide(agent, confirms[index] ?? pageOf(people[0].page), 'allow').then(pageOf)),
    )
    assert.deepEqual(ends.map(({ status }) => status).sort(), [200, 400])
    const { body } = await poll(device_code)
    assert.ok(body.access_token)
    const winner = ends[0]?.status === 200 ? 'Platform/Market' : undefined
    assert.equal(body.scope?.includes('Platform/Market'), winner !== undefined)
  })

  test('C-76: wrong, expired and decided codes look the same, and guessing is slowed down', async () => {
    const decided = await start()
    const expired = await start()
    const { agent, page } = await openAt(BOB)
    await decide(agent, await submitCode(agent, page, decided.user_code), 'deny')
    place.clock.advance(3600_000)
    const tell = async (code: string) => {
      const { status, body } = await submitCode(agent, page, code)
      return { status, text: /id="error-summary"[\s\S]*?<\/div>/.exec(body)?.[0] }
    }
    const wrong = await tell('BBBB-BBBB')
    assert.equal(wrong.status, 400)
    assert.deepEqual(await tell(expired.user_code), wrong)
    assert.deepEqual(await tell(decided.user_code), wrong)
    const statuses: number[] = []
    for (let tries = 0; tries < 8; tries++) statuses.push((await tell('CCCC-CCCC')).status)
    assert.equal(statuses.at(-1), 429)
    const fresh = await start()
    assert.equal((await tell(fresh.user_code)).status, 429, 'a good code waits too')
  })
})

function pageOf(end: Page | Departure): Page {
  if (end.kind === 'left') throw new Error(`Sent away to ${end.url.href}`)
  return end
}

function formOf(page: Page, id: string) {
  const form = page.forms.find((candidate) => candidate.id === id)
  if (form === undefined) throw new Error(`No form ${id} at ${page.url.href}: ${page.body}`)
  return form
}
