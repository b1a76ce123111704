/** Rows that callers without an account can cause: their size and number are bounded, and one caller's flood does not lock out others. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  ALICE,
  authorizeUrl,
  CALLBACK,
  openSignInPlace,
  POST_LOGOUT,
  readAnswer,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { requirePage } from '../support/user-agent.ts'
import { signIn, visit } from '../support/visitor.ts'

onEveryEngineInLongRuns('rows of anonymous callers', (place) => {
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
      ['acr_values', 'x '.repeat(600)],
      ['acr_values', 'x'.repeat(60_000)],
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
    assert.equal(readAnswer(end).get('state'), state)
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

  test('the oldest of a browser make way for its newest, and those of others stay', async () => {
    const other = gate.newAgent()
    const shown = requirePage(await other.get(authorizeUrl(gate.server.issuer)))
    const agent = gate.newAgent()
    const first = requirePage(await agent.get(authorizeUrl(gate.server.issuer)))
    gate.clock.advance(1)
    const before = (await flows()).length
    for (let count = 0; count < 60; count++) await agent.get(authorizeUrl(gate.server.issuer))
    assertBetween((await flows()).length - before, 49, 54)
    assert.match(requirePage(await signIn(agent, first, ALICE)).body, /expired|start again/i)
    assert.equal((await visit(other, shown, ALICE)).end.kind, 'left')
  })

  test('a flood from one network is bounded, and users elsewhere sign in as usual', async () => {
    const other = gate.newAgent({ 'x-forwarded-for': '198.51.100.2' })
    const shown = requirePage(await other.get(authorizeUrl(gate.server.issuer)))
    const before = (await flows()).length
    // As many as one network may have, in a moment; then 120 by requests.
    await sql`insert into interactions (digest, details, network, created_at, expires_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
      select 'flood ' || i, '{}', '2001:db8:5:6::/64', 0, ${gate.clock() + 60_000} from n`.execute(gate.database.db)
    const flood = async (worker: number) => {
      for (let count = 0; count < 3; count++) {
        const headers = { 'x-forwarded-for': `2001:db8:5:6:${worker}::${count}` }
        const send = (path: string, form: Readonly<Record<string, string>>) =>
          fetch(gate.server.issuer + path, {
            method: 'POST',
            body: new URLSearchParams(form),
            headers,
            redirect: 'manual',
          })
        await send('/connect/authorize', asked({}))
        await send('/connect/endsession', { client_id: 'web' })
      }
    }
    await Promise.all(Array.from({ length: 20 }, (_, worker) => flood(worker)))
    assertBetween((await flows()).length - before, 1000, 1100)
    assert.equal((await visit(other, shown, ALICE)).end.kind, 'left')
  })

  test('refusals of unknown clients, bad requests and delayed sign-ins are counted in the audit log', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.44' }
    const send = (path: string, form: Readonly<Record<string, string>>) =>
      fetch(gate.server.issuer + path, { method: 'POST', body: new URLSearchParams(form), headers, redirect: 'manual' })
    const before = await gate.database.db.selectFrom('audit_log').select('seq').execute()
    for (let round = 0; round < 40; round++)
      await Promise.all([
        send('/connect/token', { grant_type: 'client_credentials', client_id: `x${round}`, client_secret: 'y' }),
        send('/connect/token', { grant_type: `g${round}`, client_id: 'spa' }),
        send('/connect/deviceauthorization', { client_id: `x${round}` }),
        send('/connect/revocation', { client_id: `x${round}`, token: 't' }),
        send('/connect/authorize', asked({ response_type: `r${round}` })),
      ])
    const written = async () => {
      const rows = await gate.database.db
        .selectFrom('audit_log')
        .select(['event', 'details'])
        .where('seq', '>', before.length)
        .where('address', '=', '203.0.113.44')
        .execute()
      return rows.map(({ event, details }) => ({ event, count: JSON.parse(details).count ?? 1 }))
    }
    const events = ['authorization.refused', 'client.refused', 'client.refused', 'token.refused']
    await until('rows are written', 2000, async () => (await written()).length >= 10 * events.length)
    assert.equal((await written()).length, 10 * events.length)
    gate.clock.advance(10 * 60_000)
    const reply = await fetch(`${gate.server.issuer}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'x', client_id: 'spa' }),
      headers,
    })
    assert.equal(reply.status, 400)
    await until('the next one writes its count', 2000, async () => (await written()).some(({ count }) => count === 30))
  })

  test('device codes are bounded in the same way, and one that was approved stays', async () => {
    const issue = async (address: string) => {
      const reply = await fetch(`${gate.server.issuer}/connect/deviceauthorization`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: 'device', scope: 'openid' }),
        headers: { 'x-forwarded-for': address },
      })
      return (await reply.json()) as { user_code: string; device_code: string }
    }
    const elsewhere = await issue('198.51.100.3')
    const approved = await issue('203.0.113.5')
    const forgotten = await issue('203.0.113.5')
    const given = { userId: gate.aliceId, sessionId: undefined, scopes: ['openid'], authTime: gate.clock(), amr: [] }
    assert.ok(await gate.stores.deviceCodes.decide(approved.user_code, given))
    gate.clock.advance(1)
    await sql`insert into device_codes (digest, user_code, client_id, scopes, state, details, poll_interval, network, created_at, expires_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
      select 'flood ' || i, 'flood ' || i, 'device', '', 'pending', '', 5, '203.0.113.5', ${gate.clock()}, ${gate.clock() + 60_000} from n`.execute(
      gate.database.db,
    )
    const flood = async () => {
      for (let count = 0; count < 6; count++) await issue('203.0.113.5')
    }
    await Promise.all(Array.from({ length: 20 }, flood))
    const rows = await gate.database.db.selectFrom('device_codes').select('digest').execute()
    assertBetween(rows.length, 1002, 1102)
    assert.ok(await gate.stores.deviceCodes.findPending(elsewhere.user_code))
    assert.equal(await gate.stores.deviceCodes.findPending(forgotten.user_code), undefined)
    assert.ok(await gate.stores.deviceCodes.redeem(approved.device_code))
  })
})

/** A limit is kept within a tenth of it. */
function assertBetween(count: number, least: number, most: number): void {
  assert.ok(count >= least && count <= most, `${count} rows`)
}
