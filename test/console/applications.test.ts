/** Applications in the console, in a real Chromium: the wizard and the code that it ends in, secrets, what is built in. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import type { Page } from '../support/chromium.ts'
import { ADMIN, ALICE, type ConsoleScene, openConsole, signInOn } from '../support/console.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
let scene: ConsoleScene
let admin: Gatehouse

before(async () => {
  scene = await openConsole({ flags: { '--scim': 'true' } })
  admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
})
after(async () => {
  admin?.close()
  await scene?.stop()
})

/** The code as the page shows it, as a script that has its libraries in it. */
async function bundle(code: string, platform: 'browser' | 'node'): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: ROOT, loader: 'js' },
    alias: { 'gatehouse-client': `${ROOT}/packages/client/src/index.ts` },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform,
    write: false,
    logLevel: 'error',
  })
  return outputFiles[0]?.text ?? ''
}

async function readCode(page: Page, library: string): Promise<string> {
  await page.locator('.segment', { hasText: library }).click()
  return (await page.locator('.code pre').last().textContent()) ?? ''
}

async function runProgram(code: string, env: Record<string, string>): Promise<string> {
  const script = await bundle(code, 'node')
  const child = spawn(process.execPath, ['--input-type=module', '-'], { env: { ...process.env, ...env } })
  child.stdin.end(script)
  const [out, faults] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.equal(faults, '')
  return out
}

test('the wizard for a page explains a bad address, and ends in code that signs people in', async () => {
  const view = await scene.open('/applications')
  const { page } = view
  await page.getByRole('link', { name: 'Connect an application' }).click()
  await page.getByRole('link', { name: /^Single-page app/ }).click()
  await page.getByLabel('Name', { exact: true }).fill('Trading Desk')
  assert.equal(await page.getByLabel('Client id').inputValue(), 'trading-desk')
  const redirect = page.getByRole('textbox', { name: 'redirect URI 1' })
  const connect = page.getByRole('button', { name: 'Connect', exact: true })
  for (const [address, fault] of [
    ['http://desk.example.com/', /http is allowed on loopback only/],
    ['https://*.example.com/', /wildcards are not allowed/i],
    ['desk.example.com', /not an absolute URI/i],
  ] as const) {
    await redirect.fill(address)
    await page.locator('.fault').getByText(fault).waitFor()
    assert.equal(await connect.isDisabled(), true)
  }
  await page.getByRole('textbox', { name: 'origin 1' }).fill('https://other.example.com/path')
  await page.locator('.fault').getByText('write https://other.example.com').waitFor()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('textbox', { name: 'origin 1' }).fill('https://other.example.com')

  let script = ''
  const site = createServer((request, response) => {
    const isScript = request.url === '/app.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : '<!doctype html><title>Desk</title><script type="module" src="/app.js"></script>')
  }).listen(0)
  await once(site, 'listening')
  const home = `http://localhost:${(site.address() as AddressInfo).port}/`
  await redirect.fill(home)
  await page.getByRole('checkbox', { name: 'Platform/Market' }).check()
  await connect.click()
  await page.waitForURL('**/applications/trading-desk/code')
  try {
    for (const library of ['gatehouse-client', 'oidc-client-ts']) {
      const code = await readCode(page, library)
      for (const value of [scene.server.issuer, 'trading-desk', home, 'openid profile Platform/Market'])
        assert.ok(code.includes(`'${value}'`), `${library}: ${value}`)
      script = await bundle(code, 'browser')
      const context = await scene.browser.newContext()
      const desk = await context.newPage()
      await desk.goto(home)
      await desk.locator('#sign-in-cancel').click()
      await desk.getByText('The sign-in was cancelled').waitFor()
      await desk.getByRole('button', { name: 'Sign in' }).click()
      await signInOn(desk, ALICE)
      const logged = desk.waitForEvent('console', { predicate: (message) => message.type() === 'log' })
      await desk.locator('#consent-allow').click()
      const [user] = (await logged).args()
      assert.equal((await user?.jsonValue())?.name, 'Alice Liddell', library)
      await context.close()
    }
    assert.match(await readCode(page, 'curl'), /client_id=trading-desk/)
  } finally {
    site.close()
    site.closeAllConnections()
  }
  view.check()
  await view.context.close()
})

