/** Response times do not reveal which clients and users exist. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { IN_LONG_RUNS, IS_LONG_RUN, onSqlite } from '../support/engines.ts'
import { basic, startGate, type TestGate } from '../support/identity.ts'
import { authorizeUrl } from '../support/sign-in-place.ts'
import { type Comparison, compareTimes, isTelling } from '../support/timing.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { signInForm } from '../support/visitor.ts'

const CLIENT_PAIRS = IS_LONG_RUN ? 300 : 60
const SIGN_IN_PAIRS = IS_LONG_RUN ? 60 : 40
/** A tenth of the response time: far less than skipping the hash or a database lookup would save. */
const BOUND = 0.1

onSqlite('timing', (place) => {
  let gate: TestGate
  before(async () => {
    gate = await startGate(place(), { flags: { '--trusted-proxies': '127.0.0.1,::1' } })
    const passwordHash = await hashPassword('the right password')
    await gate.stores.roles.put({ name: 'guarded', scopes: ['Platform/Market'], requireSecondFactor: true })
    for (let index = 0; index < SIGN_IN_PAIRS + 10; index++) {
      await gate.stores.users.create({ username: `person-${index}`, passwordHash })
      await gate.stores.users.create({ username: `guarded-${index}`, passwordHash, roles: ['guarded'] })
    }
  })
  after(() => gate.stop())

  let address = 0
  /** Every attempt comes from another address, so that throttling does not affect the measurement. */
  const elsewhere = () => ({
    'x-forwarded-for': `10.${(++address >> 16) & 255}.${(address >> 8) & 255}.${address & 255}`,
  })
  const describeIt = (comparison: Comparison) => JSON.stringify(comparison)

  async function askToken(form: Record<string, string>, headers: Record<string, string>, status: number) {
    const answer = await gate.post('/connect/token', form, { ...headers, ...elsewhere() })
    assert.equal(answer.status, status, answer.text)
  }

  test('C-47: an unknown client takes as long as a wrong secret', async (t) => {
    const ask = (clientId: string) =>
      askToken({ grant_type: 'client_credentials' }, { authorization: basic(clientId, 'not the secret') }, 401)
    const seen = await compareTimes(
      (index) => ask(`nobody-${index}`),
      () => ask('service'),
      CLIENT_PAIRS,
    )
    t.diagnostic(describeIt(seen))
    assert.ok(!isTelling(seen, BOUND), describeIt(seen))
  })

  const signIn = (username: string, password: string) =>
    askToken({ grant_type: 'password', client_id: 'cli', username, password }, {}, 400)

  test('C-110: at the token endpoint an unknown user takes as long as a wrong password', async (t) => {
    const seen = await compareTimes(
      (index) => signIn(`nobody-${index}`, 'wrong password'),
      (index) => signIn(`person-${index}`, 'wrong password'),
      SIGN_IN_PAIRS,
    )
    t.diagnostic(describeIt(seen))
    assert.ok(!isTelling(seen, BOUND), describeIt(seen))
  })

  test('at the token endpoint the right password of a user who needs a second factor takes as long as a wrong one', async (t) => {
    const seen = await compareTimes(
      (index) => signIn(`guarded-${index}`, 'the right password'),
      (index) => signIn(`guarded-${index}`, 'wrong password'),
      SIGN_IN_PAIRS,
    )
    t.diagnostic(describeIt(seen))
    assert.ok(!isTelling(seen, BOUND), describeIt(seen))
  })

  test('C-110: on the sign-in page an unknown user takes as long as a wrong password', IN_LONG_RUNS, async (t) => {
    const agent = createUserAgent({ home: gate.server.issuer, now: Date.now })
    const page = await agent.get(authorizeUrl(gate.server.issuer, { redirect_uri: 'https://app.example/callback' }))
    const form = page.kind === 'page' ? signInForm(page) : undefined
    assert.ok(form !== undefined)
    const attempt = async (username: string) => {
      const headers = { ...elsewhere(), cookie: agent.jar.header(form.action) ?? '' }
      const fields = Object.fromEntries(form.fields.map(({ name, value }) => [name, value]))
      const answer = await gate.post(form.action.pathname, { ...fields, username, password: 'wrong password' }, headers)
      assert.equal(answer.status, 401, answer.text)
    }
    const seen = await compareTimes(
      (index) => attempt(`nobody-${index}`),
      (index) => attempt(`person-${index}`),
      SIGN_IN_PAIRS,
    )
    t.diagnostic(describeIt(seen))
    assert.ok(!isTelling(seen, BOUND), describeIt(seen))
  })

  test('the measurement detects a skipped password check', async () => {
    const seen = await compareTimes(
      (index) => signIn(`person-${index}`, 'wrong password'),
      (index) => signIn(`person-${index}`, 'x'.repeat(2000)),
      SIGN_IN_PAIRS,
    )
    assert.ok(isTelling(seen, BOUND), describeIt(seen))
  })
})
