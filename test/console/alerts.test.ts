/** Alerts in the console: made from a result in two clicks, shown with their keys and deliveries, in the bell and on the chart. */
import assert from 'node:assert/strict'
import { createECDH, randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { conditionFor, findThresholds } from '../../packages/console/src/alerts/draft.ts'
import { AlertClient } from '../alerts/alert-client.ts'
import { type ConsolePage, type ConsoleScene, openConsole } from '../support/console.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

/** Names a folder for pictures of the pages. */
const PICTURES = process.env.TEST_PICTURES

let scene: ConsoleScene
let receiver: WebhookReceiver
let client: AlertClient
before(async () => {
  receiver = await startReceiver()
  scene = await openConsole({ flags: { '--alert-private': 'true' } })
  client = await AlertClient.signIn(scene.server)
  await client.declareChannel('desk-hook', `${receiver.origin}/desk`)
  await client.query(
    "CREATE TABLE spreads (symbol Text PRIMARY KEY, at Timestamp NOT NULL, spread Decimal(12, 4) NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
  )
  for (const [index, symbol] of ['AUD', 'CHF', 'EUR', 'GBP', 'JPY'].entries())
    await client.query(
      `INSERT INTO spreads VALUES ('${symbol}', TIMESTAMP '2026-01-05T09:0${index}:00Z', 0.${index + 1})`,
    )
})
after(async () => {
  await scene.stop()
  await receiver.stop()
})

async function picture({ page }: ConsolePage, name: string): Promise<void> {
  if (PICTURES === undefined) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: `${PICTURES}/${name}.png` })
}

const QUERY = '/query?q=select+symbol%2C+at%2C+spread+from+spreads+order+by+symbol'
const CONDITIONS: readonly [type: string, value: unknown, condition: string][] = [
  ['Decimal(12, 4)', '0.5000', 'x > 0.5000'],
  ['Integer', 7, 'x > 7'],
  ['Text', "O'Neil", "x = 'O''Neil'"],
  ['Boolean', true, 'x'],
  ['Timestamp', '2026-01-05T09:00:00Z', "x > TIMESTAMP '2026-01-05T09:00:00Z'"],
  ['Text', null, 'x IS NULL'],
]
for (const [type, value, condition] of CONDITIONS)
  test(`a marked cell of ${type} with ${String(value)} fills in ${condition}`, () => {
    assert.equal(conditionFor({ column: 'x', type, value }), condition)
  })

test('thresholds of a condition are found, by the name of their column', () => {
  assert.deepEqual(findThresholds('spread > 0.5 AND "Bid Price" <= -2 OR name = \'7\''), [
    { column: 'spread', value: 0.5 },
    { column: 'Bid Price', value: -2 },
  ])
})