test(
  'the wizard offers the claims of the user, and an application of our own does not ask for consent',
  IN_LONG_RUNS,
  async () => {
    const view = await scene.open('/applications/new?kind=server')
    const { page } = view
    await page.getByLabel('Name', { exact: true }).fill('Back office')
    await page.getByRole('textbox', { name: 'redirect URI 1' }).fill('https://office.example.com/callback')
    assert.equal(await page.getByRole('checkbox', { name: 'profile' }).isChecked(), true)
    for (const name of ['Platform/Market', 'email', 'See the names of the roles', 'Our own application'])
      await page.getByRole('checkbox', { name }).check()
    assert.equal(await page.getByRole('checkbox', { name: 'openid' }).count(), 0, 'always requested')
    await page.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.waitForURL('**/applications/back-office/code')
    const { scope, skip_consent } = await admin.admin.clients.get('back-office')
    assert.deepEqual([scope, skip_consent], ['openid profile email roles Platform/Market', true])
    await page.goto(`${scene.server.issuer}/console/applications/new?kind=service`)
    await page.getByRole('checkbox', { name: 'Platform/Market' }).waitFor()
    for (const name of ['profile', 'See the names of the roles', 'Our own application'])
      assert.equal(await page.getByRole('checkbox', { name }).count(), 0, name)
    view.check()
    await view.context.close()
  },
)

test('the secret of a service is shown once, works in the code, and a second one replaces it', async () => {
  const view = await scene.open('/applications/new?kind=service')
  const { page } = view
  await page.getByLabel('Name', { exact: true }).fill('Night job')
  await page.getByRole('checkbox', { name: 'Platform/Market' }).check()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  const first = (await page.locator('.shown-once-secret code').textContent()) ?? ''
  assert.match(first, /^[\w-]{30,}$/)
  assert.deepEqual(await view.axe(), [])
  const library = await readCode(page, 'gatehouse-client')
  assert.match(await runProgram(library, { CLIENT_SECRET: first }), /instruments/)
  const certified = await readCode(page, 'openid-client')
  assert.match(await runProgram(certified, { CLIENT_SECRET: first }), /instruments/)
  const shell = spawn('sh', ['-c', await readCode(page, 'curl')], { env: { ...process.env, CLIENT_SECRET: first } })
  assert.match(await text(shell.stdout), /instruments/)

  await page.getByRole('link', { name: 'Settings' }).click()
  assert.equal(await page.getByText(first).count(), 0)
  await page.getByRole('button', { name: 'Add a secret' }).click()
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const second = (await page.locator('.shown-once-secret code').textContent()) ?? ''
  assert.notEqual(second, first)
  await page.locator('tbody tr').nth(1).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Add a secret' }).isDisabled(), true)
  await page.locator('tbody tr').first().getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByText('The other secret stays').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('The secret was removed').waitFor()
  const status = async (secret: string) => {
    const headers = { authorization: `Basic ${btoa(`night-job:${secret}`)}` }
    const body = new URLSearchParams({ grant_type: 'client_credentials' })
    return (await fetch(`${scene.server.issuer}/connect/token`, { method: 'POST', headers, body })).status
  }
  assert.deepEqual([await status(first), await status(second)], [401, 200])
  await page.reload()
  await page.getByText('Only digests are stored').waitFor()
  assert.equal(await page.getByText(second).count(), 0)

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Disable' }).click()
  await page.getByRole('dialog').getByText('All its tokens are revoked at once').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await page.locator('.page-title').getByText('Disabled').waitFor()
  assert.equal(await status(second), 401)
  view.check()
  await view.context.close()
})

test('applications are found by a part of their name; what is built in is shown, and cannot be changed', async () => {
  await admin.admin.clients.create({
    client_id: 'reader',
    client_name: 'Reader',
    redirect_uris: ['https://reader.example.com/'],
    scope: 'openid Platform/Market Platform/News',
  })
  const view = await scene.open('/applications')
  const { page } = view
  assert.match((await page.getByRole('row', { name: /^Reader/ }).textContent()) ?? '', /Read market data.*Read news/)
  await page.getByRole('searchbox').pressSequentially('CONSOLE')
  await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
  await page.waitForURL(`${scene.server.issuer}/console/applications?search=CONSOLE`)
  await page.getByRole('link', { name: /Gatehouse console/ }).click()
  await page.getByText('This application is part of the server').waitFor()
  assert.equal(await page.getByRole('button', { name: /Edit|More actions/ }).count(), 0)
  assert.deepEqual(await view.axe(), [])
  view.check()
  await view.context.close()
})

