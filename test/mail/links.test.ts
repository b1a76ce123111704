/** Mailed links: invitations and resets by operators, forgotten passwords, confirmed addresses. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type MailPlace, openMailPlace } from '../support/mail-place.ts'
import { ALICE } from '../support/sign-in-place.ts'
import { linkIn } from '../support/smtp-server.ts'
import { requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const NEW = 'a password from a mailed link'
const MINUTE = 60_000
const HOUR = 60 * MINUTE

onEveryEngineInLongRuns('mailed links', (at) => {
  let place: MailPlace
  before(async () => {
    place = await openMailPlace(at())
  })
  after(() => place.close())

  let count = 0
  /** Somebody with a verified address and a password, unless it says otherwise. */
  async function newPerson(profile: Record<string, unknown> = {}, hasPassword = true) {
    const username = `person-${++count}`
    const email = `${username}@example.com`
    const { status, body } = await place.admin('POST', '/admin/users', {
      ...{ username, email, email_verified: true, name: `Person ${count}` },
      ...profile,
      ...(hasPassword ? { password: ALICE.password } : {}),
    })
    assert.equal(status, 201, JSON.stringify(body))
    return { username, email, id: String(body.id) }
  }

  const readUser = async (username: string) => (await place.admin('GET', `/admin/users/${username}`)).body

  test('an operator has an invitation mailed over TLS with AUTH; its link is not in the reply, and using it verifies the address', async () => {
    const { status, body } = await place.admin('POST', '/admin/links', {
      ...{ username: 'invited', name: 'Ida', email: 'ida@example.com', locale: 'de', send: true },
    })
    assert.equal(status, 201, JSON.stringify(body))
    assert.equal(body.url, undefined)
    assert.equal(body.sent_to, 'ida@example.com')
    const mail = await place.mailTo('ida@example.com')
    assert.equal(mail.isSecure, true)
    assert.equal(mail.user, 'gate')
    assert.equal(mail.headers.get('from'), 'Test Gate <gate@example.com>')
    assert.equal(mail.headers.get('subject'), 'Ihr Konto bei Gatehouse')
    assert.equal(mail.headers.get('auto-submitted'), 'auto-generated')
    assert.match(mail.text, /Guten Tag Ida/)
    const until = new Intl.DateTimeFormat('de', { dateStyle: 'long', timeZone: 'UTC' })
    assert.ok(mail.text.includes(`bis ${until.format(new Date(String(body.expires_at)))}`), mail.text)
    assert.ok(mail.html.includes(`href="${linkIn(mail)}"`))
    // Opening does not use it.
    assert.equal((await place.open(place.newAgent(), linkIn(mail))).status, 200)
    assert.equal((await readUser('invited')).email_verified, undefined)
    const agent = place.newAgent()
    assert.equal((await place.choose(mail, NEW, agent)).url.pathname, '/account')
    assert.equal((await readUser('invited')).email_verified, true)
    assert.equal((await place.choose(mail, NEW)).status, 410)
    // An invitation is no change of a password, and the browser that used the link is known.
    await place.settled()
    assert.deepEqual(place.unread(), [])
  })

  test('a reset is not mailed to an address that is not verified; an invitation needs one that can be used', async () => {
    const { username } = await newPerson({ email_verified: false })
    const { status, body } = await place.admin('POST', '/admin/links', { user: username, send: true })
    assert.equal(status, 409)
    assert.match(String(body.detail), /not verified/)
    const odd = { username: 'odd', email: 'ö@example.com', send: true }
    assert.equal((await place.admin('POST', '/admin/links', odd)).status, 409)
    assert.equal((await place.admin('GET', '/admin/users/odd')).status, 404, 'nothing was changed')
  })

  test('a forgotten password: by name or verified address, for 30 minutes, once; the page says the same to all', async () => {
    const { username, email } = await newPerson()
    const [known, unknown] = [await place.forgot(username), await place.forgot('nobody-of-this-name')]
    assert.equal(known.status, 200)
    const withoutToken = (body: string) => body.replaceAll(/value="[\w-]{43}"/g, '')
    assert.equal(withoutToken(known.body), withoutToken(unknown.body))
    const first = await place.mailTo(email)
    assert.match(first.text, new RegExp(`new password for ${username}`))
    await place.forgot(email.toUpperCase())
    const second = await place.mailTo(email)
    assert.equal((await place.choose(first, NEW)).status, 410, 'a new link voids the earlier one')
    place.clock.advance(29 * MINUTE)
    assert.equal((await place.open(place.newAgent(), linkIn(second))).status, 200)
    place.clock.advance(MINUTE)
    assert.equal((await place.open(place.newAgent(), linkIn(second))).status, 410)
    await place.forgot(username)
    const third = await place.mailTo(email)
    assert.equal((await place.choose(third, NEW)).url.pathname, '/account')
    const notice = await place.mailTo(email)
    assert.match(notice.headers.get('subject') ?? '', /password .* changed/)
    assert.doesNotMatch(notice.text, /https?:/)
    assert.equal((await place.choose(third, NEW)).status, 410)
    await place.settled()
    assert.deepEqual(place.unread(), [])
  })

  test('nobody who is disabled, has no verified address or has no password is mailed a link', async () => {
    const unverified = await newPerson({ email_verified: false })
    const disabled = await newPerson({ disabled: true })
    const without = await newPerson({}, false)
    const other = await newPerson()
    const shared = await newPerson({ email: other.email })
    for (const { username, email } of [unverified, disabled, without]) {
      await place.forgot(username, { 'x-forwarded-for': '10.1.0.1' })
      await place.forgot(email, { 'x-forwarded-for': '10.1.0.2' })
    }
    await place.forgot(shared.email, { 'x-forwarded-for': '10.1.0.3' })
    await place.settled()
    assert.deepEqual(place.unread(), [])
    const { body } = await place.admin('GET', '/admin/mail?state=dropped&limit=7')
    assert.equal(body.items?.length, 7)
    assert.ok(body.items?.every(({ to, kind }) => to === null && kind === 'forgot-password'))
  })

  test('a changed password or address voids a mailed link', async () => {
    const one = await newPerson()
    await place.forgot(one.username, { 'x-forwarded-for': '10.2.0.1' })
    const mail = await place.mailTo(one.email)
    await place.admin('PUT', `/admin/users/${one.username}/password`, { password: 'another long password' })
    assert.equal((await place.choose(mail, NEW)).status, 410)
    assert.match((await place.mailTo(one.email)).text, /By an administrator/)

    const two = await newPerson()
    await place.forgot(two.username, { 'x-forwarded-for': '10.2.0.2' })
    const second = await place.mailTo(two.email)
    const agent = place.newAgent()
    const opened = await place.open(agent, linkIn(second))
    await place.admin('PATCH', `/admin/users/${two.username}`, { email: 'new-address@example.com' })
    assert.equal((await readUser(two.username)).email_verified, false)
    const form = opened.forms.find(({ id }) => id === 'set-up')
    assert.ok(form !== undefined)
    assert.equal(requirePage(await agent.submit(form, { new_password: NEW })).status, 410)
    assert.match((await place.mailTo(two.email)).headers.get('subject') ?? '', /email address .* changed/)
  })

  test('two forms with one link at once: one chooses the password', async () => {
    const { username, email } = await newPerson()
    await place.forgot(username, { 'x-forwarded-for': '10.3.0.1' })
    const mail = await place.mailTo(email)
    const pages = await Promise.all([place.choose(mail, `${NEW} one`), place.choose(mail, `${NEW} two`)])
    assert.deepEqual(pages.map(({ status }) => status).sort(), [200, 410])
    await place.mailTo(email)
  })

  test('a reset keeps the second factor', async () => {
    const { username, email, id } = await newPerson()
    await place.stores.factors.add({ userId: id, kind: 'totp', label: 'phone', secret: 'sealed', counter: 0 })
    await place.forgot(username, { 'x-forwarded-for': '10.4.0.1' })
    assert.equal((await place.choose(await place.mailTo(email), NEW)).url.pathname, '/second-factor')
    assert.equal((await place.stores.factors.listOfUser(id)).length, 1)
    await place.mailTo(email)
  })

  test('an unattended browser is not enough for another address, with which the password could be reset', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const start = await place.open(agent, '/account')
    const signedIn = requirePage(await signIn(agent, start, { ...person, password: ALICE.password }))
    await place.mailTo(person.email)
    const profile = signedIn.forms.find(({ id }) => id === 'profile') ?? assert.fail(signedIn.body)
    place.clock.advance(11 * MINUTE)
    const again = requirePage(await agent.submit(profile, { email: 'thief@example.com' }))
    assert.equal(again.url.pathname, '/sign-in')
    assert.equal(await place.stores.addressLinks.findOfUser(person.id), undefined)
    // What is no way in can still be changed.
    assert.equal(requirePage(await agent.submit(profile, { nickname: 'Nick' })).url.pathname, '/account')
  })

  test('people who claim the address of somebody else do not keep them from a new password', async () => {
    const email = `claimed-${++count}@example.com`
    for (const number of [1, 2, 3]) await newPerson({ email, email_verified: number === 3 })
    await place.forgot(email)
    assert.equal(linkIn(await place.mailTo(email)).pathname, '/set-up')
  })

  test('a new address counts once it is confirmed; the old one is told', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const signedIn = requirePage(
      await signIn(agent, await place.open(agent, '/account'), { ...person, password: ALICE.password }),
    )
    const notice = await place.mailTo(person.email)
    assert.match(notice.headers.get('subject') ?? '', /New sign-in/)
    const profile = signedIn.forms.find(({ id }) => id === 'profile')
    assert.ok(profile !== undefined)
    const bad = requirePage(await agent.submit(profile, { email: '"a@b"@example.com' }))
    assert.equal(bad.status, 400)
    const saved = requirePage(await agent.submit(profile, { email: 'fresh@example.com', nickname: 'Nick' }))
    assert.match(saved.body, /A link has been sent to fresh@example.com/)
    let { email, email_verified: isVerified, nickname } = await readUser(person.username)
    assert.deepEqual([email, isVerified, nickname], [person.email, true, 'Nick'])
    const mail = await place.mailTo('fresh@example.com')
    assert.doesNotMatch(mail.text, /Person/, 'nothing that the person has written goes to somebody else')
    const confirm = await place.open(place.newAgent(), linkIn(mail))
    assert.match(confirm.body, /fresh@example.com becomes/)
    const other = place.newAgent()
    const form = (await place.open(other, linkIn(mail))).forms[0]
    assert.ok(form !== undefined)
    assert.match(requirePage(await other.submit(form)).body, /is confirmed/)
    ;({ email, email_verified: isVerified, nickname } = await readUser(person.username))
    assert.deepEqual([email, isVerified, nickname], ['fresh@example.com', true, 'Nick'])
    assert.match((await place.mailTo(person.email)).headers.get('subject') ?? '', /email address .* changed/)
    assert.equal((await place.open(place.newAgent(), linkIn(mail))).status, 410)
  })

  test('a link that confirms an address is valid for 24 hours, and void after a new password', async () => {
    const person = await newPerson({ email_verified: false })
    const agent = place.newAgent()
    const page = requirePage(
      await signIn(agent, await place.open(agent, '/account'), { ...person, password: ALICE.password }),
    )
    assert.match(page.body, /Not confirmed/)
    const ask = page.forms.find(({ id }) => id === 'verify-address')
    assert.ok(ask !== undefined)
    await agent.submit(ask)
    const mail = await place.mailTo(person.email)
    place.clock.advance(23 * HOUR)
    assert.equal((await place.open(place.newAgent(), linkIn(mail))).status, 200)
    await place.admin('PUT', `/admin/users/${person.username}/password`, { password: 'another long password' })
    assert.equal((await place.open(place.newAgent(), linkIn(mail))).status, 410)
  })

  test('a browser is unseen after 90 days, and for another person', async () => {
    const person = await newPerson()
    const agent = place.newAgent({
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    })
    const enter = async () => {
      const page = await place.open(agent, '/account')
      return requirePage(await signIn(agent, page, { ...person, password: ALICE.password }))
    }
    await enter()
    const notice = await place.mailTo(person.email)
    assert.match(notice.text, /Firefox · Linux, 127\.0\.0\.1/)
    place.clock.advance(80 * 24 * HOUR)
    await enter()
    place.clock.advance(80 * 24 * HOUR)
    await enter()
    await place.settled()
    assert.deepEqual(place.unread(), [])
    place.clock.advance(91 * 24 * HOUR)
    await enter()
    await place.mailTo(person.email)
  })
})
