/** An issuer with a path: every URL is below it, and the issuer is the same string everywhere. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { type Gatehouse, planDeclaration, startGatehouse } from '../support/providers/gatehouse.ts'
import { POST_LOGOUT } from '../support/providers/provider.ts'
import { assertSaysAll } from './document-rows.ts'
import { createTrial } from './trial.ts'

describe('an issuer with a path', () => {
  let gatehouse: Gatehouse
  let leave: () => Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    const port = await freePort()
    gatehouse = await startGatehouse(opened.place, {
      declaration: planDeclaration('https://127.0.0.1:1/'),
      flags: { '--port': String(port), '--issuer': `http://localhost:${port}/trading/identity` },
    })
  })
  after(async () => {
    await gatehouse.stop()
    await leave()
  })

  test('C-120: discovery is served below the issuer and at the RFC 8414 path, and every endpoint is below the path', async () => {
    const { issuer, metadata } = gatehouse
    const { origin, pathname } = new URL(issuer)
    const other = await fetch(`${origin}/.well-known/oauth-authorization-server${pathname}`)
    assert.equal(other.status, 200)
    assertSaysAll((await other.json()) as Record<string, unknown>, metadata)
    for (const [name, value] of Object.entries(metadata))
      if (/_(endpoint|uri|iframe)$/.test(name)) assert.ok(String(value).startsWith(`${issuer}/`), `${name} ${value}`)
  })

  test('C-120: a complete flow with sign-in, consent, tokens and sign-out works', async () => {
    const trial = createTrial(gatehouse, 'C', false)
    const { idTokens, parameters } = await trial.succeed({ response_type: 'code id_token' })
    assert.equal(parameters.get('iss'), gatehouse.issuer)
    assert.equal(idTokens[0]?.claims.iss, gatehouse.issuer)
    const url = new URL(gatehouse.metadata.end_session_endpoint)
    url.searchParams.set('id_token_hint', idTokens[0]?.raw ?? '')
    url.searchParams.set('post_logout_redirect_uri', POST_LOGOUT)
    const end = await trial.agent.get(url)
    assert.ok(end.kind === 'left')
    assert.equal(end.url.href, POST_LOGOUT)
  })
})
