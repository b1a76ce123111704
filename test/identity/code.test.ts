/** Redeeming authorization codes at the token endpoint: checklist B-20, B-40 to B-42, C-25 to C-28, C-32. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { CodeDetails } from '../../packages/server/src/store/authorizations/codes.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  type Answer,
  basic,
  decodeClaims,
  decodeHeader,
  SECRET,
  startGate,
  type TestGate,
} from '../support/identity.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const REDIRECT = 'https://app.example/callback'
/** RFC 7636 appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

onEveryEngineInLongRuns('authorization codes', (place, engine) => {
  let gate: TestGate
  let other: TestServer
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock })
    other = await startTestServer(place(), { clock, flags: { '--issuer': gate.server.issuer } })
  })
  after(async () => {
    await other.stop()
    await gate.stop()
  })

  async function issueCode(details: Partial<CodeDetails> = {}, scopes = ['openid', 'offline_access', 'Platform/News']) {
    const grant = await gate.stores.grants.create({
      kind: 'authorization_code',
      clientId: 'web',
      userId: gate.aliceId,
      sessionId: 'session-1',
      scopes,
      authTime: clock() - 5000,
      details: { amr: ['pwd'], acr: '1' },
      expiresAt: clock() + 86_400_000,
    })
    return gate.stores.codes.issue(grant.id, { redirectUri: REDIRECT, ...details }, 60_000)
  }
  const buildForm = (code: string) => ({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT })
  const redeem = (code: string, form: Record<string, string> = {}, clientId = 'web'): Promise<Answer> =>
    gate.post('/connect/token', { ...buildForm(code), ...form }, { authorization: basic(clientId, SECRET) })
  const assertInvalidGrant = (answer: Answer): void => {
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_grant'], answer.text)
  }

  test('B-20: the ID token has the nonce iff one was sent, a correct at_hash, sid, amr, acr and auth_time', async () => {
    const answer = await redeem(await issueCode({ nonce: 'n-0S6' }))
    assert.equal(answer.status, 200, answer.text)
    const access = String(answer.body.access_token)
    const claims = decodeClaims(String(answer.body.id_token))
    assert.partialDeepStrictEqual(claims, {
      iss: gate.server.issuer,
      sub: gate.aliceId,
      aud: 'web',
      nonce: 'n-0S6',
      sid: 'session-1',
      amr: ['pwd'],
      acr: '1',
      auth_time: Math.floor((clock() - 5000) / 1000),
      at_hash: hash('sha256', access, 'buffer').subarray(0, 16).toString('base64url'),
    })
    for (const name of ['name', 'email', 'azp', 'role', 'c_hash']) assert.ok(!(name in claims), name)
    assert.deepEqual(decodeHeader(String(answer.body.id_token)).alg, 'RS256')
    const without = await redeem(await issueCode())
    assert.ok(!('nonce' in decodeClaims(String(without.body.id_token))))
  })

  test('B-27, B-44: without openid there is no ID token; without offline_access no refresh token', async () => {
    const answer = await redeem(await issueCode({}, ['Platform/News']))
    assert.deepEqual(Object.keys(answer.body), ['access_token', 'expires_in', 'token_type', 'scope'])
  })

  test('B-40, C-32: of 50 concurrent redemptions of a code exactly one gets tokens', async () => {
    const code = await issueCode()
    const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(code)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    for (const answer of answers.filter(({ status }) => status !== 200)) assertInvalidGrant(answer)
  })

  /** On SQLite, in one process, the two nodes delay each other enough. */
  async function slowDownWinners(): Promise<void> {
    if (engine === 'sqlite') return
    for (const statement of [
      `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.2); return new; end $$`,
      'create trigger slow before insert on refresh_tokens for each row execute function slow()',
    ])
      await sql.raw(statement).execute(gate.database.db)
  }
  const hurryWinners = () =>
    engine === 'sqlite' ? undefined : sql.raw('drop function slow cascade').execute(gate.database.db)

  test('B-40, B-41: of 50 concurrent redemptions of a code on two nodes exactly one gets tokens, which are then revoked', async () => {
    await slowDownWinners()
    for (let round = 0; round < 3; round++) {
      const code = await issueCode()
      const answers = await Promise.all(
        Array.from({ length: 50 }, async (_, count) => {
          const { port } = count % 2 === 0 ? gate.server : other
          const response = await fetch(`http://127.0.0.1:${port}/connect/token`, {
            method: 'POST',
            headers: { authorization: basic('web', SECRET) },
            body: new URLSearchParams(buildForm(code)),
          })
          return (await response.json()) as Record<string, string>
        }),
      )
      const [winner, ...more] = answers.filter(({ access_token }) => access_token !== undefined)
      assert.ok(winner !== undefined && more.length === 0, `${more.length} more than one, or none`)
      const errors = new Set(answers.flatMap(({ error }) => error ?? []))
      assert.deepEqual([...errors], ['invalid_grant'])
      const { access_token = '', refresh_token = '' } = winner
      await until('the token is revoked', 1000, async () => (await gate.userinfo(access_token)).status === 401)
      const refresh = { grant_type: 'refresh_token', refresh_token }
      assertInvalidGrant(await gate.post('/connect/token', refresh, { authorization: basic('web', SECRET) }))
    }
    await hurryWinners()
  })

  test('B-40: a code expires after sixty seconds', async () => {
    const code = await issueCode()
    clock.advance(60_000)
    assertInvalidGrant(await redeem(code))
  })

  test('B-41: a second redemption is invalid_grant and revokes everything issued for the first one', async () => {
    const code = await issueCode()
    const first = await redeem(code)
    assert.equal((await gate.userinfo(String(first.body.access_token))).status, 200)
    assertInvalidGrant(await redeem(code))
    assert.equal((await gate.userinfo(String(first.body.access_token))).status, 401)
    const refresh = { grant_type: 'refresh_token', refresh_token: String(first.body.refresh_token) }
    assertInvalidGrant(await gate.post('/connect/token', refresh, { authorization: basic('web', SECRET) }))
    const introspected = await gate.post(
      '/connect/introspect',
      { token: String(first.body.access_token) },
      { authorization: basic('web', SECRET) },
    )
    assert.deepEqual(introspected.body, { active: false })
  })

  test('B-42, C-28: another redirect_uri, none, or another client is invalid_grant', async () => {
    assertInvalidGrant(await redeem(await issueCode(), { redirect_uri: `${REDIRECT}/` }))
    assertInvalidGrant(await redeem(await issueCode(), { redirect_uri: '' }))
    await gate.stores.clients.put({
      client_id: 'web2',
      grant_types: ['authorization_code'],
      redirect_uris: [REDIRECT],
      scope: 'openid',
    })
    await gate.stores.clients.addSecret('web2', SECRET)
    assertInvalidGrant(await redeem(await issueCode(), {}, 'web2'))
    assertInvalidGrant(await redeem('never-issued'))
  })

  test('C-25, C-27: only the matching code_verifier is accepted', async () => {
    const challenge = { method: 'S256', value: CHALLENGE } as const
    assert.equal((await redeem(await issueCode({ challenge }), { code_verifier: VERIFIER })).status, 200)
    const wrong = [
      undefined,
      CHALLENGE,
      `${VERIFIER}x`,
      VERIFIER.slice(1),
      VERIFIER.slice(0, 42),
      'x'.repeat(129),
      `${VERIFIER} `,
    ]
    for (const verifier of wrong) {
      const form = verifier === undefined ? {} : { code_verifier: verifier }
      const refused = await redeem(await issueCode({ challenge }), form)
      assertInvalidGrant(refused)
      assert.match(String(refused.body.error_description), /^code_verifier (is missing|does not match)/)
    }
    const plain = { method: 'plain', value: VERIFIER } as const
    assert.equal((await redeem(await issueCode({ challenge: plain }), { code_verifier: VERIFIER })).status, 200)
    assertInvalidGrant(await redeem(await issueCode({ challenge: plain }), { code_verifier: `${VERIFIER}x` }))
  })

  test('C-25: a wrong verifier spends the code', async () => {
    const code = await issueCode({ challenge: { method: 'S256', value: CHALLENGE } })
    assertInvalidGrant(await redeem(code, { code_verifier: 'x'.repeat(43) }))
    assertInvalidGrant(await redeem(code, { code_verifier: VERIFIER }))
  })

  test('C-26: a verifier for a code without a challenge is refused', async () => {
    assertInvalidGrant(await redeem(await issueCode(), { code_verifier: VERIFIER }))
  })

  test('B-57: requested claims are returned in the requested place', async () => {
    const grant = await gate.stores.grants.create({
      kind: 'authorization_code',
      clientId: 'web',
      userId: gate.aliceId,
      sessionId: undefined,
      scopes: ['openid'],
      authTime: clock(),
      details: {
        amr: ['pwd'],
        claims: { userinfo: { name: { essential: true }, nonsense: null }, id_token: { email: null } },
      },
      expiresAt: clock() + 86_400_000,
    })
    const answer = await redeem(await gate.stores.codes.issue(grant.id, { redirectUri: REDIRECT }, 60_000))
    const claims = decodeClaims(String(answer.body.id_token))
    assert.equal(claims.email, 'alice@example.com')
    assert.ok(!('name' in claims))
    const { body } = await gate.userinfo(String(answer.body.access_token))
    assert.deepEqual(body, { sub: gate.aliceId, name: 'Alice Liddell' })
  })
})
