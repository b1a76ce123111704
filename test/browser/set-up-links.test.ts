/** The pages of set-up links and of a forced change in a real browser: accessible in both themes, narrow enough for a phone. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { findComplaints, type Page, startChromium, type TestBrowser } from '../support/chromium.ts'
import { openSqlitePlace, type SignInPlace } from '../support/sign-in-place.ts'
import { findViolations } from './axe.ts'

const PASSWORD = 'a long enough password'
const LONG_NAME = 'Maximiliane-Alexandra von Hohenstein-Württemberg-Sigmaringen'

describe('pages of set-up links', () => {
  let place: SignInPlace
  let browser: TestBrowser
  before(async () => {
    place = await openSqlitePlace()
    browser = await startChromium()
  })
  after(async () => {
    await browser.stop()
    await place.close()
  })

  let count = 0
  async function link(kind: 'invitation' | 'reset'): Promise<string> {
    const profile = { name: LONG_NAME }
    const userId = await place.stores.users.create({ username: `person-of-many-names-${++count}`, profile })
    const wanted = { kind, userId, createdBy: 'test', lifetimeMs: 3_600_000 }
    const { token } = await place.stores.setUpLinks.create(wanted)
    return `${place.server.issuer}/set-up?token=${token}`
  }

  async function submit(page: Page, password: string): Promise<void> {
    await page.locator('#new_password').fill(password)
    await page.locator('#new-password-submit').click()
    await page.waitForLoadState()
  }

  const PAGES: readonly { name: string; open: (page: Page) => Promise<unknown> }[] = [
    { name: 'invitation', open: async (page) => page.goto(await link('invitation')) },
    { name: 'reset', open: async (page) => page.goto(await link('reset')) },
    {
      name: 'invitation with an error',
      async open(page) {
        await page.goto(await link('invitation'))
        await submit(page, 'short')
        await page.locator('#error-summary').waitFor()
      },
    },
    {
      name: 'first administrator',
      open: async (page) => page.goto((await place.server.offerAdministrator())?.url ?? ''),
    },
    { name: 'link that cannot be used', open: (page) => page.goto(`${place.server.issuer}/set-up?token=x`) },
    {
      name: 'forced change',
      async open(page) {
        const username = `forced-${++count}`
        const passwordHash = await hashPassword(PASSWORD)
        await place.stores.users.create({ username, passwordHash, mustChangePassword: true })
        await page.goto(`${place.server.issuer}/account`)
        await page.locator('#username').fill(username)
        await page.locator('#password').fill(PASSWORD)
        await page.locator('#sign-in-submit').click()
        await page.locator('#change-password').waitFor()
      },
    },
  ]

  for (const { name, open } of PAGES)
    for (const dark of [false, true])
      test(`${name}, ${dark ? 'dark' : 'light'}: accessible, and no wider than a phone`, async () => {
        const context = await browser.newContext({ dark })
        const page = await context.newPage()
        const complaints = findComplaints(page)
        await open(page)
        assert.deepEqual(await findViolations(page), [])
        assert.deepEqual(
          complaints.filter((text) => !/status of 4\d\d/.test(text)),
          [],
        )
        await page.setViewportSize({ width: 320, height: 640 })
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        assert.ok(Number(overflow) <= 0, `the page is ${overflow} pixels too wide for a phone`)
        await context.close()
      })

  test('an invited person arrives at their account', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(await link('invitation'))
    await submit(page, PASSWORD)
    await page.waitForURL('**/account')
    assert.match((await page.locator('nav .who').textContent()) ?? '', new RegExp(LONG_NAME))
    await context.close()
  })
})
