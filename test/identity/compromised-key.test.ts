/** Withdrawing a compromised signing key takes effect on every node at once; a retired key still verifies old ID tokens. */
import assert from 'node:assert/strict'
import { createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createKeyring } from '../../packages/server/src/admin/keyring.ts'
import { openDataFolder } from '../../packages/server/src/store/database/data-folder.ts'
import { SEALED_KEY } from '../../packages/server/src/store/keys/key-rotation.ts'
import { openMasterKey } from '../../packages/server/src/store/keys/master-key.ts'
import { unseal } from '../../packages/server/src/store/keys/opaque.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import {
  addOperator,
  basic,
  decodeClaims,
  decodeHeader,
  SECRET,
  startGate,
  type TestGate,
} from '../support/identity.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { ALICE, authorizeUrl, openSignInPlace, readAnswer, type SignInPlace } from '../support/sign-in-place.ts'
import { connect } from '../support/stream-client.ts'
import { until } from '../support/until.ts'
import { visit } from '../support/visitor.ts'

onEveryEngineInLongRuns('a compromised key', (place) => {
  let gate: TestGate
  let other: TestServer
  let operator: string
  before(async () => {
    gate = await startGate(place())
    other = await startTestServer(place(), { flags: { '--issuer': gate.server.issuer } })
    await addOperator(gate)
    operator = await signInOperator()
  })
  after(async () => {
    await other.stop()
    await gate.stop()
  })

  const signInOperator = async () => (await gate.signIn({ username: 'olivia', client_id: 'console' })).access_token
  const admin = (method: string, path: string) =>
    fetch(gate.server.issuer + path, { method, headers: { authorization: `Bearer ${operator}` } })
  const kidsAt = async ({ port }: { port: number }): Promise<string[]> => {
    const response = await fetch(`http://localhost:${port}/.well-known/openid-configuration/jwks`)
    return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
  }

  /** The status of userinfo, query and stream on a node for a token, and whether introspection calls it active. */
  async function accessAt({ port }: { port: number }, token: string): Promise<(number | boolean)[]> {
    const at = `http://localhost:${port}`
    const authorization = `Bearer ${token}`
    const [userinfo, query, introspected, upgrade] = await Promise.all([
      fetch(`${at}/connect/userinfo`, { headers: { authorization } }),
      fetch(`${at}/query`, {
        method: 'POST',
        body: 'SELECT name FROM cataloguetables',
        headers: { authorization, 'content-type': 'text/plain; charset=utf-8' },
      }),
      fetch(`${at}/connect/introspect`, {
        method: 'POST',
        body: new URLSearchParams({ token }),
        headers: { authorization: basic('service', SECRET) },
      }).then(async (response) => (await response.json()) as { active: boolean }),
      connect(port, { headers: { authorization } }).then(
        ({ socket }) => {
          socket.terminate()
          return 101
        },
        (error: Error) => Number(/\d+$/.exec(error.message)?.[0]),
      ),
    ])
    await Promise.all([userinfo.arrayBuffer(), query.arrayBuffer()])
    return [userinfo.status, query.status, introspected.active, upgrade]
  }
  const ACCEPTED = [200, 200, true, 101]
  const REFUSED = [401, 401, false, 401]
  const isRefused = (token: string) =>
    until('both nodes refuse the token everywhere', 1000, async () => {
      const seen = [...(await accessAt(gate.server, token)), ...(await accessAt(other, token))]
      return String(seen) === String([...REFUSED, ...REFUSED])
    })

  function masterKey() {
    return openMasterKey(openDataFolder(place().dataFolder), undefined)
  }

  /** What an attacker with the database and the master key can do. */
  async function stealKey(kid: string): Promise<KeyObject> {
    const key = (await gate.stores.signingKeys.list()).find((candidate) => candidate.kid === kid)
    const der = unseal(key?.sealedPrivateKey ?? '', masterKey().derive('signing keys'), SEALED_KEY)
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  }
  function forge(like: string, key: KeyObject): string {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const jti = String(decodeClaims(like).jti)
    // Like ours, with a different random part.
    const random = randomUUID().replaceAll('-', '').slice(0, 8)
    const input = `${encode(decodeHeader(like))}.${encode({ ...decodeClaims(like), jti: random + jti.slice(random.length) })}`
    return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
  }

  test('a withdrawn key is no longer published, every node refuses its tokens everywhere, and another key signs', async () => {
    const { access_token, refresh_token } = await gate.signIn()
    const kid = String(decodeHeader(access_token).kid)
    const forged = forge(access_token, await stealKey(kid))
    for (const node of [gate.server, other]) {
      assert.deepEqual(await accessAt(node, access_token), ACCEPTED)
      assert.deepEqual(await accessAt(node, forged), ACCEPTED)
    }
    const stream = await connect(other.port, { headers: { authorization: `Bearer ${access_token}` } })
    stream.send({ Controller: 'Auth', Topic: 'Identify', Action: 'Sub' })
    const result = async () => ((await stream.next()).Data as { Result: string }).Result
    assert.equal(await result(), 'Success')

    assert.equal((await admin('DELETE', `/admin/keys/${kid}`)).status, 409)
    assert.equal((await admin('DELETE', `/admin/keys/${kid}?compromised=perhaps`)).status, 400)
    // The reply comes once the withdrawal is stored. Before that, the server generates the next key, which may take long.
    assert.equal((await admin('DELETE', `/admin/keys/${kid}?compromised=true`)).status, 204)
    const began = performance.now()
    assert.equal(await result(), 'Reject')
    assert.ok(performance.now() - began < 1000, `the stream closed after ${performance.now() - began} ms`)
    await isRefused(access_token)
    await isRefused(forged)
    for (const node of [gate.server, other])
      await until('the key is no longer published', 1000, async () => {
        const kids = await kidsAt(node)
        return kids.length === 1 && !kids.includes(kid)
      })

    // The grants stay valid: the next refresh returns a token that is accepted, also by the stream.
    const form = { grant_type: 'refresh_token', refresh_token, client_id: 'cli' }
    const fresh = String((await gate.post('/connect/token', form)).body.access_token)
    assert.notEqual(decodeHeader(fresh).kid, kid)
    assert.deepEqual(await accessAt(other, fresh), ACCEPTED)
    const Data = { Provider: 'Bearer', AccessToken: fresh }
    const renewed = await stream.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data })
    assert.equal((renewed.Data as { Result: string }).Result, 'Success')
    stream.socket.terminate()

    operator = await signInOperator()
    const { items } = (await (await admin('GET', '/admin/keys')).json()) as { items: { kid: string; state: string }[] }
    assert.deepEqual(items.map(({ kid: id, state }) => [id === kid, state]).sort(), [
      [false, 'signing'],
      [true, 'compromised'],
    ])
    const audit = await (await admin('GET', '/admin/audit?event=key&limit=10')).text()
    assert.match(audit, new RegExp(`"key.retired"[^}]*"kid":"${kid}","reason":"compromised"`))
    assert.match(audit, /"key.created"[^}]*"reason":"compromised"/)
  })

  test('a key stays withdrawn after a restart', async () => {
    const { access_token } = await gate.signIn()
    const forged = forge(access_token, await stealKey(String(decodeHeader(access_token).kid)))
    assert.equal((await admin('DELETE', `/admin/keys/${decodeHeader(access_token).kid}?compromised=true`)).status, 204)
    operator = await signInOperator()
    const restarted = await startTestServer(place(), { flags: { '--issuer': gate.server.issuer } })
    for (const token of [access_token, forged]) assert.deepEqual(await accessAt(restarted, token), REFUSED)
    await restarted.stop()
  })

  test('a retired key can be withdrawn too, and the current one continues to sign', async () => {
    const { access_token } = await gate.signIn()
    const kid = String(decodeHeader(access_token).kid)
    assert.equal((await admin('POST', '/admin/keys')).status, 201)
    const keyring = createKeyring({
      keys: gate.stores.signingKeys,
      sealingKey: masterKey().derive('signing keys'),
      clock: Date.now,
      publish: gate.stores.events.append,
    })
    await keyring.rotate('RS256', Date.now())
    assert.equal((await admin('DELETE', `/admin/keys/${kid}`)).status, 204)
    await until('both nodes sign with the next key', 2000, async () => {
      const kids = await Promise.all([gate.signIn(), gate.signIn()])
      return kids.every((tokens) => decodeHeader(tokens.access_token).kid !== kid)
    })
    const next = await gate.signIn()
    assert.deepEqual(await accessAt(other, access_token), ACCEPTED)
    const used = operator
    operator = await signInOperator()
    assert.notEqual(decodeHeader(operator).kid, decodeHeader(used).kid)
    assert.equal((await admin('DELETE', `/admin/keys/${kid}?compromised=true`)).status, 204)
    await isRefused(access_token)
    assert.deepEqual(await accessAt(other, next.access_token), ACCEPTED)
    assert.equal(decodeHeader((await gate.signIn()).access_token).kid, decodeHeader(next.access_token).kid)
  })

  test('C-52: no token request fails while keys are withdrawn one after another', async () => {
    let cutting = true
    const cuts = (async () => {
      for (let count = 0; count < 3; count++) {
        const token = await signInOperator()
        const response = await fetch(`${gate.server.issuer}/admin/keys/${decodeHeader(token).kid}?compromised=true`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${token}` },
        })
        assert.ok([204, 401].includes(response.status), String(response.status))
      }
      cutting = false
    })()
    const statuses = new Set<number>()
    while (cutting) {
      const both = [gate.server, other].map(async ({ port }) => {
        const response = await fetch(`http://localhost:${port}/connect/token`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'client_credentials' }),
          headers: { authorization: basic('service', SECRET) },
        })
        await response.arrayBuffer()
        statuses.add(response.status)
      })
      await Promise.all(both)
    }
    await cuts
    assert.deepEqual([...statuses], [200])
  })
})

