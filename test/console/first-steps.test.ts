/** The start page of a new installation: the first steps, as the server knows them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ConsoleScene, openConsole } from '../support/console.ts'
import { runInProcess } from '../support/in-process.ts'

const ROOT_USER = { username: 'root', password: 'a long enough password' }
let scene: ConsoleScene
let data: string[]

before(async () => {
  scene = await openConsole({
    flags: { '--demo': 'false' },
    engine: 'sqlite',
    async prepare(place) {
      data = ['--data', place.dataFolder, ...(place.databaseUrl === '' ? [] : ['--database-url', place.databaseUrl])]
      await run('migrate', '--create')
      await run('role', 'add', 'admin', '--scope', 'Identity/Admin', '--scope', 'Platform/Admin')
      await run('user', 'add', 'root', '--role', 'admin')
    },
  })
})
after(() => scene?.stop())

async function run(...words: string[]): Promise<void> {
  const { status, stderr } = await runInProcess([...words, ...data], { stdin: `${ROOT_USER.password}\n` })
  assert.equal(status, 0, stderr)
}

test('an administrator of an empty installation sees the first steps, each until it is done', async () => {
  const view = await scene.open('', { user: ROOT_USER })
  const { page } = view
  const done = () => page.locator('.step.done a').allTextContents()
  await page.getByText('0 of 5 done').waitFor()
  assert.deepEqual(await page.locator('.step a').allTextContents(), [
    'Create a role',
    'Invite a person',
    'Connect an application',
    'Serve over TLS',
    'Take a backup',
  ])
  assert.deepEqual(await view.axe(), [])
  await run('role', 'add', 'trader', '--scope', 'Platform/Market')
  await run('user', 'invite', 'bob', '--role', 'trader')
  await run('client', 'add', 'robot', '--grant', 'client_credentials', '--scope', 'Platform/Market')
  await run('backup', join(scene.place.dataFolder, '..', `backup-${process.pid}`))
  await page.reload()
  await page.getByText('4 of 5 done').waitFor()
  assert.deepEqual(await done(), ['Create a role', 'Invite a person', 'Connect an application', 'Take a backup'])
  await page.getByRole('link', { name: 'Connect an application' }).click()
  await page.getByText('What kind of application is it?').waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Hide' }).click()
  assert.equal(await page.locator('.step').count(), 0)
  await page.reload()
  await page.locator('.start-greeting').waitFor()
  assert.equal(await page.getByText('First steps').count(), 0)
  view.check()
  await view.context.close()
})

test('on a telephone, in the dark, nothing is cut off', async () => {
  const view = await scene.open('', { user: ROOT_USER, dark: true, width: 390 })
  await view.page.locator('.step').first().waitFor()
  assert.equal(await view.page.evaluate('document.documentElement.scrollWidth'), 390)
  assert.deepEqual(await view.axe(), [])
  view.check()
  await view.context.close()
})
