/** Where providers meet SCIM, operators and local accounts: nobody gains an account, or more time, by their combination. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { openPlace } from '../support/engines.ts'
import { openProviderPlace, type ProviderPlace, readCode } from '../support/providers/provider-place.ts'
import { type StubProvider, startStubProvider } from '../support/providers/stub-provider.ts'
import { BOB } from '../support/sign-in-place.ts'
import { requirePage } from '../support/user-agent.ts'

let place: ProviderPlace
let stub: StubProvider
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  place = await openProviderPlace(opened.place)
  stub = await startStubProvider()
  stub.clock = place.clock
})
after(async () => {
  await place.close()
  await stub.stop()
  await leave()
})
let count = 0
beforeEach(() => {
  stub.person = { sub: `subject-${++count}`, preferred_username: `person-${count}`, groups: ['gatehouse'] }
})

const CREATE = { provision: 'create', require: { groups: ['gatehouse'] } }

test('a SCIM client cannot give an administrator, or a user for emergencies, the externalId of a stranger', async () => {
  await place.stores.roles.put({ name: 'operator', scopes: ['Identity/Admin'] })
  await place.declare(stub, { link: { claim: 'sub', scim: 'hr-sync' } })
  const takeOver = async (username: string, members: object) => {
    const id = await place.stores.users.create({ username: `${username}-${count}`, ...members })
    stub.person = { sub: `stranger-${username}` }
    await place.stores.scim.setExternalId('hr-sync', 'User', id, `stranger-${username}`)
    const end = await place.signIn(place.newAgent(), stub)
    return [readCode(end), (await place.stores.identities.listOfUser(id)).length]
  }
  assert.deepEqual(await takeOver('root', { roles: ['operator'] }), ['identity.not_linked', 0])
  assert.deepEqual(await takeOver('glass', { breakGlass: true }), ['identity.not_linked', 0])
  assert.deepEqual(await takeOver('clerk', {}), [undefined, 1])
})

test('a provider that an operator disables signs nobody in who is there already', async () => {
  await place.declare(stub, CREATE)
  const agent = place.newAgent()
  const there = await place.start(agent)
  await place.admin('PATCH', '/admin/providers/corp', { disabled: true })
  const end = await agent.get(stub.answer(there))
  assert.equal(readCode(end), 'provider.state')
  assert.equal(await place.stores.users.findByUsername(`person-${count}`), undefined)
})

test('two definitions cannot be of one issuer, also where one is a template of Entra: they would share identities', async () => {
  const tenant = '8a3b6f6e-2f0c-4d0e-9a55-0f4b0a1c2d3e'
  const base = 'https://login.example.com'
  const shared = { client_id: 'gatehouse', client_secret: 'secret' }
  const all = { id: 'entra', issuer: `${base}/{tenantid}/v2.0`, tenants: [tenant], ...shared }
  assert.equal((await place.admin('POST', '/admin/providers', all)).status, 201)
  const one = { id: 'tenant', issuer: `${base}/${tenant}/v2.0`, ...shared }
  assert.equal((await place.admin('POST', '/admin/providers', one)).status, 422)
  await place.admin('DELETE', '/admin/providers/entra')
})

test('a changed password does not free the session of a provider from its lifetime and its logout', async () => {
  await place.declare(stub, { ...CREATE, lifetime: '1 hour' })
  const agent = place.newAgent()
  await place.signIn(agent, stub)
  const { id } = (await place.stores.users.findByUsername(`person-${count}`)) ?? assert.fail()
  await place.stores.users.setPassword(id, await hashPassword(BOB.password))
  const page = requirePage(await agent.get('/account/password'))
  const form = page.forms.find(({ action }) => action.pathname === '/account/password') ?? assert.fail(page.body)
  const passwords = { current_password: BOB.password, new_password: 'a password that nobody knows' }
  assert.equal(requirePage(await agent.submit(form, passwords)).url.search, '?done=password')
  const [session] = await place.stores.providerSignIns.findSessions('corp', stub.issuer, {
    subject: `subject-${count}`,
  })
  const { boundedUntil } = (await place.stores.sessions.findById(session ?? 'none')) ?? assert.fail('no session')
  assert.ok(boundedUntil !== undefined && boundedUntil <= place.clock() + 3_600_000)
})
