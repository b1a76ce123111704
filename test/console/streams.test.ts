/** The area Streams of the console in a real browser: the inspector and the connections of all nodes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pretty, withoutTokens } from '../../packages/console/src/areas/streams/message-text.ts'
import { ALICE, type ConsoleScene, openConsole } from '../support/console.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'

let scene: ConsoleScene
before(async () => {
  scene = await openConsole()
})
after(() => scene.stop())

test('a request and its reply are listed with the time between them, and no token is shown', async () => {
  const view = await scene.open('/streams/inspector')
  const { page } = view
  await page.locator('.inspector-connection .badge.good').waitFor()
  await page.getByRole('button', { name: 'Send', exact: false }).click()
  const reply = page.locator('.message', { hasText: '"Name":"Gatehouse"' })
  await reply.waitFor()
  const signIn = page.locator('.message', { hasText: 'Auth/AuthToken' })
  assert.equal(await signIn.count(), 0, 'messages of the sign-in are shown if they are asked for')
  await page.getByRole('switch', { name: 'Sign-in too' }).click()
  await signIn.first().waitFor()
  assert.match((await reply.textContent()) ?? '', /Platform\/QueryServerInfo.*\d+\.\d ms$/s)
  await reply.click()
  assert.match(
    (await page.locator('.message-detail pre').textContent()) ?? '',
    /\n {2}"Data": \{\n {4}"Name": "Gatehouse"/,
  )
  assert.doesNotMatch((await page.locator('.messages').textContent()) ?? '', /eyJ/)
  assert.deepEqual(await view.axe(), [])
  view.check()
  await view.close()
})

test('the area opens on the feeds; the inspector is a page of its own', async () => {
  const view = await scene.open('/streams', { user: ALICE })
  await view.page.getByRole('heading', { name: 'Feeds' }).waitFor()
  await view.page.getByRole('link', { name: 'Inspector' }).click()
  await view.page.waitForURL('**/streams/inspector')
  view.check()
  await view.close()
})

test('a topic is subscribed to with one click; messages are filtered and paused', async () => {
  const view = await scene.open('/streams/inspector')
  const { page } = view
  await page.locator('.inspector-connection .badge.good').waitFor()
  await page.getByRole('button', { name: 'Subscribe to Platform/ServerInfo' }).click()
  await page.locator('.message', { hasText: 'ServerInfo' }).nth(2).waitFor()
  await page.getByLabel('Filter messages').fill('"Confirm":true')
  await page.locator('.message', { hasText: 'AuthToken' }).first().waitFor({ state: 'detached' })
  const confirmed = await page.locator('.message').count()
  assert.ok(confirmed >= 2, `${confirmed} messages`)
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Send', exact: false }).click()
  await page.getByText(/Paused, [1-9]\d* not shown/).waitFor()
  assert.equal(await page.locator('.message').count(), confirmed)
  view.check()
  await view.close()
})

test(
  'raw JSON is sent as it is; what is wrong with it comes back as an error of the server',
  IN_LONG_RUNS,
  async () => {
    const view = await scene.open('/streams/inspector')
    const { page } = view
    await page.locator('.inspector-connection .badge.good').waitFor()
    await page.getByText('Raw JSON').click()
    await page
      .getByLabel('Message', { exact: true })
      .fill('{"Controller":"Nobody","Topic":"X","TransactionID":9007199254740993}')
    await page.keyboard.press('Control+Enter')
    const error = page.locator('.message', { hasText: 'Controller Nobody' })
    await error.waitFor()
    assert.match((await error.textContent()) ?? '', /Error/)
    await error.click()
    await page.locator('.message-detail').getByText('9007199254740993').waitFor()
    await page.getByText('Form', { exact: true }).click()
    await page.getByLabel('Data').fill('{not json')
    await page.getByRole('button', { name: 'Send', exact: false }).click()
    await page.getByText(/Data is not JSON/).waitFor()
    view.check()
    await view.close()
  },
)

test('an administrator sees the connections of everyone, and closes those of a user at once', async () => {
  const alice = await scene.open('/streams/inspector', { user: ALICE })
  await alice.page.locator('.inspector-connection .badge.good').waitFor()
  const admin = await scene.open('/streams/connections')
  const { page } = admin
  await page.getByRole('cell', { name: 'alice' }).first().waitFor()
  assert.deepEqual(await admin.axe(), [])
  await page.getByLabel('Full name of a user or client').fill('alice')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.waitForURL(/connections\?user=alice$/)
  await page.getByRole('button', { name: 'Close all connections of alice' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Close all' }).click()
  await page
    .getByText(/connections? (was|were) closed/)
    .first()
    .waitFor()
  await alice.page.locator('.inspector-connection .badge.danger').waitFor()
  admin.check()
  await alice.close()
  const narrow = await scene.open('/streams/inspector', { user: ALICE, width: 390 })
  await narrow.page.locator('.message').first().waitFor()
  assert.ok(await narrow.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is cut off')
  assert.equal(await narrow.page.getByText('Connections').count(), 1)
  await narrow.close()
  await admin.close()
})

test('messages are drawn on several lines with all digits, and without tokens', () => {
  assert.equal(
    pretty('{"a":[1,9007199254740993],"b":{},"c":"x,{"}'),
    '{\n  "a": [\n    1,\n    9007199254740993\n  ],\n  "b": {},\n  "c": "x,{"\n}',
  )
  assert.equal(pretty('not json'), 'not json')
  assert.equal(withoutTokens('{"Data":{"AccessToken":"eyJ.a.b"}}'), '{"Data":{"AccessToken":"…"}}')
})
