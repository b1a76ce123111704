/** What scripts add to the pages, and that everything works without them: passwords, recovery codes, health, search. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { totpCode } from '../../packages/server/src/identity/factors/totp.ts'
import { fromBase32 } from '../support/base32.ts'
import { type BrowserContext, findComplaints, type Page } from '../support/chromium.ts'
import { ALICE, openScene, type Scene, signedInPage, signIn } from './scene.ts'

const BOB = { username: 'bob', password: 'the builder of long passwords' }

describe('controls', () => {
  let scene: Scene
  before(async () => {
    scene = await openScene()
  })
  after(() => scene.stop())

  test('a password can be shown and hidden again; it is hidden when the form is sent', async () => {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    const complaints = findComplaints(page)
    await page.goto(scene.authorize('shop'))
    const field = page.locator('#password')
    const button = page.getByRole('button', { name: 'Show password' })
    await field.fill('wrong but visible')
    await button.click()
    assert.deepEqual([await field.getAttribute('type'), await button.getAttribute('aria-pressed')], ['text', 'true'])
    await button.click()
    assert.deepEqual(
      [await field.getAttribute('type'), await button.getAttribute('aria-pressed')],
      ['password', 'false'],
    )
    await button.click()
    await page.locator('#username').fill('nobody')
    await page.evaluate(`addEventListener('submit', (event) => {
      document.title = document.getElementById('password').type
      event.preventDefault()
    })`)
    await page.locator('#sign-in-submit').click()
    assert.equal(await page.title(), 'password')
    assert.deepEqual(complaints, [])
    await context.close()
  })

  test('without scripts there are no dead buttons, and the help opens', async () => {
    const context = await scene.browser.newContext({ script: false })
    const page = await context.newPage()
    await page.goto(scene.authorize('shop'))
    assert.equal(await page.locator('[data-shows]').isVisible(), false)
    assert.equal(await page.locator('#passkey-submit').isVisible(), false)
    await page.locator('.help summary').click()
    assert.match(await page.locator('.help').innerText(), /Ask your administrator for a link/)
    await context.close()
  })

  test('recovery codes are on one line each, and can be copied, downloaded and printed', async () => {
    const context = await scene.browser.newContext({ width: 320 })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: scene.issuer })
    const page = await context.newPage()
    const complaints = findComplaints(page)
    await setUpAuthenticator(page)
    const codes = await page.locator('#recovery-codes code').allInnerTexts()
    assert.equal(codes.length, 10)
    const heights = await page
      .locator('#recovery-codes code')
      .evaluateAll((all) => all.map((code) => code.getClientRects().length))
    assert.deepEqual(new Set(heights), new Set([1]))
    await page.locator('#recovery-codes-copy').click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), `${codes.join('\n')}\n`)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('#recovery-codes-download').click(),
    ])
    assert.equal(download.suggestedFilename(), 'recovery-codes.txt')
    const text = await readFile(await download.path(), 'utf8')
    assert.deepEqual(text.split('\r\n'), ['Gatehouse: Recovery codes (bob)', '', ...codes, ''])
    await page.evaluate('print = () => { document.title = "printed" }')
    await page.getByRole('button', { name: 'Print' }).click()
    assert.equal(await page.title(), 'printed')
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.locator('.tools').isVisible(), false)
    assert.deepEqual(complaints, [])
    await context.close()
  })

  test('the health on the start page follows /readyz', async () => {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    const complaints = findComplaints(page)
    await page.clock.install()
    let answer: { status: string; checks: Record<string, string> } | undefined
    await page.route('**/readyz', (route) => (answer === undefined ? route.abort() : route.fulfill({ json: answer })))
    await page.goto(`${scene.issuer}/`)
    const health = page.locator('.health')
    assert.equal(await health.innerText(), 'Everything is running')
    answer = { status: 'unavailable', checks: { process: 'ok', database: 'no answer', query: 'ok' } }
    await page.clock.runFor(5000)
    await page.getByText('Not everything is running').waitFor()
    assert.match(await page.locator('[data-check=database]').innerText(), /no answer/)
    assert.equal(await page.locator('[data-check=database]').getAttribute('data-state'), 'bad')
    assert.deepEqual(complaints, [])
    answer = undefined
    await page.clock.runFor(5000)
    await page.getByText('The server does not answer').waitFor()
    await context.close()
  })

  test('the documentation is searched while typing, by keyboard alone, and without scripts by a form', async () => {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    const complaints = findComplaints(page)
    await page.goto(`${scene.issuer}/docs`)
    await page.keyboard.press('/')
    await page.keyboard.type('refresh tokens')
    const first = page.locator('#docs-results a').first()
    await page.locator('#docs-results a', { hasText: 'Refresh tokens' }).first().waitFor()
    assert.match(await first.innerText(), /^Refresh tokens/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/tokens#refresh-tokens')
    await page.locator('#docs-q').fill('zzzzqqqq')
    await page.getByText('Nothing was found').first().waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('#docs-results').isVisible(), false)
    assert.deepEqual(complaints, [])
    await context.close()

    const plain = await scene.browser.newContext({ script: false })
    const other = await plain.newPage()
    await other.goto(`${scene.issuer}/docs`)
    await other.locator('#docs-q').fill('refresh tokens')
    await other.keyboard.press('Enter')
    assert.match(await other.locator('.hits a').first().innerText(), /^Refresh tokens/)
    await plain.close()
  })

  test('the theme that was chosen in the console is that of the start page, the account and the documentation', async () => {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    await page.goto(`${scene.issuer}/`)
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await background()
    await page.evaluate(`localStorage.setItem('gatehouse:theme', 'dark')`)
    for (const path of ['/', '/docs', '/account']) {
      await page.goto(scene.issuer + path)
      if (path === '/account') await signIn(page, ALICE)
      await page.locator('#content').waitFor()
      assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark', path)
      assert.notEqual(await background(), light, path)
    }
    await context.close()
  })

  test('on a phone the contents of the documentation open without scripts', async () => {
    const context = await scene.browser.newContext({ script: false, width: 390 })
    const page = await context.newPage()
    await page.goto(`${scene.issuer}/docs/settings`)
    assert.equal(await page.locator('#docs-navigation').isVisible(), false)
    await page.locator('.contents').click()
    await page.locator('#docs-navigation a', { hasText: 'Tokens' }).click()
    await page.waitForURL('**/docs/tokens')
    await context.close()
  })

  test('without scripts, access is withdrawn after a question, and the page says so', async () => {
    const { context } = await signedInPage(scene, 'shop')
    const cookies = await context.storageState()
    await context.close()
    const plain: BrowserContext = await scene.browser.newContext({ script: false })
    await plain.addCookies(cookies.cookies)
    const page = await plain.newPage()
    await page.goto(`${scene.issuer}/account/applications`)
    await page.getByRole('link', { name: 'Remove access for The Shop' }).click()
    await page.locator('#confirm-cancel').click()
    await page.getByRole('link', { name: 'Remove access for The Shop' }).click()
    assert.match(await page.locator('main').innerText(), /Remove access for The Shop\?[\s\S]*Know who you are/)
    await page.locator('#confirm-submit').click()
    assert.match(await page.locator('.notice').innerText(), /no longer has access/)
    assert.equal(await page.getByText('No application has access to your account.').isVisible(), true)
    await plain.close()
  })

  async function setUpAuthenticator(page: Page): Promise<void> {
    await page.goto(`${scene.issuer}/account/authenticator`)
    await signIn(page, BOB)
    const secret = fromBase32((await page.locator('#authenticator-key').textContent()) ?? '')
    await page.locator('#code').fill(totpCode(secret, Math.floor(Date.now() / 30_000)))
    await page.locator('#authenticator-submit').click()
    await page.locator('#recovery-codes').waitFor()
  }
})
