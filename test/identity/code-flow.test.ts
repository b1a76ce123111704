/** The authorization code flow, from the sign-in page to the tokens. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  ALICE,
  authorizeUrl,
  BOB,
  CALLBACK,
  decodeClaims,
  newVerifier,
  openSignInPlace,
  readAnswer,
  SECRET,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { visit } from '../support/visitor.ts'

onEveryEngineInLongRuns('the code flow', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())

  test('a user signs in and consents, and the client gets tokens; the second time no page is shown', async () => {
    const agent = place.newAgent()
    const { issuer } = place.server
    const { verifier, challenge } = newVerifier()
    const url = authorizeUrl(issuer, {
      scope: 'openid profile offline_access Platform/Market Platform/Admin',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const { end, seen } = await visit(agent, await agent.get(url), ALICE)
    assert.deepEqual(seen, ['sign-in', 'question'])
    const answer = readAnswer(end)
    assert.deepEqual([...answer.keys()].sort(), ['code', 'iss', 'session_state', 'state'])
    assert.equal(answer.get('state'), 'st')
    assert.equal(answer.get('iss'), issuer)

    const response = await fetch(`${issuer}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`web:${encodeURIComponent(SECRET)}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: answer.get('code') ?? '',
        redirect_uri: CALLBACK,
        code_verifier: verifier,
      }),
    })
    const tokens = (await response.json()) as Record<string, string>
    assert.equal(response.status, 200, JSON.stringify(tokens))
    assert.ok(tokens.refresh_token)
    assert.deepEqual(tokens.scope?.split(' ').sort(), ['Platform/Market', 'offline_access', 'openid', 'profile'])
    const claims = decodeClaims(tokens.id_token ?? '')
    assert.equal(claims.sub, place.aliceId)
    assert.equal(claims.nonce, 'no')
    assert.deepEqual(claims.amr, ['pwd'])
    assert.equal(claims.acr, '1')
    assert.equal(typeof claims.sid, 'string')

    const again = await visit(agent, await agent.get(url), ALICE)
    assert.deepEqual(again.seen, [])
    assert.ok(readAnswer(again.end).get('code'))
  })

  test('B-57: a requested claim needs consent like its scope, and is withheld from a client that may not request the scope', async () => {
    const agent = place.newAgent()
    const { issuer } = place.server
    const claims = JSON.stringify({ id_token: { email: null, name: null } })
    await visit(agent, await agent.get(authorizeUrl(issuer, { scope: 'openid' })), BOB)
    const silent = await agent.get(authorizeUrl(issuer, { scope: 'openid', prompt: 'none', claims }))
    assert.ok(silent.kind === 'left')
    assert.equal(readAnswer(silent).get('error'), 'consent_required')

    const other = place.newAgent()
    const redirect_uri = 'https://code.example.com/cb'
    const url = authorizeUrl(issuer, { client_id: 'code-only', redirect_uri, scope: 'openid', claims })
    const { end } = await visit(other, await other.get(url), ALICE)
    const response = await fetch(`${issuer}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`code-only:${encodeURIComponent(SECRET)}`)}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: readAnswer(end).get('code') ?? '',
        redirect_uri,
      }),
    })
    const idToken = decodeClaims(((await response.json()) as Record<string, string>).id_token ?? '')
    assert.equal(idToken.email, 'alice@example.com')
    assert.ok(!('name' in idToken))
  })
})