onEveryEngineInLongRuns('hints signed by older keys', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())

  test('B-54: an id_token_hint signed by a retired key is accepted, also when the key is no longer published; by a withdrawn key it is invalid_request', async () => {
    const { server, clock, stores } = place
    const agent = place.newAgent()
    const ask = async (changes: Record<string, string>) =>
      readAnswer((await visit(agent, await agent.get(authorizeUrl(server.issuer, changes)), ALICE)).end)
    const hint = (await ask({ response_type: 'id_token' })).get('id_token') ?? ''
    const kid = String(decodeHeader(hint).kid)
    const keyring = createKeyring({
      keys: stores.signingKeys,
      sealingKey: openMasterKey(openDataFolder(at().dataFolder), undefined).derive('signing keys'),
      clock,
      publish: stores.events.append,
    })
    const published = async () => await (await fetch(`${server.issuer}/.well-known/openid-configuration/jwks`)).text()

    await keyring.rotate('RS256', clock())
    await keyring.retire(kid)
    await until('another key signs', 2000, async () => {
      const token = (await ask({ response_type: 'id_token', prompt: 'none' })).get('id_token') ?? ''
      return decodeHeader(token).kid !== kid
    })
    const silent = { prompt: 'none', id_token_hint: hint }
    assert.ok((await published()).includes(kid))
    assert.ok((await ask(silent)).has('code'))
    // Longer than the lifetime of any token: the key is no longer published, but still known.
    for (let hours = 0; hours < 33; hours += 11) {
      clock.advance(11 * 3600_000)
      assert.ok((await ask(silent)).has('code'), `after ${hours + 11} hours`)
    }
    // The server may not know yet that the key is retired: only that there is another one.
    await until('the key is no longer published', 2000, async () => !(await published()).includes(kid))

    await keyring.withdraw(kid)
    await until('the hint is refused', 1000, async () => (await ask(silent)).get('error') === 'invalid_request')
  })
})
