/** Guessing of device codes is limited by user and by network. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { openSqlitePlace, type SignInPlace } from '../support/sign-in-place.ts'
import { createUserAgent, type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const PASSWORD = 'a password for many people'
let place: SignInPlace
let passwordHash: string
before(async () => {
  place = await openSqlitePlace({ flags: { '--trusted-proxies': '127.0.0.1,::1' } })
  passwordHash = await hashPassword(PASSWORD)
})
after(() => place.close())

async function comeFrom(address: string, username: string): Promise<UserAgent> {
  const agent = place.newAgent({ 'x-forwarded-for': address })
  const page = await agent.get('/device')
  assert.ok(page.kind === 'page')
  const shown = await signIn(agent, page, { username, password: PASSWORD })
  assert.ok(shown.kind === 'page' && shown.url.pathname === '/device', `${username} is not signed in`)
  return agent
}

/** The same browser, sent to our page by another site, or by a program that says nothing about where it comes from. */
function sentBy(agent: UserAgent, site: string): UserAgent {
  return createUserAgent({
    home: place.server.issuer,
    jar: agent.jar,
    headers: { 'x-forwarded-for': '198.51.100.20', 'sec-fetch-site': site },
  })
}

async function guess(agent: UserAgent): Promise<Page> {
  const page = await agent.get('/device?user_code=BBBB-CCCC')
  assert.ok(page.kind === 'page')
  return page
}

/** Four users guess three times each, each from a different address; returns the statuses. */
async function guessFrom(network: string): Promise<number[]> {
  const statuses: number[] = []
  for (let count = 0; count < 4; count++) {
    const username = `guesser ${count} of ${network}`
    await place.stores.users.create({ username, passwordHash })
    const agent = await comeFrom(`${network}::${count + 1}`, username)
    for (let tries = 0; tries < 3; tries++) statuses.push((await guess(agent)).status)
  }
  return statuses
}

test('C-76: all addresses of an IPv6 network count as one, across users', async () => {
  const statuses = await guessFrom('2001:db8:1:2')
  assert.ok(statuses.includes(429), `never throttled: ${statuses}`)
  await place.stores.users.create({ username: 'neighbour', passwordHash })
  assert.equal((await guess(await comeFrom('2001:db8:1:3::1', 'neighbour'))).status, 400)
})

test('C-76: an attempt refused because of its network does not count against the user', async () => {
  await guessFrom('2001:db8:1:4')
  await place.stores.users.create({ username: 'patient', passwordHash })
  const patient = await comeFrom('2001:db8:1:4::99', 'patient')
  for (let tries = 0; tries < 20; tries++) assert.equal((await guess(patient)).status, 429)
  assert.equal((await guess(await comeFrom('198.51.100.7', 'patient'))).status, 400)
})

test('right codes that are looked up together are all found: only failures count', async () => {
  await place.stores.users.create({ username: 'owner of many', passwordHash })
  const agent = await comeFrom('198.51.100.8', 'owner of many')
  const lookUp = async () => {
    const { userCode } = await place.stores.deviceCodes.issue({
      clientId: 'device',
      scopes: ['openid'],
      lifetimeMs: 60_000,
      intervalSeconds: 5,
      address: '192.0.2.1',
    })
    return async () => (await agent.get(`/device?user_code=${userCode}`)) as Page
  }
  const lookUps = await Promise.all(Array.from({ length: 20 }, lookUp))
  const pages = await Promise.all(lookUps.map((find) => find()))
  assert.deepEqual(
    pages.map(({ status }) => status),
    pages.map(() => 200),
  )
})

test('C-76: wrong codes that are looked up together get no more tries than one after another', async () => {
  await place.stores.users.create({ username: 'hurried', passwordHash })
  const agent = await comeFrom('198.51.100.9', 'hurried')
  const pages = await Promise.all(Array.from({ length: 12 }, () => guess(agent)))
  const statuses = pages.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 400).length, 6)
  assert.equal(statuses.filter((status) => status === 429).length, 6)
})

test('C-76: codes in links of other sites are not guesses of the person who is signed in: the page asks for them', async () => {
  await place.stores.users.create({ username: 'lured', passwordHash })
  const agent = await comeFrom('198.51.100.20', 'lured')
  for (const site of ['cross-site', 'same-site', '']) {
    for (let tries = 0; tries < 8; tries++) {
      const page = await guess(sentBy(agent, site))
      assert.equal(page.status, 200, `${site} ${tries}`)
      assert.match(page.body, /value="BBBB-CCCC"/)
    }
  }
  assert.equal((await guess(agent)).status, 400, 'the first guess of the person')
  const { userCode } = await place.stores.deviceCodes.issue({
    clientId: 'device',
    scopes: ['openid'],
    lifetimeMs: 60_000,
    intervalSeconds: 5,
    address: '192.0.2.1',
  })
  const asked = requirePage(await sentBy(agent, 'cross-site').get(`/device?user_code=${userCode}`))
  assert.ok(!asked.body.includes('Trading Terminal'), 'another site has looked up the code')
  const form = asked.forms.find(({ fields }) => fields.some(({ name }) => name === 'user_code'))
  assert.ok(form)
  assert.match(requirePage(await agent.submit(form)).body, /Trading Terminal/)
})