test('a marked cell, Alert, Create: the alert fires, the notice arrives, the bell has it', async () => {
  const opened = await scene.open(QUERY)
  const { page } = opened
  await page.getByRole('button', { name: 'Run' }).first().click()
  const cell = page.locator('.grid-cell', { hasText: '0.4' }).first()
  await cell.click()
  await page.getByRole('button', { name: 'Alert', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Fires when').waitFor()
  assert.equal(await dialog.getByLabel('Fires when').inputValue(), 'spread > 0.4000')
  await until('the channel is chosen', 2_000, () => dialog.getByLabel('desk-hook').isChecked())
  await picture(opened, 'dialog')
  assert.deepEqual(await opened.axe(), [])
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByText('was made').waitFor()
  await until('it has arrived', 10_000, () => receiver.received.length > 0)
  assert.deepEqual(receiver.received[0]?.body.data.instances[0].key, ['JPY'])
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('heading', { name: 'Deliveries' }).waitFor()
  await page.getByRole('region', { name: 'Keys' }).getByText('JPY').first().waitFor()
  await until('it is listed as sent', 10_000, () =>
    page.getByRole('region', { name: 'Deliveries' }).getByText('sent').isVisible(),
  )
  const bell = page.getByRole('button', { name: 'Alerts: 1 fires' }).first()
  await bell.waitFor()
  await bell.click()
  await page.getByRole('menuitem', { name: /spread > 0.4/ }).waitFor()
  await picture(opened, 'alert')
  await page.keyboard.press('Escape')
  assert.deepEqual(await opened.axe(), [])
  opened.check()
  await opened.close()
})

test('the page of an alert: pause, resume, silence, test, change with its faults, delete', async () => {
  const { id } = await client.create({
    name: 'By hand',
    statement: 'select symbol, spread from spreads',
    when: 'spread > 0.1',
    until: 'spread < 0.05',
    channels: ['desk-hook'],
  })
  const opened = await scene.open(`/alerts/${id}`)
  const { page } = opened
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Silent for 1 hour' }).click()
  await page.getByText('No notices until').waitFor()
  await page.getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Fires when').fill('spread * 2 > 1')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText(/A condition compares/).waitFor()
  await dialog.getByLabel('Fires when').fill('spread > 0.2')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The alert was changed').waitFor()
  await page.getByText('spread > 0.2').first().waitFor()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('By hand was deleted').waitFor()
  opened.check(/422/)
  await opened.close()
})

test('channels: one is added, its key is shown once, it is tested and removed', async () => {
  const opened = await scene.open('/alerts/channels')
  const { page } = opened
  await page.getByRole('button', { name: 'Add a channel' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('second-hook')
  await dialog.getByLabel('Address').fill('http://hooks.example.com/')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.getByText(/https/).first().waitFor()
  await dialog.getByLabel('Address').fill('https://hooks.example.com/')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await page.getByText(/whsec_/).waitFor()
  await picture(opened, 'key')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('region', { name: 'Channels' }).getByText('second-hook').waitFor()
  await picture(opened, 'channels')
  assert.deepEqual(await opened.axe(), [])
  await page.getByRole('button', { name: 'More about second-hook' }).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('second-hook was removed').waitFor()
  opened.check(/422/)
  await opened.close()
})

test('the thresholds and firings of alerts are on the chart of their statement', async () => {
  const opened = await scene.open(QUERY)
  const { page } = opened
  await page.getByRole('button', { name: 'Run' }).first().click()
  await page.getByRole('radio', { name: 'Chart' }).check({ force: true })
  const chart = page.locator('.chart-place')
  await chart.waitFor()
  await until('the chart names them', 5_000, async () =>
    /spread 0\.4/.test((await chart.getAttribute('aria-label')) ?? ''),
  )
  await picture(opened, 'chart')
  opened.check()
  await opened.close()
})

for (const [name, options] of [
  ['dark', { dark: true }],
  ['phone', { width: 390 }],
] as const)
  test(`${name}: the list and an alert have no fault of accessibility and fit the page`, async () => {
    const opened = await scene.open('/alerts', options)
    const { page } = opened
    const table = page.getByRole('region', { name: 'Alerts' })
    await table.waitFor()
    await picture(opened, `list-${name}`)
    assert.deepEqual(await opened.axe(), [])
    await table.getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor()
    await picture(opened, `alert-${name}`)
    assert.deepEqual(await opened.axe(), [])
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    assert.ok(Number(overflow) <= 0, String(overflow))
    opened.check()
    await opened.close()
  })

test('this browser gets notices: it subscribes when an alert is made, shows what is pushed, and is forgotten at a sign-out', async () => {
  const opened = await scene.open('/query?q=select+symbol%2C+spread+from+spreads')
  const { page, context } = opened
  await context.grantPermissions(['notifications'], { origin: new URL(scene.server.issuer).origin })
  // The push service of the browser is elsewhere: its address is that of the test.
  const keys = { p256dh: publicKey(), auth: randomBytes(16).toString('base64url') }
  await page.evaluate(`{
    const subscription = { toJSON: () => (${JSON.stringify({ endpoint: `${receiver.origin}/push`, keys })}), unsubscribe: async () => true }
    PushManager.prototype.subscribe = async () => subscription
    PushManager.prototype.getSubscription = async () => subscription
  }`)
  await page.getByRole('button', { name: 'Run' }).first().click()
  await page.locator('.grid-cell', { hasText: '0.3' }).first().click()
  await page.getByRole('button', { name: 'Alert', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Your browsers').check()
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByText('was made').waitFor()
  const browsers = async () => (await client.call('GET', '/alerts/push')).items
  assert.equal((await browsers()).length, 1)
  const shown = await showPush(opened, {
    title: 'Wide',
    text: 'AUD 0.6',
    url: `${scene.server.issuer}/console/alerts`,
    tag: 'a',
  })
  assert.deepEqual(shown, ['Wide', 'AUD 0.6', 'a'])
  await page.locator('.who').click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await until('it is forgotten', 5_000, async () => (await browsers()).length === 0)
  await opened.close()
})

function publicKey(): string {
  return createECDH('prime256v1').generateKeys().toString('base64url')
}

/** What the service worker shows of a message that the push service has delivered. A browser without a screen shows none. */
async function showPush({ context }: ConsolePage, message: object): Promise<unknown> {
  await until('the worker runs', 5_000, () => context.serviceWorkers().length > 0)
  return context.serviceWorkers()[0]?.evaluate(`new Promise((resolve) => {
    self.registration.showNotification = async (title, { body, tag }) => resolve([title, body, tag])
    dispatchEvent(new PushEvent('push', { data: ${JSON.stringify(JSON.stringify(message))} }))
  })`)
}
