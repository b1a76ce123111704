/** Every page passes axe-core in both themes and at phone width, and loads nothing from other origins. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type BrowserContext, findComplaints, type Page } from '../support/chromium.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { findViolations, OF_APPEARANCE } from './axe.ts'
import { openScene, type Scene, signedInPage, signIn } from './scene.ts'

/** How to open each page, in a new browser or signed in as Alice. */
const PAGES: readonly { name: string; as?: 'alice'; open: (page: Page, scene: Scene) => Promise<unknown> }[] = [
  ...(['/', '/nothing', '/docs', '/docs/concepts', '/docs/shell', '/docs/search?q=token'] as const).map((path) => ({
    name: path,
    open: (page: Page, scene: Scene) => page.goto(scene.issuer + path),
  })),
  ...(
    ['/account', '/account/security', '/account/sessions', '/account/applications', '/account/password'] as const
  ).map((path) => ({
    name: path,
    as: 'alice' as const,
    open: (page: Page, scene: Scene) => page.goto(scene.issuer + path),
  })),
  {
    name: 'the question before access is withdrawn',
    as: 'alice',
    async open(page, scene) {
      await page.goto(`${scene.issuer}/account/applications`)
      await page.locator('#consents .danger').first().click()
      await page.locator('#confirm-submit').waitFor()
    },
  },
  {
    name: 'a profile with an error',
    as: 'alice',
    async open(page, scene) {
      await page.goto(`${scene.issuer}/account`)
      await page.evaluate('document.forms.profile.noValidate = true')
      await page.locator('#website').fill('javascript:alert(1)')
      await page.locator('#profile-submit').click()
      await page.locator('#error-summary').waitFor()
    },
  },
  { name: 'sign-in', open: (page, scene) => page.goto(scene.authorize('shop')) },
  {
    name: 'sign-in with an error',
    async open(page, scene) {
      await page.goto(scene.authorize('shop'))
      await page.locator('#username').fill('nobody-of-that-name')
      await page.locator('#password').fill('wrong password')
      await page.locator('#sign-in-submit').click()
      await page.locator('#error-summary').waitFor()
      await page.locator('.help summary').click()
    },
  },
  {
    name: 'consent',
    as: 'alice',
    async open(page, scene) {
      await page.goto(scene.authorize('shop', { prompt: 'consent' }))
      await page.locator('#consent-allow').waitFor()
    },
  },
  {
    name: 'choose account',
    as: 'alice',
    async open(page, scene) {
      await page.goto(scene.authorize('shop', { prompt: 'select_account' }))
      await page.locator('#choose-account-continue').waitFor()
    },
  },
  { name: 'error', open: (page, scene) => page.goto(`${scene.issuer}/connect/authorize?client_id=unknown`) },
  {
    name: 'device',
    as: 'alice',
    async open(page, scene) {
      await page.goto(`${scene.issuer}/device`)
      await page.locator('#user_code').waitFor()
    },
  },
  {
    name: 'device confirmation',
    as: 'alice',
    async open(page, scene) {
      const { verification_uri_complete: address } = await startDevice(scene)
      await page.goto(address)
      if ((await page.locator('#device-submit').count()) > 0) await page.locator('#device-submit').click()
      await page.locator('#device-allow').waitFor()
    },
  },
  {
    name: 'authenticator app',
    as: 'alice',
    async open(page, scene) {
      await page.goto(`${scene.issuer}/account/authenticator`)
      await page.locator('.qr').waitFor()
    },
  },
  {
    name: 'passkey',
    as: 'alice',
    async open(page, scene) {
      await page.goto(`${scene.issuer}/account/passkey`)
      await page.locator('h1').waitFor()
    },
  },
  {
    name: 'device connected',
    as: 'alice',
    async open(page, scene) {
      const { verification_uri_complete: address } = await startDevice(scene)
      await page.goto(address)
      await page.locator('#device-allow').click()
      await page.locator('#device-allow').waitFor({ state: 'detached' })
    },
  },
  {
    name: 'sign-out',
    as: 'alice',
    async open(page, scene) {
      await page.goto(`${scene.issuer}/connect/endsession`)
      await page.locator('#sign-out-confirm').waitFor()
    },
  },
  {
    name: 'signed out',
    as: 'alice',
    async open(page, scene) {
      await page.goto(`${scene.issuer}/connect/endsession`)
      await page.locator('#sign-out-confirm').click()
      await page.locator('#sign-out-confirm').waitFor({ state: 'detached' })
    },
  },
]

