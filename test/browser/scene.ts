/** The set-up of the browser tests: our server and two relying parties on three sites, over https, in a real Chromium. */
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { trustedCertificate } from '../support/certificate.ts'
import { type BrowserContext, type Page, startChromium, type TestBrowser } from '../support/chromium.ts'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { type Gatehouse, startGatehouse } from '../support/providers/gatehouse.ts'
import { type RelyingParty, startRelyingParty } from '../support/relying-party.ts'

export const ALICE = { username: 'alice', password: 'a long walk down the rabbit hole' } as const
export const SECRET = 'a-secret-of-the-web-client-that-is-long'

export interface Scene {
  readonly browser: TestBrowser
  readonly gatehouse: Gatehouse
  readonly issuer: string
  readonly shop: RelyingParty
  readonly desk: RelyingParty
  /** The URL of an authorization request of a client with these parameters. */
  authorize(clientId: string, parameters?: Readonly<Record<string, string>>): string
  stop(): Promise<void>
}

/** Clients: `shop` and `desk` are confidential web applications, each on its own site, `spa` is a public client on the shop. */
export async function openScene(): Promise<Scene> {
  const certificate = trustedCertificate()
  const shop = await startRelyingParty({ certificate, host: 'shop.example' })
  const desk = await startRelyingParty({ certificate, host: 'desk.example' })
  const { place, leave } = await openPlace('sqlite')
  const port = await freePort()
  const issuer = `https://identity.test:${port}`
  const gatehouse = await startGatehouse(place, {
    certificate,
    declaration: declare(shop.origin, desk.origin),
    flags: { '--port': String(port), '--issuer': issuer },
  })
  const browser = await startChromium()
  const origins: Readonly<Record<string, string>> = { shop: shop.origin, spa: shop.origin, desk: desk.origin }
  return {
    browser,
    gatehouse,
    issuer,
    shop,
    desk,
    authorize(clientId, parameters = {}) {
      const url = new URL(`${issuer}/connect/authorize`)
      const usual = {
        client_id: clientId,
        redirect_uri: `${origins[clientId]}/callback`,
        response_type: 'code',
        scope: 'openid profile email',
        state: 'some-state',
        nonce: 'some-nonce',
      }
      url.search = new URLSearchParams({ ...usual, ...parameters }).toString()
      return url.href
    },
    async stop() {
      await browser.stop()
      await gatehouse.stop()
      await shop.stop()
      await desk.stop()
      await leave()
    },
  }
}

/** Signs in as Alice on the open page, and consents if asked. */
export async function signIn(page: Page, { username, password }: { username: string; password: string } = ALICE) {
  await page.locator('#username').fill(username)
  await page.locator('#password').fill(password)
  await page.locator('#sign-in-submit').click()
  await page.waitForLoadState()
  const allow = page.locator('#consent-allow')
  if ((await allow.count()) > 0) await allow.click()
}

/** A browser context in which Alice has signed in to a client; the page is at the client's callback. */
export async function signedInPage(
  scene: Scene,
  clientId: string,
  options: Parameters<TestBrowser['newContext']>[0] = {},
): Promise<{ context: BrowserContext; page: Page; answer: URLSearchParams }> {
  const context = await scene.browser.newContext(options)
  const page = await context.newPage()
  await page.goto(scene.authorize(clientId))
  await signIn(page)
  await page.waitForURL('**/callback?*')
  return { context, page, answer: new URL(page.url()).searchParams }
}

function declare(shop: string, desk: string): Declaration {
  const web = {
    client_secret: SECRET,
    grant_types: ['authorization_code', 'implicit', 'refresh_token'],
    response_types: ['code', 'id_token', 'code id_token'],
    scope: 'openid profile email offline_access',
    frontchannel_logout_session_required: true,
  } satisfies Partial<NonNullable<Declaration['clients']>[number]>
  return {
    users: [
      { ...ALICE, name: 'Alice Liddell', given_name: 'Alice', email: 'alice@example.com', email_verified: true },
      { username: 'bob', password: 'the builder of long passwords', name: 'Bob' },
    ],
    clients: [
      {
        ...web,
        client_id: 'shop',
        client_name: 'The Shop',
        redirect_uris: [`${shop}/callback`],
        post_logout_redirect_uris: [`${shop}/signed-out`],
        frontchannel_logout_uri: `${shop}/frontchannel`,
      },
      {
        ...web,
        client_id: 'desk',
        client_name: 'The Desk',
        redirect_uris: [`${desk}/callback`],
        post_logout_redirect_uris: [`${desk}/signed-out`],
        frontchannel_logout_uri: `${desk}/frontchannel?kept=1`,
      },
      {
        client_id: 'spa',
        client_name: 'Single page',
        token_endpoint_auth_method: 'none',
        redirect_uris: [`${shop}/callback`, `${shop}/silent`],
        post_logout_redirect_uris: [`${shop}/signed-out`],
        grant_types: ['authorization_code', 'refresh_token'],
        scope: 'openid profile email offline_access',
        allowed_origins: [shop],
        skip_consent: true,
      },
      {
        client_id: 'device',
        client_name: 'Trading terminal',
        token_endpoint_auth_method: 'none',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        response_types: [],
        scope: 'openid profile offline_access',
      },
    ],
  }
}
