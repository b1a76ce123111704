/** npm `oidc-provider`, a certified provider, as the other side: create, private_key_jwt, logout there and back. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import OidcProvider from 'oidc-provider'
import { openPlace } from '../support/engines.ts'
import { openProviderPlace, type ProviderPlace } from '../support/providers/provider-place.ts'
import { decodeClaims, readAnswer } from '../support/sign-in-place.ts'
import { createUserAgent, type Departure, type Page, requirePage, type UserAgent } from '../support/user-agent.ts'
import { reply, signIn } from '../support/visitor.ts'

let place: ProviderPlace
let leave: () => Promise<void>
let upstream: http.Server
let issuer: string
before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  place = await openProviderPlace(opened.place)
  upstream = http.createServer()
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const base = `${place.server.issuer}/external/keyed`
  const declared = { issuer, client_id: 'keyed', private: true, auth_method: 'private_key_jwt', logout: true }
  const { status, body } = await place.admin('POST', '/admin/providers', {
    ...{ id: 'keyed', name: 'Certified', provision: 'create', username_claim: 'sub', require: { sub: ['ann', 'ben'] } },
    ...declared,
  })
  assert.equal(status, 201, JSON.stringify(body))
  assert.equal(body.jwks_uri, `${base}/jwks`)
  const jwks = await (await fetch(String(body.jwks_uri))).json()
  const provider = new OidcProvider(issuer, {
    clients: [
      {
        client_id: 'keyed',
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks,
        redirect_uris: [`${base}/callback`],
        post_logout_redirect_uris: [`${base}/signed-out`],
        backchannel_logout_uri: `${base}/backchannel-logout`,
        backchannel_logout_session_required: true,
      },
    ],
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
    scopes: ['openid', 'profile', 'email'],
    cookies: { keys: ['a key that signs cookies'] },
    features: { backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) => fetch(url, options),
  })
  upstream.on('request', provider.callback())
})
after(async () => {
  await place.close()
  upstream.closeAllConnections()
  await new Promise((resolve) => upstream.close(resolve))
  await leave()
})

/** Signs in there, agrees, and comes back. */
async function through(here: UserAgent, there: UserAgent, username: string): Promise<Page | Departure> {
  let at = await there.get(await place.start(here, {}, 'keyed'))
  for (let pages = 0; at.kind === 'page' && pages < 4; pages++)
    at = /type="password"/.test(at.body)
      ? await signIn(there, at, { username, password: 'anything' })
      : await reply(there, at, 'agree')
  assert.equal(at.kind, 'left', at.kind === 'page' ? at.body : '')
  return here.get(at.kind === 'left' ? at.url : '')
}

test('a user is created; a sign-out here ends the session there, whose logout token is taken', async () => {
  const [here, there] = [place.newAgent(), createUserAgent({ home: issuer })]
  const end = await through(here, there, 'ann')
  const claims = decodeClaims(readAnswer(end).get('id_token') ?? '')
  assert.deepEqual(claims.amr, ['fed'])
  assert.equal((await place.stores.users.findById(String(claims.sub)))?.username, 'ann')

  // A second browser of the same person at the same session there.
  const other = place.newAgent()
  const again = await other.get(asUrl(await there.get(await place.start(other, {}, 'keyed'))))
  const session = String(decodeClaims(readAnswer(again).get('id_token') ?? '').sid)
  assert.ok(await place.stores.sessions.findById(session))

  const account = requirePage(await here.get('/account'))
  const form = account.forms.find(({ id }) => id === 'account-sign-out') ?? assert.fail(account.body)
  const leaving = requirePage(await here.submit(form))
  const onward = /id="signed-out-continue" href="([^"]+)"/.exec(leaving.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  assert.ok(onward.startsWith(`${issuer}/session/end?id_token_hint=`), leaving.body)
  const asked = requirePage(await there.get(onward))
  const back = await there.submit(asked.forms[0] ?? assert.fail(asked.body), { logout: 'yes' })
  const done = requirePage(await here.get(asUrl(back)))
  assert.equal(done.url.pathname, '/external/keyed/signed-out')
  assert.match(done.body, /signed out/)
  // Back-channel: the session of the other browser has ended too.
  assert.equal(await place.stores.sessions.findById(session), undefined)
})

function asUrl(end: Page | Departure): URL {
  assert.equal(end.kind, 'left', end.kind === 'page' ? end.body : '')
  return end.kind === 'left' ? end.url : assert.fail()
}
