/** The console in a real Chromium: sign-in, navigation, theme, what a lost right or session does, size and policy. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE, type ConsoleScene, openConsole, signInOn } from '../support/console.ts'
import { IN_LONG_RUNS, openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startGatehouse } from '../support/providers/gatehouse.ts'

let scene: ConsoleScene
let admin: Gatehouse

before(async () => {
  // The console streams whatever other origins may.
  scene = await openConsole({ flags: { '--stream-origins': 'https://other.example', '--demo-market': 'true' } })
  admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
})
after(async () => {
  admin?.close()
  await scene?.stop()
})

/** A user of one test, whose rights it can change. */
async function createUser(
  username: string,
  roles: readonly string[],
  members: { readonly locale?: string } = {},
): Promise<{ username: string; password: string }> {
  const user = { username, password: 'a long enough password' }
  await admin.admin.users.create({ ...user, name: `The ${username}`, roles, ...members })
  return user
}

test('a user signs in on the page of the server, and comes back to the address that was asked for', async () => {
  const context = await scene.browser.newContext()
  const page = await context.newPage()
  await page.goto(`${scene.server.issuer}/console/nowhere?a=1`)
  await page.waitForURL(/\/sign-in/)
  await signInOn(page, ALICE)
  await page.getByText('There is nothing at this address').waitFor()
  assert.equal(page.url(), `${scene.server.issuer}/console/nowhere?a=1`)
  await page.getByRole('link', { name: 'Start', exact: true }).click()
  await page.getByText('Hello, Alice Liddell.').waitFor()
  assert.equal(page.url(), `${scene.server.issuer}/console`)
  await page.goBack()
  await page.getByText('There is nothing at this address').waitFor()
  await context.close()
})

test('an address that asks to be led elsewhere after the sign-in does no harm', IN_LONG_RUNS, async () => {
  const view = await scene.open('')
  const places = [
    'https://evil.example/console/people',
    '//evil.example/console',
    'https://evil.example/',
    'javascript:/console/alert(1)',
    'http://[',
    '/account',
    '/console/../account',
  ]
  for (const to of places) {
    await view.page.goto(`${scene.server.issuer}/console?to=${encodeURIComponent(to)}`)
    await view.page.getByText('Hello, Demo Administrator.').waitFor()
    assert.equal(view.page.url(), `${scene.server.issuer}/console`, to)
  }
  await view.page.goto(`${scene.server.issuer}/console?to=${encodeURIComponent('/console/tables?new')}`)
  await view.page.getByRole('heading', { name: 'Create a table' }).waitFor()
  view.check()
  await view.context.close()
})

test(
  'without the demonstration, below the path of an issuer and at another name of the machine, it works as well',
  IN_LONG_RUNS,
  async () => {
    const { place, leave } = await openPlace('sqlite')
    const port = await freePort()
    const issuer = `http://localhost:${port}/gate`
    const other = await startGatehouse(place, {
      declaration: { users: [{ username: 'ada', password: 'a long enough password', name: 'Ada' }] },
      flags: { '--port': String(port), '--issuer': issuer },
    })
    const context = await scene.browser.newContext()
    try {
      const page = await context.newPage()
      await page.goto(`http://127.0.0.1:${port}/gate/console`)
      await signInOn(page, { username: 'ada', password: 'a long enough password' })
      await page.getByText('Hello, Ada.').waitFor()
      assert.equal(page.url(), `${issuer}/console`)
      await page.getByText('None. An administrator can give you a role.').waitFor()
      await page.getByText('Online').waitFor()
    } finally {
      await context.close()
      await other.stop()
      await leave()
    }
  },
)

test('tokens stay in memory: a reload signs in again without a question, and nothing is stored', async () => {
  const view = await scene.open('')
  const leaves: string[] = []
  view.page.on('framenavigated', (frame) => leaves.push(frame.url()))
  await view.page.reload()
  await view.page.getByText('Hello, Demo Administrator.').waitFor()
  assert.deepEqual(leaves, [`${scene.server.issuer}/console`], 'the page is not left')
  const stored = await view.page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
  assert.equal(stored, '[{},{}]')
  await view.page.getByText('Online').waitFor()
  view.check()
  await view.context.close()
})

