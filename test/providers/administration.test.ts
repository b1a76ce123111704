/** Administration of providers: definitions in files and requests, secrets that never come back, trial sign-ins. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { OLIVIA, openProviderPlace, type ProviderPlace, readCode } from '../support/providers/provider-place.ts'
import { type StubProvider, startStubProvider } from '../support/providers/stub-provider.ts'
import { ALICE } from '../support/sign-in-place.ts'
import { requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

let place: ProviderPlace
let stub: StubProvider
let leave: () => Promise<void>
let dataFolder: string
before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  dataFolder = opened.place.dataFolder
  place = await openProviderPlace(opened.place)
  stub = await startStubProvider()
  stub.clock = place.clock
})
after(async () => {
  await place.close()
  await stub.stop()
  await leave()
})

const DEFINITION = { id: 'corp', issuer: 'https://id.example.com', client_id: 'gatehouse' }

test('a definition is checked as a whole, and its secret is sealed and never shown', async () => {
  const faults = async (members: object) => {
    const { status, body } = await place.admin('POST', '/admin/providers', {
      ...DEFINITION,
      client_secret: 's',
      ...members,
    })
    assert.equal(status, 422, JSON.stringify(body))
    return (body.Faults as { path: string }[]).map(({ path }) => path)
  }
  assert.deepEqual(await faults({ provision: 'create' }), ['require'])
  assert.deepEqual(await faults({ issuer: 'http://id.example.com' }), ['issuer'])
  assert.deepEqual(await faults({ issuer: 'https://id.example.com/?x' }), ['issuer'])
  assert.deepEqual(await faults({ issuer: 'https://login.example.com/{tenantid}/v2.0' }), ['tenants'])
  assert.deepEqual(await faults({ rules: [{ claim: 'groups', value: 'x', role: 'nobody' }] }), ['rules[0].role'])
  assert.deepEqual(await faults({ rules: [{ claim: 'desk', attribute: 'nothing' }] }), ['rules[0].attribute'])
  assert.deepEqual(await faults({ scopes: ['profile'] }), ['scopes'])
  assert.deepEqual(await faults({ lifetime: '1 second' }), ['lifetime'])
  assert.deepEqual(await faults({ client_secret: undefined }), ['client_secret'])

  const made = await place.admin('POST', '/admin/providers', { ...DEFINITION, client_secret: 'the-secret-of-corp' })
  assert.equal(made.status, 201)
  assert.equal(made.body.has_secret, true)
  const shown = await place.admin('GET', '/admin/providers/corp')
  assert.doesNotMatch(JSON.stringify([made, shown]), /the-secret-of-corp/)
  const row = await place.database.db.selectFrom('providers').selectAll().executeTakeFirst()
  assert.doesNotMatch(JSON.stringify(row), /the-secret-of-corp/)
  const twice = await place.admin('POST', '/admin/providers', { ...DEFINITION, id: 'other', client_secret: 's' })
  assert.equal(twice.status, 422)
  const moved = await place.admin('PATCH', '/admin/providers/corp', { issuer: 'https://other.example.com' })
  assert.equal(moved.status, 422)
  const changed = await place.admin('PATCH', '/admin/providers/corp', { name: 'Corp', domains: ['example.com'] })
  assert.deepEqual([changed.body.name, changed.body.domains, changed.body.has_secret], ['Corp', ['example.com'], true])
  assert.equal((await place.admin('DELETE', '/admin/providers/corp')).status, 204)
})

test('a trial sign-in shows the claims and what follows, to administrators alone, and changes nothing', async () => {
  await place.stores.roles.put({ name: 'trader', scopes: ['Platform/Trading'] })
  await place.declare(stub, {
    ...{ provision: 'create', require: { groups: ['gatehouse'] }, disabled: true },
    rules: [{ claim: 'groups', value: 'fx', role: 'trader' }],
  })
  stub.person = { sub: 'trial', preferred_username: 'tried', groups: ['gatehouse', 'fx'], shown: '<script>' }
  const agent = place.newAgent()
  await signIn(agent, requirePage(await agent.get('/account')), OLIVIA)
  const left = await agent.get('/external/corp/trial')
  assert.equal(left.kind, 'left')
  const page = requirePage(await agent.get(stub.answer(left.kind === 'left' ? left.url : assert.fail())))
  assert.match(page.body, /id="trial-user">[^<]*tried/)
  assert.match(page.body, /id="trial-roles">trader</)
  assert.match(page.body, /id="trial-back" href="[^"]*\/console\/people\/providers\/corp"/)
  assert.match(page.body, /&lt;script&gt;/)
  assert.equal(await place.stores.users.findByUsername('tried'), undefined)
  const stranger = place.newAgent()
  await signIn(stranger, requirePage(await stranger.get('/account')), ALICE)
  assert.equal(requirePage(await stranger.get('/external/corp/trial')).status, 403)
  // Nobody else can use it while it is disabled.
  assert.doesNotMatch(requirePage(await place.newAgent().get('/account')).body, /external\/corp/)
})

test('removing a provider unlinks its identities, takes its roles and ends its sessions', async () => {
  await place.declare(stub, {
    ...{ provision: 'create', require: { groups: ['gatehouse'] } },
    rules: [{ claim: 'groups', value: 'fx', role: 'trader' }],
  })
  stub.person = { sub: 'leaver', preferred_username: 'leaver', groups: ['gatehouse', 'fx'] }
  const agent = place.newAgent()
  await place.signIn(agent, stub)
  const user = (await place.stores.users.findByUsername('leaver')) ?? assert.fail()
  assert.deepEqual(user.roles, ['trader'])
  const { body } = await place.admin('GET', '/admin/users/leaver/identities')
  assert.equal((body.items as unknown[]).length, 1)
  await place.admin('DELETE', '/admin/providers/corp')
  assert.deepEqual((await place.stores.users.findById(user.id))?.roles, [])
  assert.deepEqual(await place.stores.identities.listOfUser(user.id), [])
  assert.deepEqual(await place.stores.sessions.listOfUser(user.id), [])
  assert.equal(readCode(await agent.get('/external/corp/callback?state=x')), 'provider.state')
})

test('doctor reads the metadata of every provider, and names the redirect URI that it must know', async () => {
  const other = await startStubProvider()
  await place.declare(other, {})
  const examine = async () => {
    const { stdout } = await runInProcess(['doctor', '--data', dataFolder, '--issuer', place.server.issuer, '--json'])
    const { findings }: { findings: { code: string; message: string }[] } = JSON.parse(stdout)
    return findings
      .filter(({ message }) => message.startsWith('The provider corp '))
      .map(({ code, message }) => `${code}: ${message}`)
  }
  assert.deepEqual(await examine(), [
    `provider: The provider corp can be used; its redirect URI for this server is ${place.server.issuer}/external/corp/callback`,
  ])
  await other.stop()
  assert.match(String(await examine()), /^provider\.unusable: The provider corp cannot be used: /)
})
