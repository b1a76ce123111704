/** Rows that callers without an account can cause: their size and their number are bounded, and nobody is locked out by the flood of another. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import {
  ALICE,
  answerOf,
  authorizeUrl,
  CALLBACK,
  openSignInPlace,
  POST_LOGOUT,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { visit } from '../support/visitor.ts'

onEveryEngine('rows of anonymous callers', (place) => {
  let gate: SignInPlace
  before(async () => {
    gate = await openSignInPlace(place(), { flags: { '--trusted-proxies': '127.0.0.1,::1' } })
  })
  after(() => gate.close())

  const flows = () => gate.database.db.selectFrom('interactions').select(['details']).execute()
  const post = (path: string, form: Readonly<Record<string, string>>) =>
    fetch(gate.server.issuer + path, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' })
  const asked = (changes: Readonly<Record<string, string>>) =>
    Object.fromEntries(authorizeUrl(gate.server.issuer, changes).searchParams)

  test('a parameter that is too long is refused, with an error that names it, and nothing is stored', async () => {
    const before = (await flows()).length
    for (const [name, value] of [
      ['state', 'x'.repeat(4097)],
      ['state', 'x'.repeat(60_000)],
      ['state', '語'.repeat(1366)],
      ['state', '\u0001'.repeat(700)],
      ['nonce', 'x'.repeat(1025)],
      ['claims', JSON.stringify({ userinfo: { ['x'.repeat(4096)]: null } })],
    ] as const) {
      const reply = await post('/connect/authorize', asked({ [name]: value }))
      const location = new URL(reply.headers.get('location') ?? '', gate.server.issuer)
      assert.equal(location.origin + location.pathname, CALLBACK, `${name} of ${value.length} is accepted`)
      assert.equal(location.searchParams.get('error'), 'invalid_request')
      assert.match(
        location.searchParams.get('error_description') ?? '',
        new RegExp(`^${name} is longer than \\d+ bytes`),
      )
      assert.equal(location.searchParams.get('state'), name === 'state' ? null : 'st')
    }
    const bye = { client_id: 'web', post_logout_redirect_uri: POST_LOGOUT, state: 'x'.repeat(4097) }
    const reply = await post('/connect/endsession', bye)
    assert.equal(reply.status, 400)
    assert.match(await reply.text(), /state is longer than 4096 bytes/)
    assert.equal((await flows()).length, before)
  })

  test('a state of four kilobytes comes back, and hints are cut rather than refused', async () => {
    const state = 'x'.repeat(4096)
    const agent = gate.newAgent()
    const url = authorizeUrl(gate.server.issuer, {
      state,
      client_id: 'trusted',
      redirect_uri: 'https://trusted.example.com/cb',
    })
    const { end } = await visit(agent, await agent.get(url), ALICE)
    assert.equal(answerOf(end).get('state'), state)
    const before = new Set((await flows()).map(({ details }) => details))
    const reply = await post(
      '/connect/authorize',
      asked({ login_hint: 'y'.repeat(20_000), ui_locales: 'de '.repeat(7000) }),
    )
    assert.match(reply.headers.get('location') ?? '', /\/continue\?flow=/)
    const [stored, ...others] = (await flows()).filter(({ details }) => !before.has(details))
    assert.ok(stored !== undefined && others.length === 0)
    assert.ok(stored.details.length < 2000, `${stored.details.length} characters are stored`)
  })
})
