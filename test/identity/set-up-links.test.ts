/** One-time set-up links: an invited person or one who forgot the password chooses one, once, and nothing else can. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import type { LinkKind } from '../../packages/server/src/store/accounts/set-up-links.ts'
import { seal } from '../../packages/server/src/store/keys/opaque.ts'
import { onEveryEngineInLongRuns, openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { openSignInPlace, openSqlitePlace, type SignInPlace } from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { createUserAgent, type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const HOUR = 3_600_000
const OLD = 'the first long password'
const NEW = 'a long enough password'

function setUpForm(page: Page) {
  const form = page.forms.find(({ id }) => id === 'set-up')
  if (form === undefined) throw new Error(`No set-up form at ${page.url.href}: ${page.status} ${page.body}`)
  return form
}

onEveryEngineInLongRuns('set-up links', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
    await place.stores.roles.put({ name: 'careful', scopes: [], requireSecondFactor: true })
  })
  after(() => place.close())

  let count = 0
  async function newPerson(options: { passwordHash?: string; roles?: string[] } = {}) {
    const username = `person-${++count}`
    const id = await place.stores.users.create({ username, profile: { name: 'Pat <b>' }, ...options })
    return { username, id }
  }

  async function newLink(userId: string, kind: LinkKind = 'invitation', lifetimeMs = HOUR) {
    const { link, token } = await place.stores.setUpLinks.create({ kind, userId, createdBy: 'test', lifetimeMs })
    return { id: link.id, token, path: `/set-up?token=${token}` }
  }

  const open = async (agent: UserAgent, path: string) => requirePage(await agent.get(path))

  async function signInStatus(username: string, password: string): Promise<string> {
    const agent = place.newAgent()
    const page = requirePage(await signIn(agent, await open(agent, '/account'), { username, password }))
    return page.url.pathname
  }

  async function audited(target: string): Promise<string[]> {
    const rows = await place.database.db
      .selectFrom('audit_log')
      .select(['event', 'details', 'actor', 'target'])
      .orderBy('seq')
      .execute()
    const own = rows.filter((row) => row.target === target || row.actor === target)
    return own.map(({ event, details }) => `${event} ${details}`)
  }

  test('an invited person chooses a password and is signed in; the link is used up', async () => {
    const person = await newPerson()
    const { token, path, id } = await newLink(person.id)
    const agent = place.newAgent()
    // Opening it does not use it: programs that preview links do so.
    for (let times = 0; times < 3; times++) assert.equal((await open(place.newAgent(), path)).status, 200)
    const page = await open(agent, path)
    assert.match(page.body, /Welcome to Gatehouse/)
    assert.match(page.body, /Pat &lt;b&gt; · person-\d+/)
    assert.match(page.body, /At least 8 characters/)
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(page.headers.get('cache-control'), 'no-store')
    assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
    const short = requirePage(await agent.submit(setUpForm(page), { new_password: 'short' }))
    assert.equal(short.status, 400)
    const done = requirePage(await agent.submit(setUpForm(short), { new_password: NEW }))
    assert.equal(done.url.pathname, '/account')
    assert.equal(done.status, 200)
    assert.equal(await signInStatus(person.username, NEW), '/account')

    assert.equal((await open(place.newAgent(), path)).status, 410)
    assert.equal(requirePage(await agent.submit(setUpForm(page), { new_password: 'and yet another one' })).status, 410)
    assert.equal(await signInStatus(person.username, 'and yet another one'), '/sign-in')
    assert.equal((await place.stores.setUpLinks.findById(id))?.link.state, 'used')

    // The audit log is written in batches.
    await until('the refusal is recorded', 5000, async () => /link\.refused/.test((await audited(person.id)).join()))
    const events = await audited(person.id)
    assert.ok(events.includes(`link.used {"link":"${id}","kind":"invitation"}`), events.join('\n'))
    assert.ok(events.includes('password.changed {"reason":"invitation"}'), events.join('\n'))
    const log = place.server.log.join('\n')
    assert.match(log, /"path":"\/set-up"/)
    assert.ok(!log.includes(token) && !events.join('').includes(token), 'the token is nowhere in the log')
    const stored = JSON.stringify(await place.database.db.selectFrom('set_up_links').selectAll().execute())
    assert.ok(!stored.includes(token), 'only its digest is stored')
  })

  test('a reset ends the sessions, ends the demand for a change, and does not replace the second factor', async () => {
    const passwordHash = await hashPassword(OLD)
    const person = await newPerson({ passwordHash })
    await place.stores.users.update(person.id, { mustChangePassword: true })
    const { session } = await place.stores.sessions.open(person.id, { amr: ['pwd'], userAgent: '', address: '' })
    const sealed = seal(Buffer.alloc(20), Buffer.alloc(32), 'totp')
    await place.stores.factors.add({ userId: person.id, kind: 'totp', label: 'p', secret: sealed, counter: 0 })
    const { path } = await newLink(person.id, 'reset')
    const agent = place.newAgent()
    const page = await open(agent, path)
    assert.match(page.body, /ends all your sessions/)
    const done = requirePage(await agent.submit(setUpForm(page), { new_password: NEW }))
    assert.equal(done.url.pathname, '/second-factor')
    assert.equal((await open(agent, '/account')).url.pathname, '/sign-in', 'not signed in without it')
    assert.equal(await place.stores.sessions.findById(session.id), undefined)
    assert.equal((await place.stores.users.findById(person.id))?.mustChangePassword, false)
  })

  test('a person with rights continues to the console', async () => {
    const person = await newPerson({ roles: ['reader'] })
    const { path } = await newLink(person.id)
    const agent = place.newAgent()
    const done = requirePage(await agent.submit(setUpForm(await open(agent, path)), { new_password: NEW }))
    assert.equal(done.url.pathname, '/console')
  })

  test('a role that requires a second factor leads to its set-up before the account', async () => {
    const person = await newPerson({ roles: ['careful'] })
    const { path } = await newLink(person.id)
    const agent = place.newAgent()
    const done = requirePage(await agent.submit(setUpForm(await open(agent, path)), { new_password: NEW }))
    assert.equal(done.url.pathname, '/set-up-factor')
    assert.equal((await open(agent, '/account')).url.pathname, '/set-up-factor')
  })

  test('every link that cannot be used gets the same reply, which says what to do', async () => {
    const person = await newPerson()
    const expired = await newLink(person.id, 'invitation', 60_000)
    place.clock.advance(61_000)
    const revoked = await newLink(person.id)
    await place.stores.setUpLinks.revoke(revoked.id)
    const replaced = await newLink(person.id)
    await newLink(person.id)
    const other = await newPerson()
    const voided = await newLink(other.id)
    await place.stores.users.setPassword(other.id, await hashPassword(OLD))
    const off = await newPerson()
    const disabled = await newLink(off.id)
    await place.stores.users.update(off.id, { disabled: true })
    const gone = await newPerson()
    const deleted = await newLink(gone.id)
    await place.stores.users.remove(gone.id)
    const paths = [expired, revoked, replaced, voided, disabled, deleted].map(({ path }) => path)
    const replies = new Set<string>()
    for (const path of [...paths, '/set-up?token=never-issued', '/set-up?token=', '/set-up']) {
      const page = await open(place.newAgent(), path)
      replies.add(`${page.status} ${page.body}`)
    }
    assert.equal(replies.size, 1)
    const [reply = ''] = replies
    assert.match(reply, /^410 /)
    assert.match(reply, /ask your administrator for a new link/)
    assert.match(reply, /href="\/sign-in"/)
  })

  test('of two uses at the same time one succeeds', async () => {
    const person = await newPerson()
    const { path } = await newLink(person.id)
    const agents = [place.newAgent(), place.newAgent(), place.newAgent()]
    const forms = await Promise.all(agents.map(async (agent) => setUpForm(await open(agent, path))))
    const ends = await Promise.all(
      agents.map(async (agent, index) => {
        const form = forms[index]
        if (form === undefined) throw new Error('unreachable')
        return requirePage(await agent.submit(form, { new_password: `${NEW} ${index}` })).status
      }),
    )
    assert.deepEqual(ends.sort(), [200, 410, 410])
  })

  test('the page is in the language of the browser, and its form needs the cookie of the browser', async () => {
    const person = await newPerson()
    const { path, token } = await newLink(person.id)
    const page = await open(place.newAgent({ 'accept-language': 'de' }), path)
    assert.match(page.body, /Willkommen bei Gatehouse/)
    const forged = requirePage(
      await place.newAgent().post('/set-up', [
        ['token', token],
        ['new_password', NEW],
      ]),
    )
    assert.equal(forged.status, 403)
    assert.equal((await open(place.newAgent(), path)).status, 200)
  })

  test('the first administrator is created by a link that replaces earlier ones, and only while there is none', async () => {
    const { server, stores } = place
    assert.equal(await server.hasAdministrator(), false)
    const first = await server.offerAdministrator()
    const second = await server.offerAdministrator()
    assert.ok(first !== undefined && second !== undefined)
    assert.equal((await open(place.newAgent(), first.url)).status, 410)
    const agent = place.newAgent()
    const page = await open(agent, second.url)
    assert.match(page.body, /Create the first administrator/)
    for (const [username, wanted] of [
      ['usr_x', /does not begin with/],
      ['a\u0007b', /Enter a username/],
      ['ALICE', /is taken/],
    ] as const) {
      const refused = requirePage(await agent.submit(setUpForm(page), { username, new_password: NEW }))
      assert.equal(refused.status, 400, username)
      assert.match(refused.body, wanted)
    }
    await stores.roles.put({ name: 'admin', scopes: ['Platform/News'] })
    const done = requirePage(await agent.submit(setUpForm(page), { username: 'Root', new_password: NEW }))
    assert.equal(done.url.pathname, '/console')
    assert.match((await open(agent, '/account')).body, /<strong>Root<\/strong>/)
    const root = await stores.users.findByUsername('root')
    assert.deepEqual([...(root?.rights ?? [])].sort(), ['Identity/Admin', 'Platform/Admin'])
    assert.deepEqual(root?.roles, ['admin-2'], 'a role of that name with other rights is left alone')
    assert.equal(await server.hasAdministrator(), true)
    assert.equal(await server.offerAdministrator(), undefined)
    assert.equal((await open(place.newAgent(), second.url)).status, 410)

    // Made while there was none, and opened when there is one.
    await stores.users.update(root?.id ?? '', { disabled: true })
    const late = await server.offerAdministrator()
    await stores.users.update(root?.id ?? '', { disabled: false })
    assert.equal((await open(place.newAgent(), late?.url ?? '')).status, 410)
  })
})

describe('set-up links', () => {
  test('are rate limited like all pages', async () => {
    const place = await openSqlitePlace({ flags: { '--limit-exempt': '', '--limit-pages': 'address=3/60' } })
    try {
      const statuses: number[] = []
      for (let times = 0; times < 4; times++)
        statuses.push((await fetch(`${place.server.issuer}/set-up?token=guess-${times}`)).status)
      assert.deepEqual(statuses, [410, 410, 410, 429])
    } finally {
      await place.close()
    }
  })

  test('work behind an issuer with a path', async () => {
    const { place: at, leave } = await openPlace('sqlite')
    const port = await freePort()
    const issuer = `http://localhost:${port}/trading/gate`
    const place = await openSignInPlace(at, { flags: { '--port': String(port), '--issuer': issuer } })
    try {
      const link = await place.server.offerAdministrator()
      assert.ok(link !== undefined)
      assert.ok(link.url.startsWith(`${issuer}/set-up?token=`), link.url)
      const agent = createUserAgent({ home: issuer, now: place.clock })
      const page = requirePage(await agent.get(link.url))
      const done = requirePage(await agent.submit(setUpForm(page), { username: 'root', new_password: NEW }))
      assert.equal(done.url.pathname, '/trading/gate/console')
    } finally {
      await place.close()
      await leave()
    }
  })
})
