/** The area Tools of the console in a real browser: what to paste, and the connections of tools. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE, type ConsoleScene, openConsole } from '../support/console.ts'
import { signInTo } from '../support/wire-client.ts'

let scene: ConsoleScene
before(async () => {
  scene = await openConsole({ flags: { '--wire-port': '0' } })
})
after(() => scene.stop())

test('the page shows the address of this server for each way to sign in', async () => {
  const view = await scene.open('/tools', { user: ALICE })
  const { page } = view
  await page.getByText('postgresql://token@localhost:').waitFor()
  await page.getByText('Browser sign-in').click()
  await page.getByText(`oauth_issuer=${scene.server.issuer}`).waitFor()
  await page.getByText('Password', { exact: true }).click()
  await page.getByText(`postgresql://alice@localhost:${scene.server.wirePort}/gatehouse`).waitFor()
  assert.deepEqual(await view.axe(), [])
  view.check()
  await view.close()
})

test('an operator sees the connections of tools, and closes one', async () => {
  const { client } = await signInTo(scene.server.wirePort ?? 0, ALICE.username, ALICE.password, {
    application_name: 'notebook',
  })
  const view = await scene.open('/tools/connections')
  const { page } = view
  await page.getByText('notebook').waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByRole('button', { name: 'Close connection' }).click()
  assert.equal((await client.error()).C, '57P01')
  await page.getByText('No tool is connected').waitFor()
  view.check()
  await view.close()
})
