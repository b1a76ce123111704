/** `local_sign_in: break_glass`: only users for emergencies have passwords that work, and one of them always remains. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { totpCode } from '../../packages/server/src/identity/factors/totp.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores, type WritableStores as Stores } from '../../packages/server/src/store/stores.ts'
import { fromBase32 } from '../support/base32.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { openProviderPlace, type ProviderPlace } from '../support/providers/provider-place.ts'
import { type StubProvider, startStubProvider } from '../support/providers/stub-provider.ts'
import { createTestClock, startTestServer } from '../support/server.ts'
import { ALICE, SECRET } from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { createUserAgent, requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const GLASS = { username: 'glass', password: 'behind the glass, a hammer' } as const
const FLAGS = { '--local-sign-in': 'break_glass' }

let at: TestPlace
let leave: () => Promise<void>
let stub: StubProvider
before(async () => {
  const opened = await openPlace('sqlite')
  at = opened.place
  leave = opened.leave
  stub = await startStubProvider()
})
after(async () => {
  await stub.stop()
  await leave()
})

test('the start is refused until somebody can break the glass; then only they have a password that works', async () => {
  const first = await openProviderPlace(at)
  await first.declare(stub, { provision: 'create', require: { groups: ['gatehouse'] } })
  await first.admin('POST', '/admin/users', { ...GLASS, roles: ['operator'], break_glass: true })
  await refusesStart(first)
  const secret = await enrol(first)
  await followsNoRule(first)
  await first.close()

  const place = await reopen()
  stub.clock = place.clock
  // Alice has the right password, and no way to use it.
  const page = requirePage(await place.newAgent().get('/account'))
  assert.doesNotMatch(page.body, /type="password"/)
  assert.match(page.body, /id="sign-in-local"/)
  const alice = place.newAgent()
  const local = requirePage(await alice.get('/sign-in?local'))
  assert.doesNotMatch(local.body, /Forgotten your password/)
  const refused = requirePage(await signIn(alice, local, ALICE))
  assert.equal(refused.status, 401)
  const grant = await fetch(`${place.server.issuer}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'admin',
      username: 'olivia',
      password: 'the password of an operator',
    }),
  })
  assert.equal(grant.status, 400)
  // The emergency user signs in with both factors, and it is recorded.
  const agent = place.newAgent()
  const second = requirePage(await signIn(agent, requirePage(await agent.get('/sign-in?local')), GLASS))
  place.clock.advance(30_000)
  const code = totpCode(secret, Math.floor(place.clock() / 30_000))
  const account = requirePage(await agent.submit(second.forms[0] ?? assert.fail(second.body), { code }))
  assert.equal(account.url.pathname, '/account')
  // It stays so: the last second factor cannot be removed.
  const security = requirePage(await agent.get('/account/security'))
  const remove = /\/account\/factors\/remove\?factor=[\w-]+/.exec(security.body)?.[0] ?? assert.fail(security.body)
  const form = requirePage(await agent.get(remove)).forms.find(({ fields }) =>
    fields.some(({ name }) => name === 'factor'),
  )
  const kept = requirePage(await agent.submit(form ?? assert.fail('no form'), {}))
  assert.match(kept.body, /account\/factors\/remove/)
  assert.notEqual(kept.url.searchParams.get('done'), 'factor')
  await place.server.stop()
  const database = await openDatabase({ dataFolder: at.dataFolder, url: at.databaseUrl })
  await until('the use is recorded', 2000, async () => {
    const row = await database.db
      .selectFrom('audit_log')
      .select('seq')
      .where('event', '=', 'identity.break_glass')
      .executeTakeFirst()
    return row !== undefined
  })
  await database.close()
})

test('a user for emergencies has no way in with a password alone: they must set up a second factor', async (t) => {
  const opened = await openPlace('sqlite')
  const place = await openProviderPlace(opened.place)
  t.after(async () => {
    await place.close()
    await opened.leave()
  })
  await place.admin('POST', '/admin/users', { ...GLASS, roles: ['operator'], break_glass: true })
  const grant = async () => {
    const body = new URLSearchParams({ grant_type: 'password', client_id: 'admin', ...GLASS })
    return (await fetch(`${place.server.issuer}/connect/token`, { method: 'POST', body })).status
  }
  assert.equal(await grant(), 400)
  const agent = place.newAgent()
  const page = requirePage(await signIn(agent, requirePage(await agent.get('/account')), GLASS))
  assert.equal(page.url.pathname, '/set-up-factor')
})

test('with break_glass, nothing that an operator does takes the last emergency user away', async (t) => {
  const place = await reopen()
  const database = await openDatabase({ dataFolder: at.dataFolder, url: at.databaseUrl })
  t.after(async () => {
    await place.server.stop()
    await database.close()
  })
  const stores = createStores(database, place.clock)
  const admin = await asRobot(place.server.issuer, stores)
  const user = (await stores.users.findByUsername(GLASS.username)) ?? assert.fail()
  const factor = (await stores.factors.listOfUser(user.id)).find(({ kind }) => kind === 'totp')
  const attempts = [
    await admin('DELETE', `/admin/users/glass/factors/${factor?.id}`),
    await admin('PATCH', '/admin/roles/operator', { scopes: [] }),
    await admin('DELETE', '/admin/roles/operator'),
  ]
  assert.deepEqual(attempts, [409, 409, 409])
})

for (const [what, declaration, path] of [
  ['disables the user', { users: [{ username: GLASS.username, disabled: true }] }, 'users[0]'],
  ['takes the right from the role', { roles: [{ name: 'operator', scopes: [] }] }, 'roles[0]'],
  ['prunes users', { prune: true, users: [] }, 'prune'],
] as const)
  test(`with break_glass, a declarative file that ${what} is refused while nobody else is left`, async () => {
    const file = join(at.dataFolder, 'declared.json')
    await writeFile(file, JSON.stringify(declaration))
    const words = ['apply', '--config', file, '--data', at.dataFolder]
    const { status, stderr } = await runInProcess(words, { environment: { GATEHOUSE_LOCAL_SIGN_IN: 'break_glass' } })
    assert.equal(status, 1)
    assert.ok(stderr.includes(`${path}: `), stderr)
    assert.match(stderr, /nobody who can sign in when all providers fail. Keep an enabled user with break_glass/)
    await (await reopen()).server.stop()
  })

/** An administrator who needs no password. Returns the status of a call. */
async function asRobot(issuer: string, stores: Stores) {
  await stores.clients.put({ client_id: 'robot', grant_types: ['client_credentials'], scope: 'Identity/Admin' })
  await stores.clients.addSecret('robot', SECRET)
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'robot', client_secret: SECRET })
  const reply = await fetch(`${issuer}/connect/token`, { method: 'POST', body })
  const authorization = `Bearer ${Object(await reply.json()).access_token}`
  return async (method: string, path: string, patch?: object) => {
    const headers = { authorization, 'if-match': '*', 'content-type': 'application/merge-patch+json' }
    const sent = patch === undefined ? {} : { body: JSON.stringify(patch) }
    return (await fetch(issuer + path, { method, headers, ...sent })).status
  }
}

