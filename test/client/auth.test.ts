/** The sources of tokens of the client library against the real server, with its clock and its faults. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import {
  type Auth,
  type AuthEnv,
  AuthError,
  clientCredentials,
  device,
  Gatehouse,
  type GatehouseOptions,
  GrantedTokens,
  getToken,
  memory,
  password,
  refreshToken,
  type TokenSource,
  type TokenStorage,
} from '../../packages/client/src/index.ts'
import { ALICE, post, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const CLI = { clientId: 'demo-cli', ...ALICE }
const SERVICE = { clientId: 'demo-service', clientSecret: 'demo-service-secret' }
const clock = createTestClock()
let server: TestServer
let leave: () => Promise<void>
const clients: { close(): void }[] = []

/** A client that counts its requests to the token endpoint, by grant. */
function open<Source extends TokenSource>(auth: Auth<Source>, more: GatehouseOptions<Source> = {}) {
  const grants: (string | null)[] = []
  const gate = new Gatehouse<Source>(server.issuer, {
    auth,
    fetch: (url, init) => {
      if (url.endsWith('/connect/token')) grants.push(new URLSearchParams(String(init?.body)).get('grant_type'))
      return (more.fetch ?? fetch)(url, init)
    },
  })
  clients.push(gate)
  return { gate, grants }
}
const ask = (gate: Gatehouse): PromiseLike<unknown> => gate.query`select 1 as one from trades limit 1`

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, { clock, flags: { '--demo': 'true' } })
})
after(async () => {
  for (const client of clients) client.close()
  await server.stop()
  await leave()
})

test('many requests share one token and one request for it', async () => {
  const { gate, grants } = open(password(CLI))
  await Promise.all(Array.from({ length: 20 }, () => ask(gate)))
  assert.deepEqual(grants, ['password'])
  const service = open(clientCredentials({ ...SERVICE, scope: 'Platform/Market' }))
  assert.deepEqual(await ask(service.gate), [{ one: 1 }])
  assert.deepEqual(service.grants, ['client_credentials'])
})

test('a sign-out while tokens are renewed is not undone by those that arrive late, which are revoked too', async () => {
  const storage = memory()
  const arrived = Promise.withResolvers<void>()
  const signedOut = Promise.withResolvers<void>()
  let lateToken = ''
  const { gate, grants } = open(password({ ...CLI, scope: 'openid offline_access Platform/Market', storage }), {
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (grants.at(-1) !== 'refresh_token' || !url.endsWith('/connect/token')) return response
      lateToken = String(Reflect.get(Object(await response.clone().json()), 'access_token'))
      arrived.resolve()
      await signedOut.promise
      return response
    },
  })
  const first = await gate.auth.token()
  const late = gate.auth.token(first)
  await arrived.promise
  await gate.auth.signOut()
  signedOut.resolve()
  await assert.rejects(late, (error) => error instanceof AuthError && error.code === 'login_required')
  assert.equal(await storage.getItem(gate.auth.key), null)
  const headers = { authorization: `Bearer ${lateToken}` }
  assert.equal((await fetch(`${server.issuer}/connect/userinfo`, { headers })).status, 401)
})

test('a token is renewed before it expires, and by how much the clocks differ does not matter', async (t) => {
  for (const skew of [-86_400_000, 86_400_000]) {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + skew })
    const { gate, grants } = open(password(CLI))
    await ask(gate)
    await ask(gate)
    t.mock.timers.setTime(Date.now() + 3_550_000)
    await Promise.all([ask(gate), ask(gate)])
    assert.deepEqual(grants, ['password', 'refresh_token'], `skew ${skew}`)
    t.mock.timers.reset()
  }
})

test('a refused token is replaced once: the request is repeated with another', async () => {
  const { gate, grants } = open(password(CLI))
  await ask(gate)
  const revoked = await gate.auth.token()
  await post(server, '/connect/revocation', { token: revoked, client_id: 'demo-cli' })
  await Promise.all([ask(gate), ask(gate)])
  assert.deepEqual(grants, ['password', 'refresh_token'])
  const stubborn = open(getToken(() => revoked))
  await assert.rejects(Promise.resolve(ask(stubborn.gate)), { name: 'AuthError', status: 401 })
})

test('a wrong password is an AuthError, and is asked for again the next time', async () => {
  let given = 'wrong'
  const { gate } = open(password({ ...CLI, password: () => given }))
  await assert.rejects(Promise.resolve(ask(gate)), (error) => {
    assert.ok(error instanceof AuthError)
    assert.deepEqual([error.code, error.status, error.retryable], ['invalid_grant', 400, false])
    return true
  })
  given = ALICE.password
  await ask(gate)
})

