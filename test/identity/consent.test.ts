/** Consent covers only what the page showed. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import type { Form } from '../support/html-form.ts'
import {
  ALICE,
  authorizeUrl,
  CLIENTS,
  newVerifier,
  openSignInPlace,
  readAnswer,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { type Departure, type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn, visit } from '../support/visitor.ts'

/** The text that the pages show for Platform/Admin. */
const ADMINISTER = 'Administer the platform'

onEveryEngineInLongRuns('consent', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
    await place.stores.roles.put({ name: 'chief', scopes: ['Platform/Market', 'Platform/Admin'] })
  })
  beforeEach(() => place.stores.users.setRoles(place.aliceId, ['reader']))
  after(() => place.close())

  const wanted = 'openid Platform/Market Platform/Admin'
  const promote = () => place.stores.users.setRoles(place.aliceId, ['chief'])

  test('C-117: a right granted after the consent page was shown needs consent before it is issued', async () => {
    const agent = place.newAgent()
    const url = authorizeUrl(place.server.issuer, { scope: wanted, response_type: 'token' })
    const shown = requirePage(await signIn(agent, requirePage(await agent.get(url)), ALICE))
    assert.ok(shown.url.pathname === '/consent' && !shown.body.includes(ADMINISTER))
    await promote()
    const again = requirePage(await press(agent, shown, '/consent', 'allow'))
    assert.ok(again.url.pathname === '/consent' && again.body.includes(ADMINISTER))
    const answer = readAnswer(await press(agent, again, '/consent', 'allow'))
    assert.ok(answer.has('access_token'))
    const consent = await place.stores.consents.find(place.aliceId, 'web')
    assert.deepEqual([...(consent?.scopes ?? [])].sort(), wanted.split(' ').sort())
  })

  test('C-77: a device does not get a right that its page did not show', async () => {
    const agent = place.newAgent()
    const response = await fetch(`${place.server.issuer}/connect/deviceauthorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'device', scope: wanted }),
    })
    const { user_code } = (await response.json()) as { user_code: string }
    const shown = requirePage(
      await signIn(agent, requirePage(await agent.get(`/device?user_code=${user_code}`)), ALICE),
    )
    assert.ok(shown.url.pathname === '/device' && !shown.body.includes(ADMINISTER))
    await promote()
    const again = requirePage(await press(agent, shown, '/device/decision', 'allow'))
    assert.ok(again.body.includes(ADMINISTER))
    assert.equal((await place.stores.deviceCodes.findPending(user_code))?.state, 'pending')
    await press(agent, again, '/device/decision', 'allow')
    assert.equal(await place.stores.deviceCodes.findPending(user_code), undefined)
  })

  test('C-31: a public client on loopback asks each time, unless the administrator spares its users the consent', async () => {
    const { challenge } = newVerifier()
    const ask = (agent: UserAgent) =>
      agent.get(
        authorizeUrl(place.server.issuer, {
          client_id: 'native',
          redirect_uri: 'http://127.0.0.1:5099/cb',
          code_challenge: challenge,
          code_challenge_method: 'S256',
        }),
      )
    const agent = place.newAgent()
    assert.deepEqual((await visit(agent, await ask(agent), ALICE)).seen, ['sign-in', 'question'])
    assert.deepEqual((await visit(agent, await ask(agent), ALICE)).seen, ['question'])
    const native = await place.stores.clients.metadata('native')
    assert.ok(native !== undefined)
    await place.stores.clients.put({ ...native, skip_consent: true })
    await place.stores.events.append({ kind: 'clients-changed', clientId: 'native' })
    await until('the change arrives', 1000, async () => (await visit(agent, await ask(agent), ALICE)).seen.length === 0)
    assert.ok(readAnswer(await ask(agent)).has('code'))
    await place.stores.clients.put(native)
    await place.stores.events.append({ kind: 'clients-changed', clientId: 'native' })
  })

  test('B-10: cancelling does not redirect to a client that was disabled in the meantime', async () => {
    const agent = place.newAgent()
    const page = requirePage(await agent.get(authorizeUrl(place.server.issuer)))
    await place.stores.clients.put({ ...CLIENTS.web, disabled: true })
    await place.stores.events.append({ kind: 'clients-changed', clientId: 'web' })
    await until('the client is disabled', 1000, async () => {
      return requirePage(await place.newAgent().get(authorizeUrl(place.server.issuer))).status === 400
    })
    const end = await press(agent, page, '/sign-in', 'cancel')
    assert.ok(end.kind === 'page', `redirected to ${end.url}`)
    assert.ok(end.status === 400)
  })
})

function press(agent: UserAgent, page: Page, path: string, value: string): Promise<Page | Departure> {
  const form: Form | undefined = page.forms.find(({ action }) => action.pathname === path)
  const button = form?.buttons.find((candidate) => candidate.value === value)
  assert.ok(form !== undefined && button !== undefined, `${page.status} ${page.url} ${page.body}`)
  return agent.submit(form, {}, button)
}
