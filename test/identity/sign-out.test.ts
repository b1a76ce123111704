/** RP-initiated logout: what signs a user out, and where the browser is sent. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  ALICE,
  authorizeUrl,
  CLIENTS,
  openSignInPlace,
  POST_LOGOUT,
  readAnswer,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import type { UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

onEveryEngineInLongRuns('sign-out', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())

  async function signedIn(): Promise<{ agent: UserAgent; hint: string }> {
    const agent = place.newAgent()
    const url = authorizeUrl(place.server.issuer, { response_type: 'id_token' })
    const { end } = await visit(agent, await agent.get(url), ALICE)
    return { agent, hint: readAnswer(end).get('id_token') ?? '' }
  }

  function endSessionUrl(parameters: Record<string, string>): URL {
    const url = new URL(`${place.server.issuer}/connect/endsession`)
    const all = { post_logout_redirect_uri: POST_LOGOUT, state: 'kept', ...parameters }
    for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value)
    return url
  }

  async function setDisabled(disabled: boolean): Promise<void> {
    await place.stores.clients.put({ ...CLIENTS.web, disabled })
    await place.stores.events.append({ kind: 'clients-changed', clientId: 'web' })
    const isRefused = async () => (await place.newAgent().get(authorizeUrl(place.server.issuer))).kind
    await until('the change has taken effect', 1000, async () => {
      const page = await place.newAgent().get(authorizeUrl(place.server.issuer))
      return (page.kind === 'page' && page.status === 400) === disabled
    })
    assert.equal(await isRefused(), 'page')
  }

  const isSignedOut = async (agent: UserAgent) => {
    const page = await agent.get('/account')
    return page.kind === 'page' && page.url.pathname === '/sign-in'
  }

  test('RFC 9110 §9.2.1: HEAD of the pages that act on GET does not act', async () => {
    const { agent, hint } = await signedIn()
    const grants = async () => (await place.stores.grants.page({ limit: 1000 })).length
    const before = await grants()
    for (const url of [
      endSessionUrl({ id_token_hint: hint }),
      new URL('/sign-out', place.server.issuer),
      new URL('/continue?flow=x', place.server.issuer),
      authorizeUrl(place.server.issuer, { response_type: 'id_token' }),
    ]) {
      const headers = { cookie: agent.jar.header(new URL(url)) ?? '' }
      const reply = await fetch(url, { method: 'HEAD', headers, redirect: 'manual' })
      assert.deepEqual([reply.status, reply.headers.get('location')], [200, null], `${url}`)
      assert.deepEqual(reply.headers.getSetCookie(), [])
    }
    assert.equal(await isSignedOut(agent), false)
    assert.equal(await grants(), before)
  })

  test('B-73: the browser is not redirected to a disabled client, but the user is signed out', async () => {
    const { agent, hint } = await signedIn()
    await setDisabled(true)
    const end = await agent.get(endSessionUrl({ id_token_hint: hint }))
    assert.ok(end.kind === 'page' && end.status === 200)
    assert.match(end.body, /You are signed out/)
    assert.ok(!end.body.includes(POST_LOGOUT))
    assert.ok(await isSignedOut(agent))
    await setDisabled(false)
    const again = await signedIn()
    const left = await again.agent.get(endSessionUrl({ id_token_hint: again.hint }))
    assert.ok(left.kind === 'left' && left.url.href === `${POST_LOGOUT}?state=kept`)
  })

  test('C-113: a cross-site POST, which carries no Lax cookie, does not sign anyone out and does not break open pages', async () => {
    const { agent, hint } = await signedIn()
    const account = await agent.get('/account')
    assert.ok(account.kind === 'page')
    const posted = await fetch(`${place.server.issuer}/connect/endsession`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ client_id: 'web', post_logout_redirect_uri: POST_LOGOUT }),
    })
    assert.deepEqual([posted.status, posted.headers.getSetCookie()], [303, []])
    const question = await agent.get(posted.headers.get('location') ?? '')
    assert.ok(question.kind === 'page' && /id="sign-out-confirm"/.test(question.body))
    const profile = account.forms.find(({ action }) => action.pathname === '/account/profile')
    assert.ok(profile !== undefined && !(await isSignedOut(agent)))
    const saved = await agent.submit(profile)
    assert.ok(saved.kind === 'page' && saved.status === 200, 'the page that was open before still works')

    const meant = await agent.post(`${place.server.issuer}/connect/endsession`, [
      ['id_token_hint', hint],
      ['post_logout_redirect_uri', POST_LOGOUT],
      ['state', 'kept'],
    ])
    assert.ok(meant.kind === 'left' && meant.url.href === `${POST_LOGOUT}?state=kept`)
    assert.ok(await isSignedOut(agent))
  })

  test('B-73: a POST takes its parameters from the form, not from the query', async () => {
    const { agent, hint } = await signedIn()
    const url = endSessionUrl({ id_token_hint: hint })
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: agent.jar.header(url) ?? '' },
    })
    assert.equal(response.status, 400)
    assert.ok(!(await isSignedOut(agent)))
  })

  test('B-73: the browser is not redirected to a client that was disabled while the user was asked', async () => {
    const { agent } = await signedIn()
    const question = await agent.get(endSessionUrl({ client_id: 'web' }))
    assert.ok(question.kind === 'page')
    const form = question.forms.find(({ action }) => action.pathname === '/sign-out')
    assert.ok(form !== undefined)
    await setDisabled(true)
    const pressed = form.buttons.find(({ value }) => value === 'leave')
    const end = await agent.submit(form, {}, pressed)
    assert.ok(end.kind === 'page' && /You are signed out/.test(end.body))
    assert.ok(await isSignedOut(agent))
    await setDisabled(false)
  })
})
