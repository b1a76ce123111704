/** The account page about market data, and the mail before an access ends. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE } from '../support/demo-user.ts'
import { onSqlite } from '../support/engines.ts'
import { type MailPlace, openMailPlace } from '../support/mail-place.ts'
import { createUserAgent, type Page, requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'
import { type LicenceServer, startLicenceServer } from './licence-server.ts'

const DECLARED = `
agreements:
  - { id: terms, version: "1", title: Subscriber agreement, text: { en: "Read <me>\\nfirst." , de: Zuerst lesen. }, asks_status: true }
products:
  - { name: DATA, delay: 15 minutes, default: delayed, agreement: terms, trial: 30 days, covers: [{ resource: instrument }] }
  - { name: OTHER, trial: 7 days }
entitlements:
  - { product: DATA, user: alice, access: realtime, until: 2036-01-01 }
  - { product: OTHER, user: admin, access: realtime }
`

onSqlite('market data on the account page', (place) => {
  let server: LicenceServer
  let home: string
  before(async () => {
    server = await startLicenceServer(place(), DECLARED)
    home = `http://localhost:${server.port}`
  })
  after(() => server.stop())

  test('people see what they have, read and accept what is missing, and begin trials', async () => {
    const agent = createUserAgent({ home, headers: { 'accept-language': 'en' } })
    await signIn(agent, requirePage(await agent.get(`${home}/account`)), ALICE)
    const open = async (path: string): Promise<Page> => requirePage(await agent.get(home + path))
    const section = await open('/account/data')
    assert.match(section.body, /Delayed by 15 minutes[\s\S]*Accept the agreement to get your access/)
    assert.match(section.body, /No access[\s\S]*Try it for 7 days/)
    const agreement = await open('/account/data/agreement?id=terms')
    assert.match(agreement.body, /Read &lt;me&gt;\nfirst\./)
    const [form] = agreement.forms.filter(({ id }) => id === 'agreement')
    assert.ok(form !== undefined)
    const unanswered = requirePage(await agent.submit(form))
    assert.equal(unanswered.status, 400)
    assert.match(unanswered.body, /Say how you use market data/)
    const accepted = requirePage(await agent.submit(form, { professional: 'no' }))
    assert.match(accepted.body, /You have accepted the agreement[\s\S]*Real-time/)
    assert.equal((await server.licence('DATA')).Access, 'realtime')
    const trial = accepted.forms.find(({ action }) => action.pathname === '/account/data/trial')
    assert.ok(trial !== undefined)
    const begun = requirePage(await agent.submit(trial))
    assert.match(begun.body, /Your trial has begun/)
    assert.equal((await server.licence('OTHER')).Reason, 'trial')
    assert.match(requirePage(await agent.submit(trial)).body, /You cannot have a trial of this product now/)
    assert.match((await open('/account/data/agreement?id=terms')).body, /You have accepted it/)
    assert.equal((await open('/account/data/agreement?id=none')).url.pathname, '/account/data')
    const { body } = await server.send('GET', '/admin/audit?event=agreement.accepted', { token: server.admin })
    assert.deepEqual(body.items[0].details.version, '1')
  })

  test('places in use are shown', async () => {
    const taken = { User: 'alice', Product: 'DATA', Place: 'desk', Seconds: 60 }
    assert.equal((await server.send('POST', '/licences/places', { token: server.handler, body: taken })).status, 201)
    const agent = createUserAgent({ home, headers: { 'accept-language': 'en' } })
    await signIn(agent, requirePage(await agent.get(`${home}/account`)), ALICE)
    const page = requirePage(await agent.get(`${home}/account/data`))
    assert.match(page.body, /id="places"[\s\S]*DATA[\s\S]*Real-time · since/)
  })
})

onSqlite('the end of an access', (at) => {
  let place: MailPlace
  before(async () => {
    place = await openMailPlace(at())
  })
  after(() => place.close())

  test('users are told once, by mail, unless the access goes on', async () => {
    for (const name of ['ends', 'goes-on', 'later'])
      await place.stores.users.create({
        username: name,
        passwordHash: 'none',
        profile: { email: `${name}@example.com`, email_verified: true },
      })
    const day = (days: number) => new Date(place.clock() + days * 86_400_000).toISOString()
    const give = async (user: string, from: number, until: number) => {
      const period = { from: day(from), until: day(until) }
      const body = { product: 'DATA', user, access: 'realtime', ...period }
      assert.equal((await place.admin('POST', '/admin/entitlements', body)).status, 201)
    }
    const product = { name: 'DATA', warn: '14 days', covers: [{ resource: 'instrument' }] }
    assert.equal((await place.admin('POST', '/admin/products', product)).status, 201)
    await give('goes-on', -1, 5)
    await give('goes-on', 5, 50)
    await give('later', -1, 30)
    await give('ends', -1, 5)
    const mail = await place.mailTo('ends@example.com')
    assert.match(mail.headers.get('subject') ?? '', /Your access to DATA at .* ends/)
    await place.admin('PATCH', '/admin/products/DATA', { warn: '15 days' })
    await place.settled()
    assert.deepEqual(place.unread(), [])
  })
})
