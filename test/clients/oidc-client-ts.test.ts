/** npm `oidc-client-ts` in a real browser: sign-in by redirect, both kinds of silent renewal, session monitor, sign-out. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { openScene, type Scene, signIn } from '../browser/scene.ts'
import type { BrowserContext, Page } from '../support/chromium.ts'

const LIBRARY = new URL('../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url)

describe('oidc-client-ts', () => {
  let scene: Scene
  before(async () => {
    scene = await openScene()
    const { shop } = scene
    shop.serve('/oidc.js', readFileSync(LIBRARY, 'utf8'), 'text/javascript')
    const page = (script: string) =>
      `<!doctype html><title>Single page</title><script src="/oidc.js"></script><script>${script}</script>`
    const manager = `const manager = new oidc.UserManager(${JSON.stringify({
      authority: scene.issuer,
      client_id: 'spa',
      redirect_uri: `${shop.origin}/callback`,
      silent_redirect_uri: `${shop.origin}/silent`,
      post_logout_redirect_uri: `${shop.origin}/signed-out`,
      scope: 'openid profile email',
      loadUserInfo: true,
      monitorSession: true,
      checkSessionIntervalInSeconds: 1,
      automaticSilentRenew: false,
    })}); window.signedOut = false; manager.events.addUserSignedOut(() => { window.signedOut = true });`
    shop.serve('/app', page(manager))
    shop.serve('/callback', page(`${manager} window.user = manager.signinCallback();`))
    shop.serve('/silent', page(`${manager} manager.signinSilentCallback();`))
    shop.serve('/signed-out', page(`${manager} window.done = manager.signoutCallback();`))
  })
  after(() => scene.stop())

  test('sign-in by redirect with PKCE, and userinfo across origins', async () => {
    const { context, page } = await signInToApplication()
    const profile = JSON.parse(String(await page.evaluate('user.then(({ profile }) => JSON.stringify(profile))')))
    assert.equal(profile.name, 'Alice Liddell')
    assert.equal(profile.email, 'alice@example.com')
    await context.close()
  })

  test('silent renewal by iframe returns a new access token', async () => {
    const { context, page } = await signInToApplication()
    const before = await page.evaluate('user.then((user) => user.access_token)')
    const after = await page.evaluate('manager.signinSilent().then((user) => user.access_token)')
    assert.equal(typeof after, 'string')
    assert.notEqual(after, before)
    await context.close()
  })

  test('silent renewal by refresh token rotates it', async () => {
    const { context, page } = await signInToApplication({ scope: 'openid offline_access', prompt: 'consent' })
    const before = await page.evaluate('user.then((user) => user.refresh_token)')
    const after = await page.evaluate('manager.signinSilent().then((user) => user.refresh_token)')
    assert.equal(typeof before, 'string')
    assert.equal(typeof after, 'string')
    assert.notEqual(after, before)
    await context.close()
  })

  test('the session monitor detects a sign-out in another window', async () => {
    const { context, page } = await signInToApplication()
    await page.evaluate('user.then(() => manager.querySessionStatus())')
    const elsewhere = await context.newPage()
    await elsewhere.goto(`${scene.issuer}/connect/endsession`)
    await elsewhere.locator('#sign-out-confirm').click()
    await elsewhere.locator('#sign-out-confirm').waitFor({ state: 'detached' })
    await page.waitForFunction('window.signedOut === true')
    await context.close()
  })

  test('sign-out returns to the application', async () => {
    const { context, page } = await signInToApplication()
    await page.evaluate('user.then(() => { manager.signoutRedirect({ state: "bye" }) })')
    await page.waitForURL('**/signed-out*')
    assert.equal(await page.evaluate('done.then(({ userState }) => userState)'), 'bye')
    await context.close()
  })

  async function signInToApplication(
    parameters: Record<string, string> = {},
  ): Promise<{ context: BrowserContext; page: Page }> {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    await page.goto(`${scene.shop.origin}/app`)
    await page.evaluate(`manager.signinRedirect(${JSON.stringify(parameters)}).catch(() => {}), undefined`)
    await page.locator('#username').waitFor()
    await signIn(page)
    await page.waitForURL('**/callback*')
    await page.evaluate('user.then(() => undefined)')
    return { context, page }
  }
})
