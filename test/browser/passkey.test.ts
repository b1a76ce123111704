/** Passkeys in a real browser with a virtual authenticator: created on the account page, used alone and after a password. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { findComplaints, type Page } from '../support/chromium.ts'
import { findViolations } from './axe.ts'
import { ALICE, openScene, type Scene, signedInPage } from './scene.ts'

describe('passkeys', () => {
  let scene: Scene
  before(async () => {
    scene = await openScene()
  })
  after(() => scene.stop())

  test('a passkey created on the account page signs in alone and after a password, and amr shows which', async () => {
    const { context, page } = await signedInPage(scene, 'shop')
    const complaints = findComplaints(page)
    await plugInAuthenticator(page)
    await page.goto(`${scene.issuer}/account/security`)
    await page.locator('#add-passkey').click()
    await page.locator('#passkey-submit').waitFor()
    await assertNoBarriers(page)
    await page.locator('#passkey-submit').click()
    await page.locator('#recovery-codes-kept').waitFor()
    await assertNoBarriers(page)
    await page.locator('#recovery-codes-kept').click()

    await signOut(page)
    await page.goto(scene.authorize('shop', { response_type: 'id_token' }))
    await page.locator('#passkey-submit').click()
    assert.deepEqual(await readAmr(page), ['mfa', 'pop', 'user'])

    await signOut(page)
    await page.goto(scene.authorize('shop', { response_type: 'id_token' }))
    await page.locator('#username').fill(ALICE.username)
    await page.locator('#password').fill(ALICE.password)
    await page.locator('#sign-in-submit').click()
    await page.waitForURL('**/second-factor*')
    await page.locator('#passkey-submit').waitFor()
    await assertNoBarriers(page)
    await page.locator('#passkey-submit').click()
    const amr = await readAmr(page)
    assert.ok(amr.includes('pwd') && amr.includes('mfa') && amr.includes('pop'), `${amr}`)
    assert.deepEqual(complaints, [])
    await context.close()
  })

  test('the page that sets up an authenticator app is accessible', async () => {
    const context = await scene.browser.newContext()
    const page = await context.newPage()
    await page.goto(`${scene.issuer}/account/security`)
    await page.locator('#username').fill('bob')
    await page.locator('#password').fill('the builder of long passwords')
    await page.locator('#sign-in-submit').click()
    await page.locator('#add-authenticator').click()
    await page.locator('#authenticator-submit').waitFor()
    await assertNoBarriers(page)
    await context.close()
  })

  async function signOut(page: Page): Promise<void> {
    await page.goto(`${scene.issuer}/connect/endsession`)
    await page.locator('#sign-out-confirm').click()
    await page.locator('#sign-out-confirm').waitFor({ state: 'detached' })
  }
})

async function assertNoBarriers(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    assert.deepEqual(await findViolations(page), [], `${page.url()} in ${colorScheme}`)
  }
}

async function readAmr(page: Page): Promise<string[]> {
  await page.waitForURL('**/callback#*')
  const answer = new URLSearchParams(new URL(page.url()).hash.slice(1))
  const [, body = ''] = (answer.get('id_token') ?? '').split('.')
  const { amr } = JSON.parse(Buffer.from(body, 'base64url').toString()) as { amr: string[] }
  return amr.sort()
}

async function plugInAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}
