/** An access token that is revoked while the console is open: each area continues with another one, until the session ends. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import type { Page } from '../support/chromium.ts'
import { ADMIN, type ConsolePage, type ConsoleScene, openConsole } from '../support/console.ts'

let scene: ConsoleScene
let admin: Gatehouse
let view: ConsolePage
let page: Page
/** Of the console, in the order in which it got them. */
const tokens: string[] = []
/** The replies 401: a request can be under way when its token is revoked. */
let refused = 0

before(async () => {
  scene = await openConsole()
  admin = new Gatehouse(scene.server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.query`create table ticks (id Integer primary key, price Integer not null) read scope 'Platform/Market'`
  await admin.query`insert into ticks values (1, 100)`
  view = await scene.open()
  page = view.page
  page.on('response', async (response) => {
    if (response.status() === 401) refused++
    if (response.url().endsWith('/connect/token')) tokens.push(((await response.json()) as Reply).access_token)
  })
  await page.reload()
  await page.getByText('Online', { exact: true }).waitFor()
})
after(async () => {
  admin?.close()
  await scene?.stop()
})

interface Reply {
  readonly access_token: string
}

/** Revokes the token of the console, and waits until it has another one on its stream too. */
async function revoke(): Promise<void> {
  const [before, revoked] = [tokens.length, tokens.at(-1) ?? '']
  const [replaced] = await Promise.all([
    page.waitForResponse('**/connect/token'),
    fetch(`${scene.server.issuer}/connect/revocation`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'gatehouse-console', token: revoked }),
    }),
  ])
  await replaced.finished()
  await page.getByText('Online', { exact: true }).waitFor()
  assert.equal(tokens.length, before + 1, 'one renewal')
  assert.notEqual(tokens.at(-1), revoked)
}

const cell = (row: number, column: number) =>
  page.locator(`[aria-rowindex="${row + 2}"] [aria-colindex="${column + 2}"]`)

test('Start stays, and the token is replaced at once', async () => {
  await revoke()
  await page.getByText('Hello, Demo Administrator.').waitFor()
})

test('Query: a live result continues', async () => {
  await page.getByRole('link', { name: 'Query', exact: true }).click()
  await page.locator('.cm-content').click()
  await page.keyboard.insertText('select id, price from ticks')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('switch', { name: 'Live' }).click()
  await page.locator('.query-summary').getByText('by keys').waitFor()
  await revoke()
  await admin.query`update ticks set price = 101 where id = 1`
  await cell(0, 1).getByText('101').waitFor()
  await page.keyboard.press('Control+Enter')
  await page.locator('.query-summary').getByText('by keys').waitFor()
})

test('Boards: the tiles go on', async () => {
  await page.getByRole('link', { name: 'Boards', exact: true }).click()
  await page.getByRole('link', { name: 'Market', exact: true }).click()
  const prices = page.getByRole('region', { name: 'Prices', exact: true }).locator('.grid-rows')
  await prices.getByText('ACME').waitFor()
  await revoke()
  const quote = { symbol: 'ACME', quoted_at: new Date(), bid: 101.24, ask: 101.26, bid_size: 100, ask_size: 100 }
  await admin.table('quotes').insert(quote)
  await prices.getByText(/^101\.24/).waitFor()
})

test('Streams: the connection of the inspector continues', async () => {
  await page.getByRole('link', { name: 'Streams', exact: true }).click()
  await page.getByRole('link', { name: 'Inspector', exact: true }).click()
  const online = page.locator('.inspector-connection .badge', { hasText: 'Connected' })
  await online.waitFor()
  await revoke()
  await online.waitFor()
  await page.getByRole('button', { name: 'Send', exact: false }).click()
  await page.locator('.message', { hasText: '"Name":"Gatehouse"' }).waitFor()
})

test('Operations: the audit log is followed on', async () => {
  await page.getByRole('link', { name: 'Operations', exact: true }).click()
  await page.getByRole('link', { name: 'Audit log' }).click()
  const following = page.waitForRequest(/\/admin\/audit\?.*wait=/)
  await page.getByRole('switch', { name: 'Follow' }).click()
  await following
  await revoke()
  await admin.admin.users.create({ username: 'eve', password: 'a long enough password' })
  await page.getByRole('row', { name: /User created.*eve/s }).waitFor()
})

test('when the session ends, nothing is shown any longer, and the way back is the sign-in page', async () => {
  view.check(/status of 401/)
  assert.equal(view.complaints.length, refused, 'nothing but the requests that were under way')
  await admin.request('/admin/users/admin/sessions', { method: 'DELETE' })
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  assert.equal(await page.getByText('eve').count(), 0)
  await page.getByRole('button', { name: 'Sign in again' }).click()
  await page.waitForURL(/\/sign-in/)
})
