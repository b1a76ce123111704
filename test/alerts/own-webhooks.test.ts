/** `alert_own_webhooks`: alerts name addresses of their owners, which are signed, guarded and nobody else's. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE } from '../support/demo-user.ts'
import { onSqlite } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { startReceiver, verify, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { AlertClient } from './alert-client.ts'

const LEVEL = { statement: 'SELECT id, level FROM levels', when: 'level > 10', group: '0 seconds' }
const ALLOWED = { '--alert-own-webhooks': 'true' }

onSqlite('webhooks of the owners of alerts', (place) => {
  let server: TestServer
  let receiver: WebhookReceiver
  let alice: AlertClient
  const start = async (flags: Readonly<Record<string, string>>): Promise<void> => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', ...flags } })
    alice = await AlertClient.signIn(server, ALICE)
  }
  const restart = async (flags: Readonly<Record<string, string>>): Promise<void> => {
    await server.stop()
    await start(flags)
  }
  before(async () => {
    receiver = await startReceiver()
    await start({ ...ALLOWED, '--alert-private': 'true' })
    const admin = await AlertClient.signIn(server)
    await admin.query(
      "CREATE TABLE levels (id Integer PRIMARY KEY, level Integer NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
    await admin.query('INSERT INTO levels VALUES (7, 20)')
  })
  after(async () => {
    await server.stop()
    await receiver.stop()
  })

  const faults = async (members: object): Promise<readonly string[]> => {
    const reply = await alice.request('POST', '/alerts', { name: 'Refused', ...LEVEL, ...members })
    assert.equal(reply.status, 422)
    return JSON.parse(await reply.text()).Faults.map(
      ({ path, text }: { path: string; text: string }) => `${path}: ${text}`,
    )
  }

  test('a notice is posted to the address, signed with the key of its owner', async () => {
    const url = `${receiver.origin}/mine`
    const { secret } = await alice.call('POST', '/alerts/webhooks', { url })
    assert.equal((await alice.call('GET', '/alerts/channels')).own_webhooks, true)
    const { id } = await alice.create({ name: 'Own', ...LEVEL, channels: [url] })
    await until('it arrives', 10_000, () => receiver.received.length > 0)
    const [first] = receiver.received
    assert.ok(first)
    assert.deepEqual([first.path, first.body.type, first.body.data.alert], ['/mine', 'alert.firing', id])
    verify(first, secret)
    const admin = await AlertClient.signIn(server)
    const theirs = await admin.call('POST', '/alerts/webhooks', { url })
    const other = await alice.call('POST', '/alerts/webhooks', { url: `${url}?v=2` })
    assert.equal(new Set([secret, theirs.secret, other.secret]).size, 3)
    assert.throws(() => verify(first, theirs.secret))
  })

  test('410 drops the delivery, and the next one is tried', async () => {
    receiver.answer((_request, response) => response.writeHead(410).end())
    const { id } = await alice.create({ name: 'Gone', ...LEVEL, channels: [`${receiver.origin}/gone`] })
    const states = async () =>
      (await alice.call('GET', `/alerts/${id}/deliveries`)).items.map(({ state }: { state: string }) => state)
    await until('it is dropped', 10_000, async () => (await states())[0] === 'dropped')
    receiver.answer((_request, response) => response.writeHead(204).end())
    await alice.query('UPDATE levels SET level = 1 WHERE id = 7')
    await until('the end is sent', 10_000, async () => (await states())[0] === 'sent')
  })

  test('an alert that is handed over loses the addresses of its former owner', async () => {
    const { id } = await alice.create({ name: 'Handed', ...LEVEL, channels: [`${receiver.origin}/mine`, 'push'] })
    const admin = await AlertClient.signIn(server)
    await admin.call('PATCH', `/admin/alerts/${id}`, { owner: 'admin' })
    assert.deepEqual((await admin.call('GET', `/alerts/${id}`)).channels, ['push'])
    await admin.call('DELETE', `/admin/alerts/${id}`)
  })

  test('http, private addresses and other texts are refused where private ones are not allowed', async () => {
    await restart(ALLOWED)
    for (const url of [`${receiver.origin}/mine`, 'https://10.0.0.1/x', 'https://', 'http://example.com/'])
      assert.match((await faults({ channels: [url] })).join(), /^channels\[0\]: /, url)
    assert.equal((await alice.request('POST', '/alerts/webhooks', { url: 'mail' })).status, 422)
  })

  test('without the setting there are none, and what an alert still names is not called', async () => {
    await restart({ '--alert-private': 'true' })
    assert.match((await faults({ channels: ['https://hooks.example.com/x'] })).join(), /alert_own_webhooks/)
    assert.equal((await alice.request('POST', '/alerts/webhooks', { url: 'https://hooks.example.com/x' })).status, 422)
    assert.equal((await alice.call('GET', '/alerts/channels')).own_webhooks, false)
    const before = receiver.received.length
    await alice.query('UPDATE levels SET level = 30 WHERE id = 7')
    const { items } = await alice.call('GET', '/alerts')
    const own = items.find(({ name }: { name: string }) => name === 'Own')
    await until('it is dropped', 10_000, async () => {
      const [last] = (await alice.call('GET', `/alerts/${own.id}/deliveries`)).items
      return last?.state === 'dropped'
    })
    assert.equal(receiver.received.length, before)
  })
})