/** Those that look most different. */
const OFTEN = new Set([
  '/',
  '/docs/concepts',
  '/account/security',
  'sign-in with an error',
  'consent',
  'passkey',
  'signed out',
])

describe('pages', () => {
  let scene: Scene
  before(async () => {
    scene = await openScene()
  })
  after(() => scene.stop())

  for (const { name, as, open } of PAGES) {
    const options = OFTEN.has(name) ? {} : IN_LONG_RUNS
    test(
      `${name}: accessible, light and wide as dark on a phone, and nothing from other origins`,
      options,
      async () => {
        const { page, close } = await visitor(as)
        const complaints = findComplaints(page)
        const foreign: string[] = []
        page.on('request', (request) => {
          const { origin, protocol } = new URL(request.url())
          if (protocol !== 'data:' && ![scene.issuer, scene.shop.origin].includes(origin)) foreign.push(request.url())
        })
        await open(page, scene)
        assert.deepEqual(await findViolations(page), [])
        assert.deepEqual(foreign, [])
        assert.deepEqual(
          complaints.filter((text) => !/status of 4\d\d/.test(text)),
          [],
        )
        await page.emulateMedia({ colorScheme: 'dark' })
        await page.setViewportSize({ width: 320, height: 640 })
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        assert.ok(Number(overflow) <= 0, `the page is ${overflow} pixels too wide for a phone`)
        assert.deepEqual(await findViolations(page, OF_APPEARANCE), [], 'on a phone, dark')
        await close()
      },
    )
  }

  test('axe-core finds a violation where there is one', async () => {
    const { page, close } = await visitor()
    scene.shop.serve('/barrier', '<!doctype html><html lang="en"><title>x</title><main><img src="data:,"></main>')
    await page.goto(`${scene.shop.origin}/barrier`)
    assert.match((await findViolations(page)).join(), /^image-alt: /)
    await close()
  })

  test('C-77: the user enters a device code, sees the client and its scopes, and decides', async () => {
    const { page, close } = await visitor()
    const { user_code: userCode, device_code: deviceCode } = await startDevice(scene)
    await page.goto(`${scene.issuer}/device`)
    if ((await page.locator('#username').count()) > 0) await signIn(page)
    await page.locator('#user_code').fill(userCode.toLowerCase().replaceAll('-', ' '))
    await page.locator('#device-submit').click()
    await page.waitForLoadState()
    if ((await page.locator('#username').count()) > 0) await signIn(page)
    assert.match((await page.locator('main').textContent()) ?? '', /Trading terminal/)
    await page.locator('#device-allow').click()
    await page.locator('#device-allow').waitFor({ state: 'detached' })
    await scene.gatehouse.elapse(6000)
    const response = await postForm(scene, '/connect/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: deviceCode,
      client_id: 'device',
    })
    assert.equal(response.status, 200)
    await close()
  })

  let alice: BrowserContext | undefined

  /** Alice's browser serves page after page until she signs out. */
  async function visitor(as?: 'alice'): Promise<{ page: Page; close(): Promise<void> }> {
    if (as === 'alice') {
      alice ??= (await signedInPage(scene, 'shop')).context
      const page = await alice.newPage()
      return { page, close: () => page.close() }
    }
    const context = await scene.browser.newContext()
    return { page: await context.newPage(), close: () => context.close() }
  }
})

interface DeviceAnswer {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri_complete: string
}

async function startDevice(scene: Scene): Promise<DeviceAnswer> {
  const response = await postForm(scene, '/connect/deviceauthorization', { client_id: 'device', scope: 'openid' })
  return (await response.json()) as DeviceAnswer
}

/** The server under a name that this process can resolve. */
function postForm({ gatehouse }: Scene, path: string, form: Record<string, string>): Promise<Response> {
  return fetch(`https://localhost:${gatehouse.server.port}${path}`, { method: 'POST', body: new URLSearchParams(form) })
}
