/** A user who must change the password: nothing is issued before, on no way to a token. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { authorizeUrl, openSignInPlace, readAnswer, SECRET, type SignInPlace } from '../support/sign-in-place.ts'
import { type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const OLD = 'a long enough password'
const NEW = 'another long password'

onEveryEngineInLongRuns('a forced change of the password', (at) => {
  let place: SignInPlace
  let hashed: string
  before(async () => {
    place = await openSignInPlace(at(), {
      clients: [{ client_id: 'cli', token_endpoint_auth_method: 'none', grant_types: ['password'], scope: 'openid' }],
    })
    hashed = await hashPassword(OLD)
  })
  after(() => place.close())

  let count = 0
  async function newPerson(mustChangePassword = true) {
    const username = `novice-${++count}`
    const id = await place.stores.users.create({ username, passwordHash: hashed, mustChangePassword })
    return { username, password: OLD, id }
  }

  function changeForm(page: Page) {
    const form = page.forms.find(({ id }) => id === 'change-password')
    if (form === undefined) throw new Error(`No form to change the password at ${page.url.href}: ${page.body}`)
    return form
  }

  async function signedIn(agent: UserAgent, person: { username: string; password: string }, url: URL | string) {
    return requirePage(await signIn(agent, requirePage(await agent.get(url)), person))
  }

  const passwordGrant = (person: { username: string }, password: string) =>
    fetch(`${place.server.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'password', client_id: 'cli', username: person.username, password }),
    })

  test('the sign-in for an application shows the page, and the code comes after it', async () => {
    const person = await newPerson()
    const agent = place.newAgent()
    const trusted = { client_id: 'trusted', redirect_uri: 'https://trusted.example.com/cb', scope: 'openid' }
    const page = await signedIn(agent, person, authorizeUrl(place.server.issuer, trusted))
    assert.equal(page.url.pathname, '/change-password')
    assert.match(page.body, /Choose a new password/)
    assert.match(page.body, /At least 8 characters/)
    assert.match(
      page.headers.get('content-security-policy') ?? '',
      /form-action 'self' https:\/\/trusted\.example\.com/,
    )

    const short = requirePage(await agent.submit(changeForm(page), { new_password: 'short' }))
    assert.equal(short.status, 400)
    const same = requirePage(await agent.submit(changeForm(short), { new_password: OLD }))
    assert.equal(same.status, 400)
    assert.match(same.body, /differs from the current one/)

    const silent = readAnswer(await agent.get(authorizeUrl(place.server.issuer, { ...trusted, prompt: 'none' })))
    assert.equal(silent.get('error'), 'interaction_required')

    // What is issued at the very time of a revocation is revoked: time must pass.
    const ticking = setInterval(() => place.clock.advance(1), 1)
    const answer = readAnswer(await agent.submit(changeForm(same), { new_password: NEW }))
    clearInterval(ticking)
    const reply = await fetch(`${place.server.issuer}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`trusted:${encodeURIComponent(SECRET)}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: answer.get('code') ?? '',
        redirect_uri: trusted.redirect_uri,
      }),
    })
    assert.equal(reply.status, 200)
    const { access_token: token } = (await reply.json()) as { access_token: string }
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await fetch(`${place.server.issuer}/connect/userinfo`, { headers })).status, 200)
    assert.equal((await place.stores.users.findById(person.id))?.mustChangePassword, false)
    assert.equal((await signedIn(place.newAgent(), person, '/account')).status, 401, 'the old password is wrong')
  })

  test('the account pages and the device page wait for it as well', async () => {
    for (const path of ['/account', '/account/password', '/device?user_code=ABCD-EFGH']) {
      const person = await newPerson()
      const agent = place.newAgent()
      const page = await signedIn(agent, person, path)
      assert.equal(page.url.pathname, '/change-password', path)
      assert.equal(requirePage(await agent.get('/account')).url.pathname, '/change-password')
      const done = requirePage(await agent.submit(changeForm(page), { new_password: NEW }))
      assert.equal(done.url.pathname + done.url.search, path, 'goes on to where it began')
    }
  })

  test('of two changes at the same time one counts: the other began with a password that is no longer in force', async () => {
    const person = await newPerson()
    const agents = [place.newAgent(), place.newAgent()]
    const pages = await Promise.all(agents.map((agent) => signedIn(agent, person, '/account')))
    place.clock.advance(1000)
    const done = await Promise.all(
      agents.map((agent, index) => {
        const page = pages[index]
        assert.ok(page)
        return agent.submit(changeForm(page), { new_password: `${NEW} ${index}` })
      }),
    )
    const changed = done.map(
      (reply) => requirePage(reply).status === 200 && requirePage(reply).url.pathname === '/account',
    )
    assert.equal(changed.filter(Boolean).length, 1)
    place.clock.advance(1000)
    const granted = await passwordGrant(person, `${NEW} ${changed.indexOf(true)}`)
    assert.equal(granted.status, 200, 'the password of the one that was told so')
  })

  test('other sessions of the user end, and a browser left alone has to sign in first', async () => {
    const person = await newPerson(false)
    const [here, there] = [place.newAgent(), place.newAgent()]
    assert.equal((await signedIn(here, person, '/account')).url.pathname, '/account')
    assert.equal((await signedIn(there, person, '/account')).url.pathname, '/account')
    await place.stores.users.update(person.id, { mustChangePassword: true })
    place.clock.advance(11 * 60_000)
    const asked = requirePage(await here.get('/account'))
    assert.equal(asked.url.pathname, '/sign-in')
    const page = requirePage(await signIn(here, asked, person))
    const done = requirePage(await here.submit(changeForm(page), { new_password: NEW }))
    assert.equal(done.url.pathname, '/account')
    assert.equal(requirePage(await there.get('/account')).url.pathname, '/sign-in')
  })

  test('the page is for those who must, and its form is for one session', async () => {
    const person = await newPerson(false)
    const agent = place.newAgent()
    await signedIn(agent, person, '/account')
    assert.equal(requirePage(await agent.get('/change-password?flow=x')).status, 400)
    const forced = await newPerson()
    const other = place.newAgent()
    const page = await signedIn(other, forced, '/account')
    const stolen = requirePage(await agent.submit(changeForm(page), { new_password: NEW }))
    assert.equal(stolen.status, 403)
  })

  test('the password grant is refused with the reason, and accepted after the change', async () => {
    const person = await newPerson()
    const refused = await passwordGrant(person, OLD)
    assert.equal(refused.status, 400)
    const body = (await refused.json()) as Record<string, string>
    assert.equal(body.error, 'invalid_grant')
    assert.match(body.error_description ?? '', /must be changed first/)
    const wrong = (await (await passwordGrant(person, 'not the password')).json()) as Record<string, string>
    assert.doesNotMatch(wrong.error_description ?? '', /changed/)
    await place.stores.users.update(person.id, { mustChangePassword: false })
    assert.equal((await passwordGrant(person, OLD)).status, 200)
  })
})
