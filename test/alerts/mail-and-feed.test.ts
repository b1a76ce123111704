/** Alerts by mail, which a mailbox does not get too many of, and to feeds, published as their owners. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { waitForMailbox } from '../../packages/server/src/alerts/deliver/mail.ts'
import { ALICE } from '../support/demo-user.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { createTestClock, startTestServer, type TestServer } from '../support/server.ts'
import { startSmtpServer, type TestSmtpServer } from '../support/smtp-server.ts'
import { until } from '../support/until.ts'
import { AlertClient } from './alert-client.ts'

const MINUTE = 60_000

test('a mailbox gets one a minute and 30 an hour; a clock that was set back extends nothing', () => {
  const now = 10 * 60 * MINUTE
  assert.equal(waitForMailbox([], now), 0)
  assert.equal(waitForMailbox([now - 20_000], now), 40_000)
  assert.equal(waitForMailbox([now - MINUTE], now), 0)
  const thirty = Array.from({ length: 30 }, (_each, index) => now - (index + 1) * MINUTE - 1)
  assert.equal(waitForMailbox(thirty, now), 30 * MINUTE - 1)
  assert.equal(waitForMailbox(thirty.slice(1), now), 0)
  assert.equal(waitForMailbox([now + 60 * MINUTE], now), MINUTE)
})

onEveryEngineInLongRuns('alerts by mail and to feeds', (place) => {
  const clock = createTestClock()
  let smtp: TestSmtpServer
  let server: TestServer
  let admin: AlertClient
  let alice: AlertClient
  const start = async (): Promise<void> => {
    server = await startTestServer(place(), { flags: { '--demo': 'true', ...smtp.flags }, clock })
    admin = await AlertClient.signIn(server)
    alice = await AlertClient.signIn(server, ALICE)
  }
  before(async () => {
    smtp = await startSmtpServer()
    await start()
    await admin.query(
      "CREATE TABLE flags (id Integer PRIMARY KEY, name Text NOT NULL, up Boolean NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
  })
  after(async () => {
    await server.stop()
    await smtp.close()
  })
  const raise = (id: number, name = `flag ${id}`) =>
    admin.query(`INSERT INTO flags (id, name, up) VALUES (${id}, '${name}', true)`)
  const watch = (name: string, members: object) =>
    alice.create({
      name,
      statement: 'SELECT id, name FROM flags WHERE up',
      title: '{{name}}',
      group: '0 seconds',
      ...members,
    })

  test("to the owner's verified address, in the name of the delivery; more in a minute are joined to the next", async () => {
    const { id } = await watch('One', { channels: ['mail'] })
    const { id: event } = await watch('Other', { channels: ['mail'], mode: 'event' })
    await raise(1, '<b>&\nBcc: x@example.com')
    await until('there is a mail', 5_000, () => smtp.mails.length > 0)
    const { items } = await alice.call('GET', `/alerts/${id}/deliveries`)
    const [first] = smtp.mails
    assert.deepEqual(first?.to, ['alice@example.com'])
    assert.match(first?.headers.get('subject') ?? '', /<b>& Bcc: x@example.com/)
    assert.equal(first?.headers.has('bcc'), false)
    assert.match(first?.html ?? '', /&lt;b&gt;&amp;/)
    await raise(2)
    await raise(3)
    await until('all has happened', 5_000, async () => {
      const found = await Promise.all([id, event].map((each) => alice.call('GET', `/alerts/${each}/history`)))
      return found.every((history) => history.items.length === 3)
    })
    assert.equal(smtp.mails.length, 1)
    await server.stop()
    clock.advance(MINUTE)
    await start()
    await until('there is a second mail', 10_000, () => smtp.mails.length === 2)
    const [, second] = smtp.mails
    assert.match(second?.text ?? '', /flag 2/)
    assert.match(second?.text ?? '', /flag 3/)
    await until('all is sent', 5_000, async () => {
      const found = (await alice.call('GET', `/alerts/${id}/deliveries`)).items
      return found.every(({ state }: { state: string }) => state === 'sent')
    })
    assert.ok(items.length > 0)
    assert.equal(smtp.mails.length, 2)
  })

  test('to a declared address, with the scope that it needs', async () => {
    const channel = { name: 'desk-mail', kind: 'mail', to: 'desk@example.com', use: 'Platform/Market' }
    await admin.call('POST', '/admin/channels', channel)
    clock.advance(MINUTE)
    await watch('Of the desk', { channels: ['desk-mail'], mode: 'event' })
    await raise(10)
    await until('the desk has a mail', 5_000, () => smtp.mails.some(({ to }) => to.includes('desk@example.com')))
  })

  test('to a feed: the body as Data, once, and only while the owner may publish there', async () => {
    await admin
      .call('POST', '/admin/feeds', {
        name: 'Notices',
        read: 'Platform/Market',
        write: 'Platform/Trading',
        history: { time: '1 hour' },
      })
      .catch(async () =>
        admin.call('PUT', '/admin/feeds/Notices', {
          read: 'Platform/Market',
          write: 'Platform/Trading',
          history: { time: '1 hour' },
        }),
      )
    await admin.call('POST', '/admin/channels', {
      name: 'feed',
      kind: 'feed',
      feed: 'Notices',
      use: 'Platform/Market',
    })
    const { id } = await watch('To the feed', { channels: ['feed'], mode: 'event' })
    await raise(20)
    const read = async () => (await alice.call('GET', `/feeds/Notices/alerts/${id}?last=10`)).Messages ?? []
    await until('it is published', 5_000, async () => (await read()).length === 1)
    const [message] = await read()
    assert.equal(message.Data.type, 'alert.event')
    assert.deepEqual(message.Data.data.instances[0].row, { id: 20, name: 'flag 20' })
    const narrow = await AlertClient.withScope(server, 'Platform/Market', ALICE)
    const other = await narrow.create({
      name: 'Without the right',
      statement: 'SELECT id, name FROM flags WHERE up',
      mode: 'event',
      group: '0 seconds',
      channels: ['feed'],
    })
    await raise(21)
    await until('it is dropped', 5_000, async () => {
      const { items } = await narrow.call('GET', `/alerts/${other.id}/deliveries`)
      return items.length === 1 && items[0].state === 'dropped'
    })
  })

  const WRONG: readonly [what: string, members: object, path: string][] = [
    ['mail without an address', { kind: 'mail' }, 'to'],
    ['mail to what is none', { kind: 'mail', to: 'x@y\nBcc: z' }, 'to'],
    ['mail with an address of a webhook', { kind: 'mail', to: 'a@example.com', url: 'https://a.example/' }, 'url'],
    [
      'mail with a key',
      { kind: 'mail', to: 'a@example.com', secret: `whsec_${Buffer.alloc(32).toString('base64')}` },
      'secret',
    ],
    ['a feed without its name', { kind: 'feed' }, 'feed'],
  ]
  for (const [what, members, path] of WRONG)
    test(`422: ${what}`, async () => {
      const response = await admin.request('POST', '/admin/channels', { name: 'wrong', ...members })
      assert.equal(response.status, 422)
      assert.ok((await response.text()).includes(`"${path}"`))
    })

  test('a mail that waits for the mail server is dropped once its owner is disabled', async () => {
    const listMails = async (state: string): Promise<readonly { to: string; error: string | null }[]> =>
      (await admin.call('GET', `/admin/mail?state=${state}`)).items
    const isOwn = ({ to }: { to: string }) => to === 'alice@example.com'
    smtp.answer = () => ({ code: 451, text: 'try later' })
    clock.advance(2 * MINUTE)
    await watch('Last', { channels: ['mail'], mode: 'event' })
    await raise(30)
    // An attempt that is under way could still succeed.
    await until('an attempt has failed', 10_000, async () =>
      (await listMails('waiting')).some((mail) => isOwn(mail) && mail.error !== null),
    )
    await admin.call('PATCH', '/admin/users/alice', { disabled: true })
    smtp.answer = undefined
    const before = smtp.mails.length
    clock.advance(2 * MINUTE)
    await until('it is dropped', 10_000, async () => (await listMails('dropped')).some(isOwn))
    assert.equal(
      smtp.mails.slice(before).some(({ to }) => to.includes('alice@example.com')),
      false,
    )
  })
})