test('settings are edited, and a scope that is taken away is gone', async () => {
  await admin.admin.clients.create({
    client_id: 'edited',
    client_name: 'Edited',
    redirect_uris: ['https://one.example.com/'],
    scope: 'openid Platform/Market Platform/News',
  })
  const view = await scene.open('/applications/edited')
  const { page } = view
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Another redirect URI' }).click()
  await page.getByRole('textbox', { name: 'redirect URI 2' }).fill('https://one.example.com/')
  await page.getByText('This is already listed').waitFor()
  await page.getByRole('textbox', { name: 'redirect URI 2' }).fill('https://two.example.com/')
  await page.getByRole('checkbox', { name: 'Platform/News' }).uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Edited was changed').waitFor()
  const client = await admin.admin.clients.get('edited')
  assert.deepEqual(client.redirect_uris, ['https://one.example.com/', 'https://two.example.com/'])
  assert.equal(client.scope, 'openid Platform/Market')
  view.check()
  await view.context.close()
})

test(
  'an API is declared with its scopes, which a role can give, changed, and not deleted while it is used',
  IN_LONG_RUNS,
  async () => {
    const resource = 'https://orders.example.com'
    const view = await scene.open('/applications/apis')
    const { page } = view
    await page.getByRole('link', { name: 'New API' }).first().click()
    await page.getByLabel('Resource').fill(`${resource}#x`)
    await page.getByRole('textbox', { name: 'Scope 1' }).fill('orders:write')
    await page.getByLabel('English').fill('Place orders')
    await page.getByLabel('German').fill('Orders aufgeben')
    await page.getByRole('button', { name: 'Declare the API' }).click()
    await page.locator('.fault').getByText('must be an absolute URI without a fragment').waitFor()
    await page.getByLabel('Resource').fill(resource)
    await page.getByRole('button', { name: 'Declare the API' }).click()
    await page.waitForURL(`**/apis/${encodeURIComponent(resource)}`)
    const text = { en: 'Place orders', de: 'Orders aufgeben' }
    assert.deepEqual((await admin.admin.apis.get(resource)).scopes, [{ name: 'orders:write', text }])
    await page.getByLabel('Name', { exact: true }).fill('Order desk')
    await page.getByLabel('Claims').fill('role')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('was changed').waitFor()
    assert.deepEqual((await admin.admin.apis.get(resource)).claims, ['role'])
    await admin.admin.roles.create({ name: 'order-desk', scopes: ['orders:write'] })
    const remove = async () => {
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    }
    await remove()
    await page.getByText('the role order-desk').waitFor()
    await admin.admin.roles.delete('order-desk')
    await remove()
    await page.getByText('was deleted').waitFor()
    await view.context.close()
  },
)

