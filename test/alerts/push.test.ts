/** Alerts to browsers: RFC 8291 encryption, RFC 8292 identification, subscriptions, and push services that know a browser no more. */
import assert from 'node:assert/strict'
import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { decrypt } from 'http_ece'
import { encryptPush, readPushKeys } from '../../packages/server/src/alerts/push/encrypt.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { ALICE } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { AlertClient } from './alert-client.ts'

test('RFC 8291 appendix A: the example is encrypted as it is there', () => {
  const keys = readPushKeys(
    'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    'BTBZMqHH6r4Tts7J_aSIgg',
  )
  assert.ok(keys)
  const encrypted = encryptPush(Buffer.from('When I grow up, I want to be a watermelon'), keys, {
    privateKey: Buffer.from('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw', 'base64url'),
    salt: Buffer.from('DGv6ra1nlYgDCS1FRnbzlw', 'base64url'),
  })
  assert.equal(
    encrypted.toString('base64url'),
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  )
})

const point = (bytes: Buffer) => bytes.toString('base64url')
const FORGED: readonly [what: string, p256dh: string, auth: string][] = [
  [
    'a point that is not on the curve',
    point(Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)])),
    point(Buffer.alloc(16)),
  ],
  ['a compressed point', point(Buffer.concat([Buffer.from([2]), Buffer.alloc(32, 1)])), point(Buffer.alloc(16))],
  ['a short secret', point(newBrowser().publicKey), point(Buffer.alloc(15))],
  ['no key at all', '', ''],
]

interface Browser {
  readonly publicKey: Buffer
  readonly auth: Buffer
  readonly ecdh: ReturnType<typeof createECDH>
}

function newBrowser(): Browser {
  const ecdh = createECDH('prime256v1')
  return { publicKey: ecdh.generateKeys(), auth: randomBytes(16), ecdh }
}

