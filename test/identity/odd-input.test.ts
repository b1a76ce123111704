/** Malformed input to the pages, with and without a session, never causes a server error. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../support/any-text.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { ALICE, authorizeUrl, openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts'
import { requirePage, type UserAgent } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

const ODD = ['\0', 'a\0b', '\u202e', '😀'.repeat(50), '%00', "'; drop table users; --", '\r\nset-cookie: x=1', '../..']

onEveryEngineInLongRuns('malformed input', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  // close() fails if the server has logged an error.
  after(() => place.close())

  test('C-44, C-118: without a session, every malformed value of every parameter gets a page or a refusal', async () => {
    const agent = place.newAgent()
    for (const odd of ODD) {
      for (const name of [
        'client_id',
        'redirect_uri',
        'state',
        'nonce',
        'login_hint',
        'ui_locales',
        'claims',
        'scope',
      ]) {
        const end = await agent.get(authorizeUrl(place.server.issuer, { [name]: odd }))
        assert.ok(end.kind === 'left' || end.status < 500, `${name}=${JSON.stringify(odd)}`)
      }
      for (const path of [
        '/sign-in',
        '/second-factor',
        '/consent',
        '/continue',
        '/sign-out',
        '/device',
        '/set-up-factor',
      ]) {
        const end = await agent.get(`${path}?flow=${encodeURIComponent(odd)}&user_code=${encodeURIComponent(odd)}`)
        assert.ok(end.kind === 'page' && end.status < 500, `${path} ${JSON.stringify(odd)}`)
      }
    }
  })

  test('C-49: a Basic header with arbitrary bytes and a passkey of no user are refused', async () => {
    for (const odd of ODD) {
      const authorization = `Basic ${Buffer.from(`${odd}:${odd}`).toString('base64')}`
      const body = new URLSearchParams({ grant_type: 'client_credentials' })
      const response = await fetch(`${place.server.issuer}/connect/token`, {
        method: 'POST',
        headers: { authorization },
        body,
      })
      assert.ok([400, 401].includes(response.status), `${response.status} for ${JSON.stringify(odd)}`)
      const agent = place.newAgent()
      const page = requirePage(await agent.get(authorizeUrl(place.server.issuer)))
      const passkey = page.forms.find(({ id }) => id === 'passkey')
      assert.ok(passkey)
      const userHandle = Buffer.from(odd).toString('base64url')
      const credential = JSON.stringify({ id: 'x', response: { userHandle } })
      assert.equal(requirePage(await agent.submit(passkey, { credential })).status, 401)
    }
  })

  test('usernames and passwords with arbitrary characters are merely wrong', async () => {
    const agent = place.newAgent()
    let page = requirePage(await agent.get(authorizeUrl(place.server.issuer)))
    for (const odd of ODD.filter((text) => !text.includes('\0'))) {
      place.clock.advance(3600_000 / 2)
      page = requirePage(await agent.get(authorizeUrl(place.server.issuer)))
      page = requirePage(await signIn(agent, page, { username: odd, password: odd }))
      assert.ok([401, 429].includes(page.status), `${page.status} for ${JSON.stringify(odd)}`)
    }
  })

  test('no malformed form of a signed-in user with a valid CSRF token causes an error', async () => {
    const agent = place.newAgent()
    await signIn(agent, requirePage(await agent.get('/account')), ALICE)
    const tokens = await requestTokens(agent)
    const names = fc.constantFrom(
      ...'name email website locale zoneinfo session client_id factor label code sealed credential flow user_code'.split(
        ' ',
      ),
      ...'decision current_password new_password way'.split(' '),
    )
    const values = fc.oneof(fc.constantFrom(...ODD, 'allow', 'others', 'continue', ...tokens), anyText())
    const paths = fc.constantFrom(
      ...'profile sessions/end consents/withdraw factors/remove authenticator passkey'
        .split(' ')
        .map((p) => `/account/${p}`),
      ...[
        '/device',
        '/device/decision',
        '/consent',
        '/choose-account',
        '/second-factor',
        '/set-up-factor',
        '/sign-in/passkey',
      ],
    )
    await fc.assert(
      fc.asyncProperty(paths, fc.array(fc.tuple(names, values), { maxLength: 6 }), async (path, fields) => {
        for (const token of tokens) {
          const end = await agent.post(path, [...new Map([...fields, ['form_token', token]])])
          assert.ok(end.kind === 'page' && end.status < 500, `${path} ${JSON.stringify(fields)}`)
        }
      }),
      { numRuns: 150 },
    )
  })
})

/** The CSRF tokens of this browser, before and after sign-in. */
async function requestTokens(agent: UserAgent): Promise<string[]> {
  const pages = [await agent.get('/account'), await agent.get('/device')]
  return [
    ...new Set(
      pages.flatMap((page) =>
        requirePage(page).forms.flatMap(({ fields }) =>
          fields.filter(({ name }) => name === 'form_token').map(({ value }) => value),
        ),
      ),
    ),
  ]
}