test('a provisioning token is issued, shown once, used, and revoked', IN_LONG_RUNS, async () => {
  await admin.admin.clients.create({
    client_id: 'hr-sync',
    client_name: 'Personnel',
    grant_types: ['client_credentials'],
    scope: 'Identity/Provisioning',
  })
  const view = await scene.open('/applications/scim-clients')
  const { page } = view
  await page.getByText('It has not connected yet').waitFor()
  await page.getByRole('button', { name: 'Issue a token' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Issue' }).click()
  const shown = page.locator('.shown-once-secret code')
  await shown.waitFor()
  const headers = { authorization: `Bearer ${await shown.textContent()}` }
  const users = `${scene.server.issuer}/scim/v2/Users?count=1`
  assert.equal((await fetch(users, { headers })).status, 200)
  await page.reload()
  await page.getByText('Last seen').waitFor()
  assert.equal(await shown.count(), 0)
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('No provisioning token').waitFor()
  assert.equal((await fetch(users, { headers })).status, 401)
  await view.context.close()
})

test('dark and at 390 px, axe-core finds nothing and nothing is wider than the window', async () => {
  const view = await scene.open('/applications', { dark: true, width: 390 })
  for (const path of [
    '',
    '/apis',
    '/apis/new',
    '/scim-clients',
    '/new',
    '/new?kind=spa',
    '/demo-web',
    '/demo-web/code',
    '/demo-cli/code',
  ]) {
    await view.page.goto(`${scene.server.issuer}/console/applications${path}`)
    await view.page.locator('.table, .section, .form, .cards, .code, .empty').first().waitFor()
    assert.deepEqual(await view.axe(), [], path)
    assert.equal(await view.page.evaluate('document.documentElement.scrollWidth'), 390, path)
  }
  view.check()
  await view.context.close()
})

test(
  'a service gives up its secret for its own key and a workload, and gets the secret back',
  IN_LONG_RUNS,
  async () => {
    await admin.admin.clients.create({
      client_id: 'pricer',
      grant_types: ['client_credentials'],
      scope: 'Platform/Market',
    })
    const view = await scene.open('/applications/pricer')
    const { page } = view
    await page.getByRole('button', { name: 'Change authentication' }).click()
    await page.getByLabel('Method').selectOption('keys')
    await page.getByLabel('Address of its public keys').fill('http://keys.example/jwks')
    await page.getByRole('button', { name: 'Another workload' }).click()
    await page.getByLabel('Issuer 1').fill('https://ci.example')
    await page.getByLabel('Subject 1').fill('repo:example/pricer:ref:refs/heads/main')
    assert.deepEqual(await view.axe(), [])
    const save = page.getByRole('button', { name: 'Save authentication' })
    await save.click()
    await page
      .locator('.fault')
      .getByText(/http is allowed on loopback only/)
      .waitFor()
    await page.getByLabel('Address of its public keys').fill('https://keys.example/jwks')
    await save.click()
    await page.getByText('The authentication was changed').waitFor()
    const { jwks_uri, federated, token_endpoint_auth_method: method } = await admin.admin.clients.get('pricer')
    assert.deepEqual(
      [jwks_uri, federated, method],
      [
        'https://keys.example/jwks',
        [{ issuer: 'https://ci.example', subject: 'repo:example/pricer:ref:refs/heads/main' }],
        'private_key_jwt',
      ],
    )
    assert.equal(await page.getByRole('heading', { name: 'Secrets' }).count(), 0)

    await page.getByRole('button', { name: 'Change authentication' }).click()
    await page.getByLabel('Method').selectOption('secret')
    await page.getByLabel('Address of its public keys').fill('')
    await page.getByRole('button', { name: 'Remove workload 1' }).click()
    await save.click()
    await page.getByRole('heading', { name: 'Secrets' }).waitFor()
    assert.equal((await admin.admin.clients.get('pricer')).jwks_uri, undefined)
    await view.close()
  },
)

test('an application is set to bound tokens and pushed requests, and back', IN_LONG_RUNS, async () => {
  await admin.admin.clients.create({ client_id: 'bound', redirect_uris: ['https://bound.example/callback'] })
  const view = await scene.open('/applications/bound')
  const { page } = view
  const members = async () => {
    const client = await admin.admin.clients.get('bound')
    return [client.dpop_bound_access_tokens, client.require_pushed_authorization_requests, client.profile]
  }
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Tokens bound to a key').check()
  await page.getByLabel('Pushed requests only').check()
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Needs bound tokens (DPoP) and pushed requests').waitFor()
  assert.deepEqual(await members(), [true, true, undefined])
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('FAPI 2.0 Security Profile').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/fapi2: must be private_key_jwt/).waitFor()
  await page.getByLabel('FAPI 2.0 Security Profile').uncheck()
  await page.getByLabel('Tokens bound to a key').uncheck()
  await page.getByLabel('Pushed requests only').uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Standard').waitFor()
  assert.deepEqual(await members(), [undefined, undefined, undefined])

  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Signed requests only').check()
  await page.getByText('Signature algorithms').click()
  await page.getByLabel('Introspection responses').selectOption('ES256')
  assert.deepEqual(await view.axe(), [])
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/needs the public keys of the client/).waitFor()
  await page.getByLabel('Signed requests only').uncheck()
  await page.getByLabel('Introspection responses').selectOption('RS256')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  assert.equal((await admin.admin.clients.get('bound')).introspection_signed_response_alg, 'RS256')
  await view.close()
})
