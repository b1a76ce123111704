/** Step-up in the console: the dialogue, the sign-in in its window, and what goes on afterwards. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { totpCode } from '../../packages/server/src/identity/factors/totp.ts'
import { fromBase32 } from '../support/base32.ts'
import type { Page } from '../support/chromium.ts'
import { ADMIN, type ConsoleScene, openConsole } from '../support/console.ts'

let scene: ConsoleScene
before(async () => {
  scene = await openConsole()
  const admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.query`create table guarded (id Integer primary key, price Integer not null) read scope 'Platform/Market'`
  await admin.query`insert into guarded values (1, 4711)`
  await admin.query`alter table guarded set require (acr = 2, age = 600)`
  admin.close()
})
after(() => scene?.stop())

/** In the window that the dialogue opens: the password if it is asked for, and an authenticator app that is set up. */
async function stepUp(page: Page): Promise<void> {
  const [popup] = await Promise.all([
    page.waitForEvent('popup'),
    page.getByRole('dialog').getByRole('button', { name: 'Sign in again' }).click(),
  ])
  await popup.locator('#authenticator-key').waitFor({ state: 'attached' })
  const key = (await popup.locator('#authenticator-key').textContent()) ?? ''
  await popup
    .locator('#authenticator input[name=code]')
    .fill(totpCode(fromBase32(key), Math.floor(Date.now() / 30_000)))
  await popup.locator('#authenticator button[type=submit]').click()
  await popup.locator('#recovery-codes-kept').click()
  if (!popup.isClosed()) await popup.waitForEvent('close')
}

test('a query asks for a stronger sign-in, and continues with its result', async () => {
  const view = await scene.open(`/query?q=${encodeURIComponent('select id, price from guarded')}`)
  const { page } = view
  await page.getByRole('button', { name: /^Run/ }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  assert.match((await dialog.textContent()) ?? '', /needs a sign-in with two factors in the last 10 minutes/)
  assert.deepEqual(await view.axe(), [])
  await stepUp(page)
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('4,711').first().waitFor()
  view.check(/401/)
})