interface Pushed {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

onEveryEngineInLongRuns('alerts to browsers', (place) => {
  let server: TestServer
  let service: Server
  let origin: string
  let alice: AlertClient
  const pushed: Pushed[] = []
  const statuses = new Map<string, number>()
  before(async () => {
    service = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const path = request.url ?? ''
        pushed.push({ path, headers: request.headers, body: Buffer.concat(chunks) })
        response.writeHead(statuses.get(path) ?? 201).end()
      })
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--alert-private': 'true' } })
    alice = await AlertClient.signIn(server, ALICE)
    const admin = await AlertClient.signIn(server)
    await admin.query(
      "CREATE TABLE bells (id Integer PRIMARY KEY, text Text NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
  })
  after(async () => {
    await server.stop()
    service.closeAllConnections()
    service.close()
  })

  const subscription = (path: string, { publicKey, auth }: Browser) => ({
    endpoint: origin + path,
    expirationTime: null,
    keys: { p256dh: point(publicKey), auth: point(auth) },
  })
  const ring = (id: number, text: string) => alice.query(`INSERT INTO bells VALUES (${id}, '${text}')`)

  test('each browser of the owner gets it, encrypted for it alone, and knows who sends', async () => {
    const [one, other] = [newBrowser(), newBrowser()]
    const { key, items } = await alice.call('GET', '/alerts/push')
    assert.deepEqual(items, [])
    await alice.call('POST', '/alerts/push', subscription('/one', one))
    const added = await alice.call('POST', '/alerts/push', subscription('/other', other))
    assert.ok(added.id)
    const { id } = await alice.create({
      name: 'Bells',
      statement: 'SELECT id, text FROM bells',
      mode: 'event',
      group: '0 seconds',
      title: '{{text}}',
      channels: ['push'],
    })
    await until('it is watched', 10_000, async () => (await alice.get(id)).watched !== null)
    await ring(1, 'ding')
    await until('both have it', 5_000, () => pushed.length === 2)
    const got = pushed.find(({ path }) => path === '/one')
    assert.ok(got)
    const plain = decrypt(got.body, { version: 'aes128gcm', privateKey: one.ecdh, authSecret: point(one.auth) })
    const message = JSON.parse(plain.toString())
    assert.equal(message.title, 'ding')
    assert.equal(message.url, `${server.issuer}/console/alerts/${id}`)
    assert.throws(() =>
      decrypt(got.body, { version: 'aes128gcm', privateKey: other.ecdh, authSecret: point(other.auth) }),
    )
    assert.equal(got.headers['content-encoding'], 'aes128gcm')
    assert.equal(got.headers.ttl, '86400')
    checkIdentification(String(got.headers.authorization), key)
  })

  /** RFC 8292 §2 and §3. */
  function checkIdentification(authorization: string, key: string): void {
    const [, token = '', k] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? []
    assert.equal(k, key)
    const [header = '', claims = '', signature = ''] = token.split('.')
    const bytes = Buffer.from(key, 'base64url')
    const jwk = { kty: 'EC', crv: 'P-256', x: point(bytes.subarray(1, 33)), y: point(bytes.subarray(33)) }
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    const isSigned = verify(
      'sha256',
      Buffer.from(`${header}.${claims}`),
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
    assert.ok(isSigned)
    const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    assert.equal(aud, origin)
    assert.ok(exp > Date.now() / 1000 && exp <= Date.now() / 1000 + 86_400)
    assert.match(sub, /^(mailto|https):/)
  }

  test('a browser that the push service knows no more is forgotten; the others get it', async () => {
    statuses.set('/one', 410)
    pushed.length = 0
    await ring(2, 'dong')
    await until('both were tried', 5_000, () => pushed.length === 2)
    await until('one is forgotten', 5_000, async () => (await alice.call('GET', '/alerts/push')).items.length === 1)
  })

  test('a long text is cut to what a push service takes', async () => {
    pushed.length = 0
    await ring(3, 'é'.repeat(4_000))
    await until('it has arrived', 5_000, () => pushed.length === 1)
    assert.ok((pushed[0]?.body.length ?? 0) <= 4_096)
  })

  for (const [what, p256dh, auth] of FORGED)
    test(`422: ${what}`, async () => {
      const response = await alice.request('POST', '/alerts/push', {
        endpoint: `${origin}/forged`,
        keys: { p256dh, auth },
      })
      assert.equal(response.status, 422, await response.text())
    })

  test("ten browsers at most; others' cannot be removed, and a browser belongs to whom it was given last", async () => {
    const admin = await AlertClient.signIn(server)
    const browser = newBrowser()
    const [{ id }] = (await alice.call('GET', '/alerts/push')).items
    assert.equal((await admin.request('DELETE', `/alerts/push/${id}`)).status, 404)
    for (let each = 1; each < 10; each++)
      await alice.call('POST', '/alerts/push', subscription(`/b${each}`, newBrowser()))
    const eleventh = await alice.request('POST', '/alerts/push', subscription('/b10', browser))
    assert.equal(eleventh.status, 409)
    await admin.call('POST', '/alerts/push', subscription('/b1', browser))
    assert.equal((await alice.call('GET', '/alerts/push')).items.length, 9)
    await alice.call('DELETE', `/alerts/push/${id}`)
    assert.equal((await alice.call('GET', '/alerts/push')).items.length, 8)
  })
})

onEveryEngineInLongRuns('browsers of users who are deleted', (place) => {
  test('are forgotten with them', async () => {
    const server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    const database = await openDatabase({ dataFolder: place().dataFolder, url: place().databaseUrl })
    try {
      const admin = await AlertClient.signIn(server)
      const bob = { username: 'bob', password: 'a password of bob' }
      await admin.call('POST', '/admin/users', { ...bob, roles: ['trader'] })
      const { publicKey, auth } = newBrowser()
      const keys = { p256dh: point(publicKey), auth: point(auth) }
      const owner = await AlertClient.signIn(server, bob)
      await owner.call('POST', '/alerts/push', { endpoint: 'https://push.example.com/bob', keys })
      const count = async () => (await database.db.selectFrom('push_subscriptions').select('id').execute()).length
      assert.equal(await count(), 1)
      await admin.call('DELETE', '/admin/users/bob')
      assert.equal(await count(), 0)
    } finally {
      await database.close()
      await server.stop()
    }
  })
})

onEveryEngineInLongRuns('alerts to browsers, elsewhere', (place) => {
  test('422: a push service at a private address, or without https', async () => {
    const server = await startTestServer(place(), { flags: { '--demo': 'true' } })
    try {
      const alice = await AlertClient.signIn(server, ALICE)
      const { publicKey, auth } = newBrowser()
      const keys = { p256dh: point(publicKey), auth: point(auth) }
      for (const endpoint of [
        'https://10.0.0.1/push',
        'https://[::1]/push',
        'http://push.example.com/',
        'file:///etc/passwd',
      ]) {
        const response = await alice.request('POST', '/alerts/push', { endpoint, keys })
        assert.equal(response.status, 422, endpoint)
      }
    } finally {
      await server.stop()
    }
  })
})
