/** Step-up at the authorization endpoint: acr_values and max_age, and clients that demand factors or a recent sign-in. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { totpCode } from '../../packages/server/src/identity/factors/totp.ts'
import { fromBase32 } from '../support/base32.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  ALICE,
  authorizeUrl,
  type Changes,
  decodeClaims,
  openSignInPlace,
  readAnswer,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { type Departure, type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const STEP_MS = 30_000
const TRUSTED = { client_id: 'trusted', redirect_uri: 'https://trusted.example.com/cb', response_type: 'id_token' }
const GUARDED = { client_id: 'guarded', redirect_uri: 'https://guarded.example.com/cb', response_type: 'id_token' }
const TIMED = { client_id: 'timed', redirect_uri: 'https://timed.example.com/cb', response_type: 'id_token' }

onEveryEngineInLongRuns('step-up at sign-in', (at) => {
  let place: SignInPlace
  let agent: UserAgent
  let secret: Buffer
  before(async () => {
    const client = ({ client_id, redirect_uri }: typeof GUARDED | typeof TIMED) => ({
      client_id,
      redirect_uris: [redirect_uri],
      response_types: ['id_token'],
      grant_types: ['implicit'],
      scope: 'openid',
      skip_consent: true,
    })
    place = await openSignInPlace(at(), {
      clients: [
        { ...client(GUARDED), require_acr: 2 },
        { ...client(TIMED), require_age: 600 },
      ],
    })
    agent = place.newAgent()
  })
  after(() => place.close())

  const ask = (changes: Changes) => agent.get(authorizeUrl(place.server.issuer, changes))
  const code = () => totpCode(secret, Math.floor(place.clock() / STEP_MS))
  const claims = (end: Page | Departure) => decodeClaims(readAnswer(end).get('id_token') ?? '')

  test('acr_values that one factor satisfies, unknown ones and those of a silent request ask for nothing', async () => {
    const first = claims(await signIn(agent, requirePage(await ask(TRUSTED)), ALICE))
    assert.equal(first.acr, '1')
    for (const asked of [{ acr_values: '1 2' }, { acr_values: 'urn:other' }, { acr_values: '2', prompt: 'none' }])
      assert.equal(claims(await ask({ ...TRUSTED, ...asked })).acr, '1', JSON.stringify(asked))
  })

  test('acr_values=2: a user without a second factor sets one up, and the token has acr 2', async () => {
    const page = requirePage(await ask({ ...TRUSTED, acr_values: '2' }))
    assert.equal(page.url.pathname, '/set-up-factor')
    const form = page.forms.find(({ id }) => id === 'authenticator')
    secret = fromBase32(/id="authenticator-key">([A-Z2-7 ]+)</.exec(page.body)?.[1] ?? '')
    assert.ok(form)
    const next = requirePage(await agent.submit(form, { code: code() }))
    const kept = /id="recovery-codes-kept" href="([^"]+)"/.exec(next.body)?.[1] ?? ''
    const issued = claims(await agent.get(kept))
    assert.equal(issued.acr, '2')
    assert.equal(issued.auth_time, Math.floor(place.clock() / 1000))
    assert.equal(claims(await ask({ ...TRUSTED, acr_values: '2', max_age: '300' })).acr, '2', 'nothing is asked again')
  })

  test('max_age: an old sign-in is renewed, with the second factor', async () => {
    place.clock.advance(301_000)
    const page = requirePage(await ask({ ...TRUSTED, acr_values: '2', max_age: '300' }))
    assert.equal(page.url.pathname, '/sign-in')
    const second = requirePage(await signIn(agent, page, ALICE))
    assert.equal(second.url.pathname, '/second-factor')
    const form = second.forms.find(({ id }) => id === 'second-factor')
    assert.ok(form)
    const issued = claims(await agent.submit(form, { code: code() }))
    assert.deepEqual([issued.acr, issued.auth_time], ['2', Math.floor(place.clock() / 1000)])
  })

  test('a second factor that is added to an old sign-in does not make it a new one', async () => {
    const { id } = (await place.stores.users.findByUsername(ALICE.username)) ?? { id: '' }
    const authTime = place.clock() - 3_600_000
    const signedIn = { amr: ['pwd'], authTime, userAgent: '', address: '127.0.0.1' }
    const { cookie } = await place.stores.sessions.open(id, signedIn)
    const old = place.newAgent()
    old.jar.store(new URL(place.server.issuer), [`gatehouse=${cookie}; Path=/`])
    const page = requirePage(await old.get(authorizeUrl(place.server.issuer, { ...TRUSTED, acr_values: '2' })))
    assert.equal(page.url.pathname, '/second-factor')
    const form = page.forms.find(({ id }) => id === 'second-factor')
    assert.ok(form)
    place.clock.advance(STEP_MS)
    const issued = claims(await old.submit(form, { code: code() }))
    assert.deepEqual([issued.acr, issued.auth_time], ['2', Math.floor(authTime / 1000)])
  })

  test('a client with require_acr 2 has users with two factors only, and require_age limits how old their sign-in is', async () => {
    assert.equal(claims(await ask(GUARDED)).acr, '2')
    const other = place.newAgent()
    const bob = { username: 'bob', password: 'another long password' }
    const page = requirePage(await other.get(authorizeUrl(place.server.issuer, GUARDED)))
    assert.equal(requirePage(await signIn(other, page, bob)).url.pathname, '/set-up-factor')
    assert.ok(claims(await ask(TIMED)).sub)
    place.clock.advance(601_000)
    assert.equal(requirePage(await ask(TIMED)).url.pathname, '/sign-in')
    assert.equal(
      requirePage(await ask({ ...TIMED, max_age: '100000' })).url.pathname,
      '/sign-in',
      'it cannot ask for less',
    )
    assert.equal(readAnswer(await ask({ ...TIMED, prompt: 'none' })).get('error'), 'login_required')
    assert.ok(claims(await ask(TRUSTED)).sub, 'other clients are unaffected')
  })
})