test('signing out removes what is shown at once, recent work too, ends the session, and other tabs follow', async () => {
  const one = await scene.open('', { user: ALICE })
  await one.page.getByText('Nothing yet.').waitFor()
  const other = await scene.open('', { beside: one })
  await Promise.all([one, other].map(({ page }) => page.getByText('Online').waitFor()))
  const start = await one.context.newPage()
  await one.page.goto(`${scene.server.issuer}/console/tables/trades`)
  await one.page.getByRole('link', { name: 'Structure' }).waitFor()
  await start.goto(scene.server.issuer)
  const recent = start.getByRole('region', { name: 'Recent work' }).getByRole('link', { name: /^trades Table/ })
  assert.equal(await recent.getAttribute('href'), '/console/tables/trades')
  await one.page.locator('.who').click()
  await one.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await one.page.waitForURL('**/console/signed-out')
  await one.page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await other.page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  assert.equal(await other.page.getByText('Alice').count(), 0)
  await start.reload()
  assert.equal(await start.locator('#recent').count(), 0, 'nobody is signed in')
  await one.page.getByRole('button', { name: 'Sign in again' }).click()
  await one.page.waitForURL(/\/sign-in/)
  await one.context.close()
})

test('a user who is disabled while the console is open sees nothing more', async () => {
  const user = await createUser('leaver', ['trader'])
  const view = await scene.open('', { user })
  await view.page.getByText('Online').waitFor()
  await admin.admin.users.update('leaver', { disabled: true })
  await view.page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  assert.equal(await view.page.getByText('leaver').count(), 0)
  await view.context.close()
})

test('a right that is removed while the console is open is gone from it', IN_LONG_RUNS, async () => {
  const user = await createUser('mover', ['trader', 'admin'])
  const view = await scene.open('', { user })
  await view.page.getByText('Online').waitFor()
  const badge = view.page.locator('.right', { hasText: 'Platform/Admin' })
  await badge.waitFor()
  await admin.admin.users.update('mover', { roles: ['trader'] })
  await badge.waitFor({ state: 'detached' })
  await view.page.locator('.right', { hasText: 'Platform/Market' }).waitFor()
  view.check()
  await view.context.close()
})

test('a connection that an administrator closes can be opened again', IN_LONG_RUNS, async () => {
  const user = await createUser('kicked', ['trader'])
  const view = await scene.open('', { user })
  await view.page.getByText('Online').waitFor()
  await admin.request('/admin/streams?user=kicked', { method: 'DELETE' })
  await view.page.getByText('Disconnected').waitFor()
  await view.page.getByRole('button', { name: 'Connect' }).click()
  await view.page.getByText('Online').waitFor()
  view.check()
  await view.context.close()
})

test('the palette finds tables, people, applications, settings and pages by rights; ? lists the shortcuts', async () => {
  const view = await scene.open('')
  const { page } = view
  await page.getByRole('heading', { level: 1 }).waitFor()
  const search = async (text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search commands' }).fill(text)
  }
  await search('trad')
  const found = (name: string | RegExp) => page.getByRole('option', { name })
  await found(/^trades/).waitFor()
  await found(/^Last trades of a symbol/).waitFor()
  await page.getByRole('combobox').fill('alice')
  await found(/^alice/).waitFor()
  await page.getByRole('combobox').fill('metrics port')
  // Its place in the documentation is found too.
  const setting = found(/^metrics_port (?!Settings)/)
  await setting.waitFor()
  assert.match((await setting.locator('.palette-of').textContent()) ?? '', /\w+ \w+/, 'what it does')
  await page.getByRole('combobox').fill('mail')
  await found(/mail/i).first().waitFor()
  for (const name of ['Settings', 'Documentation']) await page.locator('.palette-group', { hasText: name }).waitFor()
  const groups = await page.locator('.palette-group').allTextContents()
  assert.ok(groups.indexOf('Documentation') < groups.indexOf('Settings'), `pages before settings: ${groups}`)
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('combobox').fill('demo-spa')
  await found(/^Demo single-page application/).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/applications\/demo-spa$/)
  await page.locator('.main').focus()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Run all statements').waitFor()
  assert.deepEqual(await view.axe(), [])
  view.check()
  await view.context.close()
  const alice = await scene.open('', { user: ALICE })
  await alice.page.keyboard.press('Control+k')
  await alice.page.getByRole('combobox', { name: 'Search commands' }).fill('row filter')
  await alice.page
    .getByRole('option', { name: /row filter/i })
    .first()
    .waitFor()
  await alice.page.getByRole('combobox').fill('admin')
  await alice.page.getByText('Documentation', { exact: true }).first().waitFor()
  assert.equal(await alice.page.getByRole('option', { name: 'admin', exact: true }).count(), 0)
  alice.check()
  await alice.context.close()
})