/** Whatever the provider says, their roles and second factor are as operators want them. */
async function followsNoRule(place: ProviderPlace): Promise<void> {
  stub.clock = place.clock
  await place.stores.roles.put({ name: 'trader', scopes: ['Platform/Trading'] })
  await place.declare(stub, { rules: [{ claim: 'groups', value: 'fx', role: 'trader' }] })
  stub.person = { sub: 'glass-there', groups: ['fx'] }
  const user = (await place.stores.users.findByUsername(GLASS.username)) ?? assert.fail()
  const there = { provider: 'corp', issuer: stub.issuer, subject: 'glass-there', label: 'x' }
  await place.stores.identities.add({ ...there, userId: user.id })
  const asked = requirePage(await place.signIn(place.newAgent(), stub))
  assert.equal(asked.url.pathname, '/second-factor')
  assert.deepEqual((await place.stores.users.findById(user.id))?.roles, ['operator'])
}

async function refusesStart(place: ProviderPlace): Promise<void> {
  await assert.rejects(startTestServer(at, { flags: FLAGS }), /no user can break the glass/)
  assert.ok(place.server.issuer)
}

/** A second factor, on the account page. */
async function enrol(place: ProviderPlace): Promise<Buffer> {
  const agent = place.newAgent()
  const page = requirePage(await signIn(agent, requirePage(await agent.get('/account/authenticator')), GLASS))
  const secret = fromBase32(/id="authenticator-key">([A-Z2-7 ]+)</.exec(page.body)?.[1] ?? '')
  const code = totpCode(secret, Math.floor(place.clock() / 30_000))
  await agent.submit(page.forms.find(({ id }) => id === 'authenticator') ?? assert.fail(page.body), { code })
  return secret
}

/** The same data under a server that lets few people use passwords. */
async function reopen() {
  const clock = createTestClock()
  const server = await startTestServer(at, { clock, flags: FLAGS })
  return { server, clock, newAgent: () => createUserAgent({ home: server.issuer, now: clock }) }
}
