/** The guide about alerts, followed to its end: a receiver in Python, Slack, Teams, mail, and the console in a real Chromium. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createECDH, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { AlertClient } from '../../alerts/alert-client.ts'
import { root } from '../../support/clone.ts'
import { type ConsoleScene, openConsole } from '../../support/console.ts'
import { ALICE } from '../../support/demo-user.ts'
import { IN_LONG_RUNS } from '../../support/engines.ts'
import { freePort } from '../../support/free-port.ts'
import { openGuide, readBlocks } from '../../support/guide.ts'
import { startSmtpServer, type TestSmtpServer } from '../../support/smtp-server.ts'
import { until } from '../../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts'

test('the receiver of the guide is that of the examples', async () => {
  const guide = readBlocks(await readFile(join(root, 'docs/guides/tell-me-when.md'), 'utf8'))
  const receiver = guide.find(({ file }) => file === 'receiver.py')
  assert.equal(receiver?.text, await readFile(join(root, 'examples/alerts/receiver.py'), 'utf8'))
})

const hasPython = spawnSync('python3', ['--version']).status === 0

let scene: ConsoleScene
let smtp: TestSmtpServer
/** Instead of Slack, Teams and the push service of a browser. */
let others: WebhookReceiver
if (IN_LONG_RUNS.skip === false) {
  before(async () => {
    smtp = await startSmtpServer()
    others = await startReceiver()
    scene = await openConsole({ flags: { '--alert-private': 'true', ...smtp.flags } })
  })
  after(async () => {
    await scene.stop()
    await others.stop()
    await smtp.close()
  })
}

test('Tell me when', { ...IN_LONG_RUNS, ...(!hasPython && { skip: 'needs Python 3' }) }, async (t) => {
  const port = await freePort()
  const { server, place } = scene
  const verbs = ['add', 'history', 'deliveries', 'set', 'test', 'silence', 'remove']
  const atServer = ['login', 'query', ...verbs.map((verb) => `alert ${verb}`)].map(
    (name) => [`./gatehouse ${name}`, `./gatehouse ${name} --server ${server.issuer}`] as const,
  )
  const guide = await openGuide('tell-me-when', {
    replace: [
      ['http://localhost:5080', server.issuer],
      ...atServer,
      ['9000', String(port)],
      ['https://hooks.slack.com', `${others.origin}/slack`],
      ['https://prod-00.westeurope.logic.azure.com', `${others.origin}/teams`],
      // These are here, and not public.
      ['--format slack', '--format slack --private true'],
      ['--format teams', '--format teams --private true'],
    ],
    environment: { GATEHOUSE_DATA: place.dataFolder },
  })
  t.after(() => guide.close())
  guide.take('npm start')
  await guide.run('./gatehouse login', { stdin: `${ALICE.password}\n` })

  await guide.run('hook.secret')
  await guide.save('receiver.py')
  const receiver = await guide.start('python3 receiver.py', /waiting for notices/)
  await guide.run('channel add desk-hook')
  await guide.run('alert add "Wide spread"')
  await guide.run('90, 99')
  await receiver.prints(/^alert\.firing MINE 9\.0000$/m)
  await guide.run('98, 99')
  await receiver.prints(/^alert\.resolved MINE 1\.0000$/m)
  await guide.run('alert history')
  const client = await AlertClient.signIn(server, ALICE)
  const { items } = await client.call('GET', '/alerts')
  await until('both are sent', 5_000, async () => {
    const deliveries = (await client.call('GET', `/alerts/${items[0].id}/deliveries`)).items
    return deliveries.every(({ state }: { state: string }) => state === 'sent')
  })
  await guide.run('alert deliveries')

  await guide.run('desk-slack')
  await guide.run('desk-teams')
  await guide.run('alert set "Wide spread"')
  await guide.run('alert test')
  const at = (path: string) => others.received.filter((each) => each.path.startsWith(path))
  await until('Slack and Teams have it', 10_000, () => at('/slack').length > 0 && at('/teams').length > 0)
  assert.equal(typeof at('/slack')[0]?.body.text, 'string')
  assert.equal(at('/teams')[0]?.body.attachments[0].content.type, 'AdaptiveCard')

  await guide.run('--channel mail')
  await guide.run('alert test')
  await until('there is a mail', 10_000, () => smtp.mails.some(({ to }) => to.includes('alice@example.com')))

  await followInBrowser(guide.take('select symbol').text)
  await client.query("insert into quotes values ('MINE', now(), 50, 99, 1, 1)")
  await until('the push service has it', 15_000, () => at('/push').length > 0)

  await guide.run('alert silence')
  await guide.run('alert remove')
  guide.finish()
})

/** What the guide says in words. */
async function followInBrowser(statement: string): Promise<void> {
  const opened = await scene.open(`/query?q=${encodeURIComponent(statement)}`, { user: ALICE })
  const { page, context } = opened
  await context.grantPermissions(['notifications'], { origin: new URL(scene.server.issuer).origin })
  const p256dh = createECDH('prime256v1').generateKeys().toString('base64url')
  const keys = { p256dh, auth: randomBytes(16).toString('base64url') }
  // The push service of a real browser is elsewhere.
  await page.evaluate(`{
    const subscription = { toJSON: () => (${JSON.stringify({ endpoint: `${others.origin}/push`, keys })}), unsubscribe: async () => true }
    PushManager.prototype.subscribe = async () => subscription
    PushManager.prototype.getSubscription = async () => subscription
  }`)
  await page.getByRole('button', { name: 'Run' }).first().click()
  await page
    .locator('.grid-cell', { hasText: /^0\.\d+$/ })
    .first()
    .click()
  await page.getByRole('button', { name: 'Alert', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your browsers').check()
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByText('was made').waitFor()
  await opened.close()
}
