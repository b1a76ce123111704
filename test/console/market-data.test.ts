/** Market data in the console, in a real Chromium: a product from nothing to its report. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE, type ConsoleScene, openConsole } from '../support/console.ts'

let scene: ConsoleScene
/** Also of a test that fails: a client that stays open would keep the process. */
let alice: Gatehouse

before(async () => {
  scene = await openConsole()
  const open = (user: typeof ALICE) =>
    new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...user }) })
  alice = open(ALICE)
  const admin = open(ADMIN)
  const feed = { name: 'Prices', read: 'Platform/Market', write: 'Platform/Trading' }
  await admin.request('/admin/feeds', { method: 'POST', body: feed })
  admin.close()
})
after(async () => {
  alice?.close()
  await scene?.stop()
})

test('a product is declared, covers a feed, is given to people, and is in the report of the month', async () => {
  const view = await scene.open('/market-data')
  const { page } = view
  await page.getByRole('link', { name: 'New product' }).first().waitFor()
  assert.deepEqual(await view.axe(), [])

  await page.getByRole('link', { name: 'Agreements' }).click()
  await page.getByRole('link', { name: 'New agreement' }).first().click()
  await page.getByRole('textbox', { name: 'Id' }).fill('terms')
  await page.getByRole('textbox', { name: 'Version' }).fill('2026-01')
  await page.getByRole('textbox', { name: 'Title' }).fill('Subscriber agreement')
  await page.getByRole('textbox', { name: 'Text' }).fill('Use it for yourself.')
  await page.getByRole('button', { name: 'Create the agreement' }).click()
  await page.getByRole('heading', { name: 'terms' }).waitFor()
  assert.deepEqual(await view.axe(), [])

  await page.goto(`${scene.server.issuer}/console/market-data/products/new`)
  await page.getByRole('textbox', { name: 'Name' }).fill('TEST.L1')
  await page.getByRole('textbox', { name: 'Delay' }).fill('soon')
  await page.getByRole('button', { name: 'Create the product' }).click()
  await page.getByRole('textbox', { name: 'Delay' }).and(page.locator('[aria-invalid="true"]')).waitFor()
  await page.getByRole('textbox', { name: 'Delay' }).fill('15 minutes')
  await page.getByRole('combobox', { name: 'For all others' }).selectOption('delayed')
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Create the product' }).click()
  await page.getByText('It covers nothing yet.').waitFor()
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Prices')
  await page.getByRole('radio', { name: 'Topics' }).check({ force: true })
  await page.getByRole('textbox', { name: 'Topics' }).fill('NYSE/*')
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click()
  await page.getByRole('row', { name: /Feed Prices NYSE\/\*/ }).waitFor()

  await page.getByRole('link', { name: 'Entitlements' }).click()
  await page.getByRole('button', { name: 'New entitlement' }).first().click()
  await page.getByRole('textbox', { name: 'Username' }).fill('nobody')
  await page.getByRole('button', { name: 'Give' }).click()
  await page.getByText('There is no user "nobody"').waitFor()
  await page.getByRole('textbox', { name: 'Username' }).fill('alice')
  await page.getByRole('button', { name: 'Give' }).click()
  await page.getByRole('row', { name: /alice User Real-time/ }).waitFor()
  await page.getByRole('link', { name: 'Who has what' }).click()
  await page.getByRole('row', { name: /alice Real-time By name/ }).waitFor()
  await page.getByRole('row', { name: /admin Delayed The default/ }).waitFor()
  assert.deepEqual(await view.axe(), [])

  const prices = alice.feed('Prices').subscribe('NYSE/*')
  await prices.ready()
  await page.goto(`${scene.server.issuer}/console/market-data/places`)
  await page.getByRole('row', { name: /alice TEST\.L1 Real-time/ }).waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('link', { name: 'Report' }).click()
  await page.getByRole('row', { name: /TEST\.L1 alice .*Real-time.* 1$/ }).waitFor()
  assert.deepEqual(await view.axe(), [])

  await page.goto(`${scene.server.issuer}/console/market-data/products/TEST.L1`)
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('It covers nothing yet.').waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('TEST.L1')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: 'New product' }).first().waitFor()
  assert.equal(await page.getByText('TEST.L1', { exact: true }).count(), 0)
  prices.close()
  // An unknown user, and a delay that is none.
  view.check(/status of (409|422)/)
  await view.context.close()
})
