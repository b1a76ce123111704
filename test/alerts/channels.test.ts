/** Channels of alerts: definitions, secrets, and the delivery that tests one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { startReceiver, verify, type WebhookReceiver } from '../support/webhook-receiver.ts'

const DAY_MS = 24 * 3_600_000

onEveryEngineInLongRuns('channels of alerts', (place) => {
  const clock = createTestClock()
  let server: TestServer
  let receiver: WebhookReceiver
  let token: string
  before(async () => {
    receiver = await startReceiver()
    server = await startTestServer(place(), { flags: { '--demo': 'true' }, clock })
    token = (await signIn(server, ADMIN)).access_token
  })
  after(async () => {
    await server.stop()
    await receiver.stop()
  })

  // biome-ignore lint/suspicious/noExplicitAny: replies have many shapes
  async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> {
    const response = await fetch(`http://127.0.0.1:${server.port}/admin/channels${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'if-match': '*' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const declare = (members: object) => call('POST', '', { kind: 'webhook', private: true, ...members })

  test('a key that the server made is shown once, and signs as Standard Webhooks 1.0 has it', async () => {
    const created = await declare({ name: 'made', url: `${receiver.origin}/made` })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const { secret, ...shown } = created.body
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.deepEqual((await call('GET', '/made')).body, shown)
    const tested = await call('POST', '/made/test')
    assert.deepEqual(tested.body, { delivered: true, status: 204, error: null })
    const got = receiver.received.at(-1)
    assert.ok(got)
    verify(got, secret)
    assert.throws(() => verify({ ...got, text: got.text.replace('alert.test', 'alert.firing') }, secret))
    assert.equal(got.body.type, 'alert.test')
    assert.equal(got.headers['webhook-id']?.includes('.'), false)
  })

  test('a change keeps the key, unless it names another', async () => {
    const { secret } = (await declare({ name: 'kept', url: `${receiver.origin}/before` })).body
    const changed = await call('PATCH', '/kept', { url: `${receiver.origin}/kept` })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    assert.equal(changed.body.secret, undefined)
    await call('POST', '/kept/test')
    const got = receiver.received.at(-1)
    assert.ok(got)
    assert.equal(got.path, '/kept')
    verify(got, secret)
    const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    await call('PATCH', '/kept', { secret: other })
    await call('POST', '/kept/test')
    const next = receiver.received.at(-1)
    assert.ok(next)
    verify(next, other)
  })

  test('after a rotation both keys sign for 24 hours, then the new one alone', async () => {
    const before = (await declare({ name: 'rotated', url: `${receiver.origin}/rotated` })).body.secret
    const { secret } = (await call('POST', '/rotated/rotate')).body
    assert.notEqual(secret, before)
    const send = async () => {
      await call('POST', '/rotated/test')
      const got = receiver.received.at(-1)
      assert.ok(got)
      return got
    }
    const both = await send()
    verify(both, before)
    verify(both, secret)
    assert.equal(both.headers['webhook-signature']?.split(' ').length, 2)
    clock.advance(DAY_MS)
    token = (await signIn(server, ADMIN)).access_token
    const one = await send()
    assert.equal(one.headers['webhook-signature']?.split(' ').length, 1)
  })

  test('redirects are not followed, and what the receiver answers is reported', async () => {
    await declare({ name: 'moved', url: `${receiver.origin}/moved` })
    receiver.answer((_request, response) => response.writeHead(302, { location: `${receiver.origin}/there` }).end())
    const before = receiver.received.length
    const { body } = await call('POST', '/moved/test')
    receiver.answer((_request, response) => response.writeHead(204).end())
    assert.equal(body.delivered, false)
    assert.equal(body.status, 302)
    assert.match(body.error, /redirects are not followed/)
    assert.equal(receiver.received.length, before + 1)
  })

  test('with format slack or teams the secret is the address, and nothing is markup but the title', async () => {
    const address = `${receiver.origin}/services/T0/B0/x`
    const declared = await declare({ name: 'slack', format: 'slack', secret: address })
    assert.equal(declared.status, 201, JSON.stringify(declared.body))
    assert.equal(JSON.stringify(declared.body).includes('services'), false)
    await call('POST', '/slack/test')
    const message = receiver.received.at(-1)
    assert.equal(message?.path, '/services/T0/B0/x')
    assert.deepEqual(Object.keys(message?.body), ['text'])
    assert.equal(message?.headers['webhook-signature'], undefined)
    await declare({ name: 'teams', format: 'teams', secret: address })
    await call('POST', '/teams/test')
    const [attachment] = receiver.received.at(-1)?.body.attachments ?? []
    assert.equal(attachment.contentType, 'application/vnd.microsoft.card.adaptive')
    assert.equal(attachment.content.body[0].inlines[0].type, 'TextRun')
  })

  const FAULTS: readonly [what: string, members: object, path: string][] = [
    ['an address without https', { private: false, url: 'http://hooks.example.com/' }, 'url'],
    ['a private address', { private: false, url: 'https://10.1.2.3/' }, 'url'],
    ['a private IPv6 address', { private: false, url: 'https://[::ffff:127.0.0.1]/' }, 'url'],
    ['no address', {}, 'url'],
    ['a short key', { url: 'https://a.example/', secret: 'whsec_c2hvcnQ=' }, 'secret'],
    ['a key of another form', { url: 'https://a.example/', secret: 'a-password' }, 'secret'],
    ['an address and a format that has it as its secret', { format: 'slack', url: 'https://a.example/' }, 'url'],
    ['a format without its address', { format: 'slack' }, 'secret'],
    ['the name of a built-in channel', { name: 'mail', url: 'https://a.example/' }, 'name'],
    ['an unknown scope', { url: 'https://a.example/', use: 'Platform/Nothing' }, 'use'],
  ]
  for (const [what, members, path] of FAULTS)
    test(`${what} is refused`, async () => {
      const { status, body } = await declare({ name: 'wrong', ...members })
      assert.equal(status, 422, JSON.stringify(body))
      assert.ok(JSON.stringify(body).includes(path), JSON.stringify(body))
    })

  test('a name with a private address is not called', async () => {
    await call('POST', '', { kind: 'webhook', name: 'rebound', url: 'https://localhost:1/' })
    const { body } = await call('POST', '/rebound/test')
    assert.match(body.error, /private address/)
  })
})
