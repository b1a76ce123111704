/** Flows that need a real browser: scripts under the CSP, cross-site cookies, iframes. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { findComplaints, type Page } from '../support/chromium.ts'
import { openScene, type Scene, signedInPage, signIn } from './scene.ts'

describe('in a real browser', () => {
  let scene: Scene
  before(async () => {
    scene = await openScene()
  })
  after(() => scene.stop())

  test('A2: form_post submits itself under the CSP', async () => {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    const complaints = findComplaints(page)
    scene.shop.forget()
    await page.goto(scene.authorize('shop', { response_type: 'code id_token', response_mode: 'form_post' }))
    await signIn(page)
    const { method, form, url } = await scene.shop.arrival('/callback')
    assert.equal(method, 'POST')
    assert.deepEqual([...form.keys()].sort(), ['code', 'id_token', 'iss', 'session_state', 'state'])
    assert.equal(url.search, '')
    assert.deepEqual(complaints, [])
    await context.close()
  })

  test('A2: form_post without scripts has a button', async () => {
    const context = await scene.browser.newContext({ script: false })
    const page = await context.newPage()
    scene.shop.forget()
    await page.goto(scene.authorize('shop', { response_mode: 'form_post' }))
    await signIn(page)
    await page.locator('#form-post-submit').click()
    assert.equal((await scene.shop.arrival('/callback')).method, 'POST')
    await context.close()
  })

  test('oidcc-ensure-post-request-succeeds: a cross-site form POST finds the session', async () => {
    const { context, page } = await signedInPage(scene, 'shop')
    const fields = [...new URL(scene.authorize('shop', { state: 'posted' })).searchParams]
      .map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
      .join('')
    scene.shop.serve(
      '/start',
      `<!doctype html><title>Start</title><form method="post" action="${scene.issuer}/connect/authorize">${fields}<button id="go">Go</button></form>`,
    )
    await page.goto(`${scene.shop.origin}/start`)
    await page.locator('#go').click()
    await page.waitForURL('**/callback?*')
    assert.equal(new URL(page.url()).searchParams.get('state'), 'posted')
    await context.close()
  })

  test('oidcc-session-management-rp-initiated-logout: the session iframe answers unchanged, then changed', async () => {
    const { context, page, answer } = await signedInPage(scene, 'shop')
    const state = answer.get('session_state') ?? ''
    const watcher = await watch(await context.newPage(), scene.shop.origin)
    assert.deepEqual(await watcher(`shop ${state}`), { data: 'unchanged', origin: scene.issuer })
    assert.equal((await watcher(`shop ${state}`)).data, 'unchanged')
    await page.goto(`${scene.issuer}/connect/endsession`)
    await page.locator('#sign-out-confirm').click()
    await page.waitForLoadState()
    assert.deepEqual(await watcher(`shop ${state}`), { data: 'changed', origin: scene.issuer })
    await context.close()
  })

  test('B-76, C-116: the session iframe answers error to malformed messages and changed to other origins', async () => {
    const { context, answer } = await signedInPage(scene, 'shop')
    const state = answer.get('session_state') ?? ''
    const own = await watch(await context.newPage(), scene.shop.origin)
    for (const nonsense of ['', 'shop', ' ', 'shop not-a-state', `shop ${state} more`])
      assert.equal((await own(nonsense)).data, 'error', JSON.stringify(nonsense))
    assert.equal((await own(`desk ${state}`)).data, 'changed', 'client_id of another client')
    const otherOrigin = await watch(await context.newPage(), scene.desk.origin)
    assert.equal((await otherOrigin(`shop ${state}`)).data, 'changed', 'from another origin')
    await context.close()
  })

  test('oidcc-frontchannel-rp-initiated-logout, B-74: the logout URI of every client of the session is loaded, then the browser continues', async () => {
    const { context, page } = await signedInPage(scene, 'shop')
    await page.goto(scene.authorize('desk'))
    const allow = page.locator('#consent-allow')
    if ((await allow.count()) > 0) await allow.click()
    await page.waitForURL('**/callback?*')
    const complaints = findComplaints(page)
    scene.shop.forget()
    scene.desk.forget()
    const url = new URL(`${scene.issuer}/connect/endsession`)
    url.search = new URLSearchParams({
      client_id: 'shop',
      post_logout_redirect_uri: `${scene.shop.origin}/signed-out`,
      state: 'see you',
    }).toString()
    await page.goto(url.href)
    await page.locator('#sign-out-confirm').click()
    await page.waitForURL('**/signed-out?*')
    assert.equal(new URL(page.url()).searchParams.get('state'), 'see you')
    const atShop = await scene.shop.arrival('/frontchannel')
    const atDesk = await scene.desk.arrival('/frontchannel')
    assert.deepEqual([...atShop.url.searchParams.keys()].sort(), ['iss', 'sid'])
    assert.deepEqual([...atDesk.url.searchParams.keys()].sort(), ['iss', 'kept', 'sid'])
    assert.equal(atDesk.url.searchParams.get('iss'), scene.issuer)
    assert.equal(atShop.headers['sec-fetch-dest'], 'iframe')
    assert.deepEqual(complaints, [])
    await context.close()
  })

  test('C-01: the sign-in, error and device pages cannot be framed', async () => {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    for (const address of [scene.authorize('shop'), `${scene.issuer}/connect/authorize`, `${scene.issuer}/device`]) {
      scene.shop.serve(
        '/framing',
        `<!doctype html><title>Framing</title><iframe src="${address.replaceAll('&', '&amp;')}"></iframe>`,
      )
      await page.goto(`${scene.shop.origin}/framing`)
      await page.waitForLoadState('networkidle')
      const framed = page.frames().find((frame) => frame !== page.mainFrame())
      assert.equal(await framed?.locator('main').count(), 0, address)
    }
    await context.close()
  })

  test('C-113: an image on another site does not sign anyone out', async () => {
    const { context, page } = await signedInPage(scene, 'shop')
    scene.desk.serve('/evil', `<!doctype html><title>Evil</title><img src="${scene.issuer}/connect/endsession">`)
    await page.goto(`${scene.desk.origin}/evil`)
    await page.waitForLoadState('networkidle')
    await page.goto(scene.authorize('shop', { prompt: 'none', state: 'still' }))
    await page.waitForURL('**/callback?*')
    assert.equal(new URL(page.url()).searchParams.get('error'), null)
    await context.close()
  })

  /** Opens a page of a relying party with the session iframe; returns a function that sends it a message. */
  async function watch(
    page: Page,
    origin: string,
  ): Promise<(message: string) => Promise<{ data: string; origin: string }>> {
    const party = origin === scene.shop.origin ? scene.shop : scene.desk
    party.serve(
      '/watch',
      `<!doctype html><title>Watch</title><script>${ASK}</script><iframe id="op" src="${scene.issuer}/connect/checksession"></iframe>`,
    )
    await page.goto(`${origin}/watch`)
    await page.waitForLoadState('load')
    return (message) => page.evaluate(`ask(${JSON.stringify(message)})`)
  }
})

/** Runs in the page of the relying party. */
const ASK = `function ask(message) {
  return new Promise((resolve, reject) => {
    const frame = document.querySelector('iframe')
    addEventListener('message', ({ data, origin }) => resolve({ data: String(data), origin }), { once: true })
    setTimeout(() => reject(new Error('no answer')), 3000)
    frame.contentWindow.postMessage(message, new URL(frame.src).origin)
  })
}`