test('prices of the demonstration move on the start page of the site and of the console', async () => {
  const view = await scene.open('')
  await view.page.locator('.live-price', { hasText: 'ACME' }).waitFor()
  await view.page.locator('.live-price:is(.up, .down)').first().waitFor()
  // Without signing in they are late; a short delay is over sooner.
  await admin.request('/admin/products/DEMO.L1', {
    ...{ method: 'PATCH', body: { delay: '2 seconds' } },
    headers: { 'if-match': '*', 'content-type': 'application/merge-patch+json' },
  })
  await view.page.goto(`${scene.server.issuer}/`)
  await view.page.getByText('Without signing in they are 2 seconds late, as they are licensed.').waitFor()
  await view.page.locator('#prices li', { hasText: 'ACME' }).waitFor()
  await view.page.locator('#prices li:is(.up, .down)').first().waitFor()
  assert.match(await view.page.evaluate<string>('getComputedStyle(document.body).fontFamily'), /^Inter/)
  assert.ok(await view.page.evaluate('document.fonts.check("16px Inter")'))
  assert.deepEqual(await view.axe(), [])
  view.check()
  await view.context.close()
})

test('the theme is that of the system until one is chosen, which then stays', IN_LONG_RUNS, async () => {
  const view = await scene.open('', { dark: true })
  const surface = () => view.page.evaluate('getComputedStyle(document.querySelector(".main")).backgroundColor')
  const dark = await surface()
  await view.page.keyboard.press('Control+k')
  await view.page.getByRole('combobox', { name: 'Search commands' }).fill('light')
  await view.page.keyboard.press('Enter')
  await view.page.locator('html[data-theme=light]').waitFor()
  const light = await surface()
  assert.notEqual(light, dark)
  await view.page.reload()
  await view.page.locator('.shell').waitFor()
  assert.equal(await surface(), light)
  view.check()
  await view.context.close()
})

test('the language is that of the account until another is chosen, which then stays', async () => {
  const heidi = await createUser('heidi', [], { locale: 'de-CH' })
  const view = await scene.open('', { user: heidi })
  await view.page.getByText('Hallo The heidi.').waitFor()
  assert.equal(await view.page.locator('html').getAttribute('lang'), 'de')
  await view.page.getByRole('button', { name: 'The heidi' }).click()
  await view.page.getByRole('menuitemradio', { name: 'English' }).click()
  await view.page.getByText('Hello, The heidi.').waitFor()
  await view.page.reload()
  await view.page.getByText('Hello, The heidi.').waitFor()
  await view.page.keyboard.press('Control+k')
  await view.page.getByRole('combobox', { name: 'Search commands' }).fill('deutsch')
  await view.page.keyboard.press('Enter')
  await view.page.getByText('Hallo The heidi.').waitFor()
  view.check()
  await view.context.close()
})

test('where cookies are refused, the console stays in the language of the browser', async () => {
  const context = await scene.browser.newContext()
  await context.addInitScript("Object.defineProperty(document, 'cookie', { get: () => '', set() {} })")
  const page = await context.newPage()
  let loads = 0
  page.on('load', () => loads++)
  await page.goto(`${scene.server.issuer}/console`)
  await signInOn(page, await createUser('urs', [], { locale: 'de' }))
  await page.getByText('Hello, The urs.').waitFor()
  const before = loads
  await page.waitForTimeout(500)
  assert.equal(loads, before)
  await context.close()
})

test('at 390 px the navigation is a menu, and nothing is wider than the window', async () => {
  const view = await scene.open('', { width: 390 })
  const { page } = view
  assert.equal(await page.locator('#navigation').isVisible(), false)
  await page.getByRole('button', { name: 'Navigation' }).click()
  await page.getByRole('link', { name: 'Start', exact: true }).click()
  await page.locator('#navigation').waitFor({ state: 'hidden' })
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
  assert.deepEqual(await view.axe(), [])
  view.check()
  await view.context.close()
})

test('a server that cannot sign in is reported with the code and the request id', IN_LONG_RUNS, async () => {
  const view = await scene.open('')
  const body = JSON.stringify({ title: 'The database is away', Code: 'server.unavailable' })
  const reply = { status: 500, body, headers: { 'request-id': 'some-request' } }
  await view.page.route('**/.well-known/openid-configuration', (route) => route.fulfill(reply))
  await view.page.reload()
  await view.page.getByRole('heading', { name: 'You could not be signed in' }).waitFor()
  const text = await view.page.getByRole('alert').textContent()
  assert.match(text ?? '', /The database is away.*server\.unavailable.*some-request/)
  assert.deepEqual(await view.axe(), [])
  view.check(/status of 500/)
  await view.context.close()
})

test('axe-core finds nothing, also in the palette and the menu, light and dark', async () => {
  for (const dark of [false, true]) {
    const view = await scene.open('', { dark })
    await view.page.getByRole('heading', { level: 1 }).waitFor()
    assert.deepEqual(await view.axe(), [])
    await view.page.keyboard.press('Control+k')
    await view.page.getByRole('option', { name: 'Sign out' }).waitFor()
    assert.deepEqual(await view.axe(), [])
    await view.page.keyboard.press('Escape')
    await view.page.locator('.who').click()
    await view.page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    assert.deepEqual(await view.axe(), [])
    view.check()
    await view.context.close()
  }
})
