/** A WebAuthn challenge is accepted once, also for concurrent responses. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { createSoftPasskey } from '../support/passkey.ts'
import { ALICE, authorizeUrl, openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts'
import { type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

onEveryEngineInLongRuns('WebAuthn challenges', (at) => {
  const passkey = createSoftPasskey()
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
    const factor = { kind: 'passkey', label: 'Key', secret: passkey.stored, counter: 0 } as const
    await place.stores.factors.add({ userId: place.aliceId, ...factor })
  })
  after(() => place.close())
  beforeEach(async () => {
    for (const { id } of await place.stores.sessions.listOfUser(place.aliceId)) await place.stores.sessions.end(id)
  })

  /** Returns a function that submits the form of the page with the response to its challenge. */
  function answering(agent: UserAgent, page: Page) {
    const form = page.forms.find(({ id }) => id === 'passkey')
    const challenge = /challenge&quot;:&quot;([\w-]+)&quot;/.exec(page.body)?.[1]
    assert.ok(form !== undefined && challenge !== undefined, page.body)
    const credential = passkey.answer(challenge, place.server.issuer, place.aliceId)
    return () => agent.submit(form, { credential })
  }

  async function assertOneSignsIn(agent: UserAgent, page: Page): Promise<void> {
    // Open the connections first, so that the requests arrive together.
    await Promise.all(Array.from({ length: 8 }, () => start(place.newAgent())))
    await Promise.all(Array.from({ length: 8 }, answering(agent, page)))
    assert.equal((await place.stores.sessions.listOfUser(place.aliceId)).length, 1)
  }

  const start = async (agent: UserAgent) => requirePage(await agent.get(authorizeUrl(place.server.issuer)))

  test('WebAuthn §13.4.3: of many concurrent responses on the sign-in page one signs in', async () => {
    const agent = place.newAgent()
    await assertOneSignsIn(agent, await start(agent))
  })

  test('WebAuthn §13.4.3: of many concurrent responses after the password one signs in', async () => {
    const agent = place.newAgent()
    const page = requirePage(await signIn(agent, await start(agent), ALICE))
    assert.equal(page.url.pathname, '/second-factor')
    await assertOneSignsIn(agent, page)
  })
})