test('tokens are kept in a storage that two clients share, and renewed by one of them', async (t) => {
  const storage = memory()
  const { refresh_token } = await signIn(server)
  const first = open(refreshToken({ clientId: 'demo-cli', refreshToken: refresh_token, storage }))
  await ask(first.gate)
  const second = open(refreshToken({ clientId: 'demo-cli', refreshToken: 'not used', storage }))
  await ask(second.gate)
  assert.deepEqual([first.grants, second.grants], [['refresh_token'], []])
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_590_000 })
  // Used twice, the refresh token would revoke its grant.
  await Promise.all([ask(first.gate), ask(second.gate), ask(first.gate)])
  assert.equal(first.grants.length + second.grants.length, 2)
  t.mock.timers.reset()
  await Promise.all([ask(first.gate), ask(second.gate)])
  await first.gate.auth.signOut()
  const key = `gatehouse:${server.issuer}:demo-cli`
  assert.equal(await storage.getItem(key), null)
})

test('a storage that programs share brings its own lock, in which the tokens are renewed', async (t) => {
  let [turn, inside, most] = [Promise.resolve(), 0, 0]
  const storage: TokenStorage = {
    ...memory(),
    lock(_key, act) {
      const result = turn.then(async () => {
        most = Math.max(most, ++inside)
        return act().finally(() => inside--)
      })
      turn = result.then(
        () => {},
        () => {},
      )
      return result
    },
  }
  const open2 = () => open(password({ ...CLI, storage }))
  const [first, second] = [open2(), open2()]
  await Promise.all([ask(first.gate), ask(second.gate)])
  assert.deepEqual([...first.grants, ...second.grants], ['password'], 'one signs in for both')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_590_000 })
  await Promise.all([ask(first.gate), ask(second.gate)])
  assert.deepEqual([...first.grants, ...second.grants].sort(), ['password', 'refresh_token'])
  assert.equal(most, 1)
})

test('a grant of your own is kept and refreshed like the others, and says who the user is', async () => {
  let started = 0
  const auth = (env: AuthEnv) =>
    new GrantedTokens(env, { clientId: 'demo-cli' }, async () => {
      started++
      const { access_token, refresh_token } = await signIn(server)
      return { accessToken: access_token, refreshToken: refresh_token, renewAt: 0 }
    })
  const { gate, grants } = open(auth)
  await ask(gate)
  await ask(gate)
  assert.deepEqual([started, grants], [1, ['refresh_token']])
  assert.equal((await gate.auth.user()).preferred_username, 'alice')
})

test('signing out revokes the tokens', async () => {
  const { gate } = open(password(CLI))
  const token = await gate.auth.token()
  await gate.auth.signOut()
  const left = open(getToken(() => token))
  await assert.rejects(Promise.resolve(ask(left.gate)), { status: 401 })
})

test('a device shows a code, waits, and signs in when the user agrees', async () => {
  const agent = createUserAgent({ home: server.issuer })
  let polls = 0
  const { gate, grants } = open(
    device({
      clientId: 'demo-device',
      scope: 'openid offline_access Platform/Market',
      prompt({ userCode, url, urlComplete, expiresIn }) {
        assert.deepEqual([urlComplete, expiresIn], [`${url}?user_code=${userCode}`, 600])
      },
    }),
    {
      // The server waits five seconds between two polls, by its own clock.
      fetch: async (url, init) => {
        if (url.endsWith('/connect/token') && ++polls === 2) await agree()
        clock.advance(6000)
        const response = await fetch(url, init)
        if (!url.endsWith('/deviceauthorization')) return response
        const started = (await response.json()) as { verification_uri_complete: string }
        address = started.verification_uri_complete
        return Response.json({ ...started, interval: 0.01 })
      },
    },
  )
  let address = ''
  const agree = async (): Promise<void> => {
    await visit(agent, await agent.get(address), ALICE)
  }
  await ask(gate)
  assert.equal(grants.length, 2)
  const waiting = new AbortController()
  const impatient = open(device({ clientId: 'demo-device', prompt: () => waiting.abort(), signal: waiting.signal }))
  await assert.rejects(impatient.gate.auth.token(), { name: 'AbortError' })
})

test('nothing is sent to a server whose document names another issuer', async (t) => {
  const received: string[] = []
  const other = createServer((request, response) => {
    received.push(request.url ?? '')
    response.end(JSON.stringify({ issuer: server.issuer, token_endpoint: `http://${request.headers.host}/steal` }))
  })
  await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    other.closeAllConnections()
    other.close()
  })
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const gate = new Gatehouse(url, { auth: password(CLI) })
  await assert.rejects(Promise.resolve(ask(gate)), { code: 'client.issuer' })
  assert.deepEqual(received, ['/.well-known/openid-configuration'])
  assert.throws(() => new Gatehouse('gate.example.com'), /https:/)
})

test('a busy identity server is asked again', async () => {
  let failures = 2
  const { gate, grants } = open(password(CLI), {
    fetch: async (url, init) => {
      if (url.endsWith('/connect/token') && failures-- > 0)
        return Response.json({ error: 'temporarily_unavailable' }, { status: 503, headers: { 'retry-after': '0' } })
      return fetch(url, init)
    },
  })
  await ask(gate)
  assert.equal(grants.length, 3)
})
