/** Second factors: enrolment, enforcement, single use of codes, and correct amr and acr. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { totpCode } from '../../packages/server/src/identity/factors/totp.ts'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { fromBase32 } from '../support/base32.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type Form, linksTo } from '../support/html-form.ts'
import {
  authorizeUrl,
  type Changes,
  decodeClaims,
  openSignInPlace,
  readAnswer,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { type Departure, type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const PASSWORD = 'yet another long password'
const STEP_MS = 30_000
const TRUSTED = { client_id: 'trusted', redirect_uri: 'https://trusted.example.com/cb', response_type: 'id_token' }
const STRICT = { client_id: 'strict', redirect_uri: 'https://strict.example.com/cb', response_type: 'code' }

onEveryEngineInLongRuns('second factors', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at(), { flags: { '--trusted-proxies': '127.0.0.1,::1' } })
    await place.stores.roles.put({ name: 'guarded', scopes: [], requireSecondFactor: true })
  })
  after(() => place.close())

  const passwordHash = hashPassword(PASSWORD)
  let count = 0
  async function newPerson(roles: string[] = []): Promise<{ username: string; password: string; id: string }> {
    const username = `person-${++count}`
    const id = await place.stores.users.create({ username, passwordHash: await passwordHash, roles })
    return { username, password: PASSWORD, id }
  }

  const ask = (agent: UserAgent, changes: Changes) => agent.get(authorizeUrl(place.server.issuer, changes))
  const code = (secret: Buffer) => totpCode(secret, Math.floor(place.clock() / STEP_MS))

  /** Fills in the set-up page and returns the secret and the recovery codes. */
  async function setUp(
    agent: UserAgent,
    page: Page | Departure,
  ): Promise<{ secret: Buffer; codes: string[]; next: Page }> {
    const form = buildForm(page, 'authenticator')
    const secret = fromBase32(/id="authenticator-key">([A-Z2-7 ]+)</.exec(requirePage(page).body)?.[1] ?? '')
    const wrong = requirePage(await agent.submit(form, { code: '000000' }))
    assert.equal(wrong.status, 400)
    const next = requirePage(await agent.submit(buildForm(wrong, 'authenticator'), { code: code(secret) }))
    const codes = [...next.body.matchAll(/<li><code>([^<]+)</g)].map(([, text = '']) => text)
    return { secret, codes, next }
  }

  /** A user with an authenticator app, enrolled on the account page. */
  async function enrolled() {
    const person = await newPerson()
    const agent = place.newAgent()
    const page = await agent.get('/account/authenticator')
    const result = await setUp(agent, await signIn(agent, requirePage(page), person))
    assert.equal(result.codes.length, 10)
    place.clock.advance(STEP_MS)
    return { person, agent, ...result }
  }

  async function signInAndCode(agent: UserAgent, changes: Changes, person: { username: string; password: string }) {
    const page = await ask(agent, changes)
    return requirePage(await signIn(agent, requirePage(page), person))
  }

  test('B-33: the next sign-in asks for a code of the app, and amr and acr reflect it', async () => {
    const { person, secret } = await enrolled()
    const agent = place.newAgent()
    const page = await signInAndCode(agent, TRUSTED, person)
    assert.match(page.url.pathname, /second-factor$/)
    const claims = decodeClaims(
      readAnswer(await agent.submit(buildForm(page, 'second-factor'), { code: code(secret) })).get('id_token') ?? '',
    )
    assert.deepEqual(claims.amr, ['pwd', 'otp', 'mfa'])
    assert.equal(claims.acr, '2')
  })

  test('a password alone starts no session for a user with a second factor', async () => {
    const { person } = await enrolled()
    const agent = place.newAgent()
    await signInAndCode(agent, TRUSTED, person)
    assert.equal(readAnswer(await ask(agent, { ...TRUSTED, prompt: 'none' })).get('error'), 'login_required')
    const account = requirePage(await agent.get('/account'))
    assert.equal(account.url.pathname, '/sign-in')
  })

  test('RFC 6238 §5.2: a code is accepted once, also across browsers', async () => {
    const { person, secret } = await enrolled()
    const [one, two] = [place.newAgent(), place.newAgent()]
    const pages = [await signInAndCode(one, TRUSTED, person), await signInAndCode(two, TRUSTED, person)] as const
    const first = await one.submit(buildForm(pages[0], 'second-factor'), { code: code(secret) })
    assert.equal(first.kind, 'left')
    const second = requirePage(await two.submit(buildForm(pages[1], 'second-factor'), { code: code(secret) }))
    assert.equal(second.status, 401)
  })

  test('an attacker with the password gets few guesses per address and in total, and cannot lock the user out', async () => {
    const { person, secret } = await enrolled()
    const from = (address: string) => place.newAgent({ 'x-forwarded-for': address })
    const attempt = async (agent: UserAgent, typed: string) => {
      const page = await signInAndCode(agent, TRUSTED, person)
      const end = await agent.submit(buildForm(page, 'second-factor'), { code: typed })
      return end.kind === 'left' ? 303 : end.status
    }
    // An address where the user used the factor before.
    const home = from('192.0.2.1')
    assert.equal(await attempt(home, code(secret)), 303)
    place.clock.advance(STEP_MS)

    const attacker = from('198.51.100.1')
    const statuses: number[] = []
    for (let tries = 0; tries < 7; tries++) statuses.push(await attempt(attacker, '123456'))
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 401, 429])
    const delayed = () =>
      place.database.db
        .selectFrom('audit_log')
        .select(['actor', 'client', 'details'])
        .where('event', '=', 'signin.delayed')
        .where('address', '=', '198.51.100.1')
        .executeTakeFirst()
    await until('the delay is recorded', 2000, async () => (await delayed()) !== undefined)
    const row = await delayed()
    assert.equal(row?.client, 'trusted')
    assert.partialDeepStrictEqual(JSON.parse(row?.details ?? ''), {
      scope: ['second factor'],
      username: person.username,
    })
    // At another address the user is not affected.
    assert.equal(await attempt(from('192.0.2.2'), code(secret)), 303)
    place.clock.advance(STEP_MS)

    let refused = 0
    for (let host = 2; host < 20; host++)
      refused += Number((await attempt(from(`198.51.100.${host}`), '123456')) === 429)
    assert.ok(refused > 0, 'guesses from many addresses are not limited')
    assert.equal(await attempt(from('203.0.113.9'), code(secret)), 429)
    assert.equal(await attempt(from('192.0.2.1'), code(secret)), 303)
    place.clock.advance(5 * 60_000)
    assert.equal(await attempt(from('203.0.113.9'), code(secret)), 303)
  })

  test('guessing codes is throttled, and a correct code must wait like a wrong one', async () => {
    const { person, secret } = await enrolled()
    const agent = place.newAgent()
    let page = await signInAndCode(agent, TRUSTED, person)
    const statuses: number[] = []
    for (let tries = 0; tries < 8; tries++) {
      page = requirePage(await agent.submit(buildForm(page, 'second-factor'), { code: '123456' }))
      statuses.push(page.status)
    }
    assert.deepEqual(statuses.slice(0, 5), [401, 401, 401, 401, 401])
    assert.equal(statuses.at(-1), 429)
    const waiting = requirePage(await agent.submit(buildForm(page, 'second-factor'), { code: code(secret) }))
    assert.equal(waiting.status, 429)
    place.clock.advance(Number(waiting.headers.get('retry-after')) * 1000 + STEP_MS)
    assert.equal((await agent.submit(buildForm(waiting, 'second-factor'), { code: code(secret) })).kind, 'left')
  })

  test('a recovery code is accepted once', async () => {
    const { person, codes } = await enrolled()
    for (const expected of ['left', 'page'] as const) {
      const agent = place.newAgent()
      const page = await signInAndCode(agent, TRUSTED, person)
      const link = /href="([^"]*way=recovery)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
      const recovery = requirePage(await agent.get(link))
      const end = await agent.submit(buildForm(recovery, 'second-factor'), { code: codes[3]?.toUpperCase() ?? '' })
      assert.equal(end.kind, expected)
    }
  })

  test('right codes that arrive together are all accepted: only failures count', async () => {
    const { person, codes } = await enrolled()
    const address = { 'x-forwarded-for': '198.51.100.77' }
    const half = await Promise.all(
      codes.map(async (recoveryCode) => {
        const agent = place.newAgent(address)
        const page = await signInAndCode(agent, TRUSTED, person)
        const link = /href="([^"]*way=recovery)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
        const form = buildForm(requirePage(await agent.get(link)), 'second-factor')
        return () => agent.submit(form, { code: recoveryCode })
      }),
    )
    const ends = await Promise.all(half.map((submit) => submit()))
    assert.deepEqual(
      ends.map(({ kind }) => kind),
      codes.map(() => 'left'),
    )
  })

  test('wrong codes that arrive together get no more tries than one after another', async () => {
    const { person } = await enrolled()
    const forms = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const agent = place.newAgent({ 'x-forwarded-for': '198.51.100.78' })
        const form = buildForm(await signInAndCode(agent, TRUSTED, person), 'second-factor')
        return () => agent.submit(form, { code: '123456' })
      }),
    )
    const statuses = await Promise.all(forms.map(async (submit) => requirePage(await submit()).status))
    assert.equal(statuses.filter((status) => status === 401).length, 6)
    assert.equal(statuses.filter((status) => status === 429).length, 6)
  })

  test('a client that requires a second factor makes a user without one set it up, and then continues', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const page = await signInAndCode(agent, STRICT, person)
    assert.equal(page.url.pathname, '/set-up-factor')
    assert.equal(readAnswer(await ask(agent, { ...STRICT, prompt: 'none' })).get('error'), 'interaction_required')
    const { next } = await setUp(agent, page)
    const kept = /id="recovery-codes-kept" href="([^"]+)"/.exec(next.body)?.[1] ?? ''
    assert.ok(readAnswer(await agent.get(kept)).get('code'))
    assert.ok(readAnswer(await ask(agent, { ...STRICT, prompt: 'none' })).get('code'))
  })

  test('a session without a second factor needs only the second factor, and gets a new cookie (C-04)', async () => {
    const { person, secret } = await enrolled()
    const agent = place.newAgent()
    // A session that is older than the enrolment.
    const { cookie } = await place.stores.sessions.open(person.id, {
      amr: ['pwd'],
      userAgent: '',
      address: '127.0.0.1',
    })
    agent.jar.store(new URL(place.server.issuer), [`gatehouse=${cookie}; Path=/`])
    const page = requirePage(await ask(agent, STRICT))
    assert.equal(page.url.pathname, '/second-factor')
    const end = await agent.submit(buildForm(page, 'second-factor'), { code: code(secret) })
    assert.ok(readAnswer(end).get('code'))
    assert.equal(await place.stores.sessions.find(cookie), undefined)
  })

  test('a role that requires a second factor applies to our own pages too', async () => {
    const person = await newPerson(['guarded'])
    const agent = place.newAgent()
    const page = await signIn(agent, requirePage(await agent.get('/account')), person)
    assert.equal(requirePage(page).url.pathname, '/set-up-factor')
    const { next } = await setUp(agent, page)
    const account = requirePage(await agent.get(/id="recovery-codes-kept" href="([^"]+)"/.exec(next.body)?.[1] ?? ''))
    assert.equal(account.url.pathname, '/account')
    const refused = requirePage(await agent.submit(await removal(agent)))
    assert.equal(refused.status, 400)
    assert.match(refused.body, /add another method before you remove this one/)
    assert.equal((await place.stores.users.findById(person.id))?.hasSecondFactor, true)
  })

  test('B-33: an essential acr that cannot be satisfied is an error, never a weaker token', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const claims = (value: string) => JSON.stringify({ id_token: { acr: { essential: true, values: [value] } } })
    const unknown = await ask(agent, { ...TRUSTED, claims: claims('urn:other') })
    const first = await signIn(agent, requirePage(unknown), person)
    assert.equal(readAnswer(first).get('error'), 'unmet_authentication_requirements')
    const higher = await ask(agent, { ...TRUSTED, claims: claims('2') })
    assert.equal(readAnswer(higher).get('error'), 'unmet_authentication_requirements')
    assert.ok(readAnswer(await ask(agent, { ...TRUSTED, claims: claims('1') })).get('id_token'))
  })

  /** The form that removes the first factor, from the page that asks. */
  async function removal(agent: UserAgent): Promise<Form> {
    const [link = ''] = linksTo(requirePage(await agent.get('/account/security')).body, '/account/factors/remove')
    return confirmation(requirePage(await agent.get(link)))
  }

  function confirmation(page: Page): Form {
    const form = page.forms.find(({ id }) => id === 'confirm')
    assert.ok(form, page.body)
    return form
  }

  test('removing the last factor removes the recovery codes', async () => {
    const { person, agent } = await enrolled()
    const form = await removal(agent)
    assert.notDeepEqual(await place.stores.factors.listOfUser(person.id), [], 'asking has no effect')
    assert.match(requirePage(await agent.submit(form)).body, /The method has been removed/)
    assert.deepEqual(await place.stores.factors.listOfUser(person.id), [])
  })

  test('changing factors requires a recent sign-in', async () => {
    const { agent } = await enrolled()
    const codes = confirmation(requirePage(await agent.get('/account/recovery-codes')))
    place.clock.advance(11 * 60_000)
    for (const path of ['/account/passkey', '/account/recovery-codes', '/account/factors/remove?factor=any'])
      assert.equal(requirePage(await agent.get(path)).url.pathname, '/sign-in', path)
    assert.equal(requirePage(await agent.submit(codes)).url.pathname, '/sign-in')
  })

  test('an old session without the factor cannot change factors, on the account page or the set-up page', async () => {
    const { person } = await enrolled()
    const agent = place.newAgent()
    const { cookie } = await place.stores.sessions.open(person.id, {
      amr: ['pwd'],
      userAgent: '',
      address: '127.0.0.1',
    })
    agent.jar.store(new URL(place.server.issuer), [`gatehouse=${cookie}; Path=/`])
    const [factor] = await place.stores.factors.listOfUser(person.id)
    for (const path of ['authenticator', 'passkey', 'recovery-codes', `factors/remove?factor=${factor?.id}`])
      assert.equal(requirePage(await agent.get(`/account/${path}`)).url.pathname, '/second-factor', path)
    const [form] = requirePage(await agent.get('/account')).forms
    const token = form?.fields.find(({ name }) => name === 'form_token')?.value ?? ''
    for (const path of ['/account/factors/remove', '/account/recovery-codes']) {
      const end = await agent.post(path, [
        ['form_token', token],
        ['factor', factor?.id ?? ''],
      ])
      assert.equal(requirePage(end).url.pathname, '/second-factor')
    }
    const asked = requirePage(await ask(agent, STRICT))
    assert.equal((await place.stores.factors.listOfUser(person.id)).length, 11)
    const flow = asked.url.searchParams.get('flow') ?? ''
    assert.equal(requirePage(await agent.get(`/set-up-factor?flow=${flow}`)).url.pathname, '/second-factor')
    assert.equal((await place.stores.factors.listOfUser(person.id)).filter(({ kind }) => kind === 'totp').length, 1)
  })

  test('an unattended browser cannot be used to set up a factor', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    await signIn(agent, requirePage(await agent.get('/account')), person)
    place.clock.advance(11 * 60_000)
    const page = requirePage(await ask(agent, STRICT))
    assert.equal(page.url.pathname, '/sign-in')
    const { next } = await setUp(agent, await signIn(agent, page, person))
    assert.match(next.body, /recovery-codes/)
  })

  test('a sign-in that waits for the second factor ends when the password changes, or after some time', async () => {
    const { person, secret } = await enrolled()
    const agent = place.newAgent()
    const page = await signInAndCode(agent, TRUSTED, person)
    place.clock.advance(STEP_MS)
    await place.stores.users.setPassword(person.id, await hashPassword('changed meanwhile'))
    assert.equal(requirePage(await agent.submit(buildForm(page, 'second-factor'), { code: code(secret) })).status, 400)
    const other = place.newAgent()
    const late = await signInAndCode(other, TRUSTED, { ...person, password: 'changed meanwhile' })
    place.clock.advance(16 * 60_000)
    assert.equal(requirePage(await other.submit(buildForm(late, 'second-factor'), { code: code(secret) })).status, 400)
  })

  test('the TOTP secret is not readable in the database', async () => {
    const { secret } = await enrolled()
    const rows = JSON.stringify(await place.database.db.selectFrom('factors').selectAll().execute())
    assert.ok(!rows.includes(secret.toString('base64url')) && !rows.includes(secret.toString('base64')))
  })
})

function buildForm(page: Page | Departure, id: string) {
  const form = requirePage(page).forms.find((candidate) => candidate.id === id)
  if (form === undefined) throw new Error(`No form ${id} at ${requirePage(page).url.href}: ${requirePage(page).body}`)
  return form
}
