/** Another kind of provider is a connector and a line in a table: accounts, roles, linking, sessions and sign-outs follow from its proofs. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CONNECTORS, findConnectionFault } from '../../packages/server/src/identity/providers/connectors.ts'
import { type DeclaredProvider, toProvider } from '../../packages/server/src/resources/provider-shape.ts'
import type { StoredProvider } from '../../packages/server/src/store/providers/providers.ts'
import { openPlace } from '../support/engines.ts'
import { openProviderPlace, type ProviderPlace, readCode } from '../support/providers/provider-place.ts'
import { type StubProvider, startStubProvider } from '../support/providers/stub-provider.ts'
import { decodeClaims, readAnswer } from '../support/sign-in-place.ts'
import { type Departure, type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { DIRECTORY, ENTRIES } from './directory-connector.ts'

let place: ProviderPlace
let stub: StubProvider
let leave: () => Promise<void>

const ANN = 'cn=ann'
const MEANING: DeclaredProvider = {
  ...{ id: 'staff', issuer: 'ldaps://staff.example.com', client_id: 'unused' },
  ...{ provision: 'create', require: { groups: ['gatehouse'] }, username_claim: 'uid', logout: true },
  rules: [{ claim: 'groups', value: 'desk', role: 'trader' }],
}

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  place = await openProviderPlace(opened.place)
  stub = await startStubProvider()
  // As a release has it in its table.
  Object.assign(CONNECTORS, { directory: DIRECTORY })
  await place.stores.roles.put({ name: 'trader', scopes: ['Platform/Trading'] })
  const definition: StoredProvider = { ...toProvider(MEANING), ...JSON.parse('{"kind": "directory"}') }
  await place.stores.providers.put(definition)
  // Any change of a definition makes nodes read all of them.
  await place.declare(stub)
  ENTRIES.set(ANN, {
    password: 'the password of ann',
    claims: { uid: 'ann', email: 'ann@example.com', groups: ['gatehouse', 'desk'] },
  })
})
after(async () => {
  Reflect.deleteProperty(CONNECTORS, 'directory')
  await place.close()
  await stub.stop()
  await leave()
})

/** From the sign-in page to the form of the directory, and on from it. */
async function signIn(
  agent: UserAgent,
  name = ANN,
  password = ENTRIES.get(name)?.password ?? '',
): Promise<Page | Departure> {
  const form = await openForm(agent)
  return agent.post(form.url, [
    ['name', name],
    ['password', password],
  ])
}

async function openForm(agent: UserAgent): Promise<Page> {
  const page = requirePage(await agent.get(authorizeUrl()))
  const link = /href="([^"]*\/external\/staff\/start[^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&')
  return requirePage(await agent.get(link ?? assert.fail(page.body)))
}

function authorizeUrl(): URL {
  const url = new URL(`${place.server.issuer}/connect/authorize`)
  url.search = String(
    new URLSearchParams({
      ...{ client_id: 'trusted', redirect_uri: 'https://trusted.example.com/cb', response_type: 'id_token' },
      ...{ scope: 'openid', state: 'st', nonce: 'no' },
    }),
  )
  return url
}

const findUser = async (end: Page | Departure) =>
  place.stores.users.findById(String(decodeClaims(readAnswer(end).get('id_token') ?? '').sub))

test('a first sign-in creates the user with the roles of the rules, and the next one follows the claims', async () => {
  const user = await findUser(await signIn(place.newAgent()))
  assert.deepEqual([user?.username, user?.roles, user?.profile.email], ['ann', ['trader'], 'ann@example.com'])
  const [identity] = await place.stores.identities.listOfUser(user?.id ?? '')
  assert.partialDeepStrictEqual(identity, { provider: 'staff', issuer: MEANING.issuer, subject: ANN })
  ENTRIES.set(ANN, { password: 'changed there', claims: { uid: 'ann', groups: ['gatehouse'] } })
  const again = await findUser(await signIn(place.newAgent()))
  assert.deepEqual([again?.id, again?.roles], [user?.id, []])
})

test('a wrong password, a stolen ticket and a person whom require does not name sign nobody in', async () => {
  assert.equal(requirePage(await signIn(place.newAgent(), ANN, 'wrong')).status, 403)
  const agent = place.newAgent()
  const { url } = await openForm(agent)
  const forged = new URL(url.href.replace('/password?', '/callback?'))
  assert.equal(readCode(await agent.get(forged)), 'provider.bad_answer')
  const stranger = await openForm(place.newAgent())
  const elsewhere = await place.newAgent().post(stranger.url, [
    ['name', ANN],
    ['password', ENTRIES.get(ANN)?.password ?? ''],
  ])
  assert.equal(readCode(elsewhere), 'provider.state')
  ENTRIES.set('cn=bob', { password: 'the password of bob', claims: { uid: 'bob' } })
  assert.equal(readCode(await signIn(place.newAgent(), 'cn=bob')), 'identity.not_allowed')
})

test('its endpoint ends the sessions of a person, once; endpoints of another kind are not its own', async () => {
  const agent = place.newAgent()
  await signIn(agent)
  assert.equal((await agent.get(authorizeUrl())).kind, 'left')
  const entry = `${place.server.issuer}/external/staff/entry?name=${encodeURIComponent(ANN)}`
  assert.equal((await fetch(entry, { method: 'DELETE' })).status, 204)
  assert.equal((await agent.get(authorizeUrl())).kind, 'page')
  assert.equal((await fetch(entry, { method: 'DELETE' })).status, 409)
  assert.equal((await fetch(`${place.server.issuer}/external/staff/jwks`)).status, 404)
  assert.equal((await fetch(`${place.server.issuer}/external/corp/jwks`)).status, 200)
  assert.equal((await fetch(`${place.server.issuer}/external/corp/password`)).status, 404)
})

test('a sign-out goes on to the directory', async () => {
  const agent = place.newAgent()
  await signIn(agent)
  const asked = requirePage(await agent.get(`${place.server.issuer}/connect/endsession`))
  const question = asked.forms.find(({ action }) => action.pathname === '/sign-out') ?? assert.fail(asked.body)
  const leave = question.buttons.find(({ value }) => value === 'leave')
  const left = requirePage(await agent.submit(question, {}, leave))
  assert.match(left.body, /ldaps:\/\/staff\.example\.com\/bye\?signOut=cn%3Dann&amp;state=/)
})

test('doctor checks it by its own means', async () => {
  const provider = (await place.stores.providers.find('staff')) ?? assert.fail()
  const env = { remoteKeys: () => assert.fail('a directory has no keys') }
  assert.equal(await findConnectionFault(provider, env), undefined)
  const entries = [...ENTRIES]
  ENTRIES.clear()
  const found = await findConnectionFault(provider, env)
  for (const [name, entry] of entries) ENTRIES.set(name, entry)
  assert.deepEqual(
    [String(found?.error), found?.advice],
    ['Error: the directory is empty', 'Fill the directory of staff.'],
  )
})
