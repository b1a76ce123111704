/** The area Operations of the console in a real browser: nodes, metrics, queries, keys, audit log, settings, backups. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { openAuditLog } from '../../packages/server/src/store/audit/audit.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { ADMIN, ALICE, type ConsolePage, type ConsoleScene, openConsole } from '../support/console.ts'
import { signIn } from '../support/demo-user.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

/** Longer than any test waits. */
const SLOW = `SELECT count(*) AS n FROM ${Array.from({ length: 7 }, (_value, index) => `trades t${index}`).join(' CROSS JOIN ')}`

let scene: ConsoleScene
let admin: ConsolePage
let token: string
before(async () => {
  scene = await openConsole()
  token = (await signIn(scene.server, ADMIN)).access_token
  admin = await scene.open('/operations')
})
after(() => scene.stop())

function call(method: string, path: string, body?: unknown, bearer = token): Promise<Response> {
  return fetch(`${scene.server.issuer}${path}`, {
    method,
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

test('the overview shows the node, and its charts move with the metrics', async () => {
  const { page } = admin
  await page.locator('.node', { hasText: 'ready' }).getByText('Query slots').waitFor()
  const requests = page.getByRole('img', { name: /^Requests: HTTP [\d.]+\/s/ })
  await requests.waitFor()
  const first = await requests.getAttribute('aria-label')
  for (let sent = 0; sent < 60; sent++) await (await fetch(`${scene.server.issuer}/healthz`)).text()
  await until('the chart has moved', 30_000, async () => (await requests.getAttribute('aria-label')) !== first)
  await page.getByRole('img', { name: /HTTP latency: p50 [\d.]+ ms/ }).waitFor()
  assert.deepEqual(await admin.axe(), [])
  admin.check()
})

test(
  'each node of several is shown, a worker with its number, and one that has stopped is gone',
  IN_LONG_RUNS,
  async () => {
    const { page } = admin
    const nodes = page.locator('.node', { hasText: 'ready' })
    const workers = nodes.getByText(/^worker \d$/)
    const other = await serveProcess([
      '--demo',
      '--workers',
      '2',
      '--data',
      scene.place.dataFolder,
      '--database-url',
      scene.place.databaseUrl,
      '--issuer',
      scene.server.issuer,
    ])
    try {
      await page.getByText('3 reply').waitFor()
      assert.deepEqual((await workers.allTextContents()).sort(), ['worker 1', 'worker 2'])
      assert.equal(await nodes.count(), 3)
      assert.deepEqual(await admin.axe(), [])
    } finally {
      await other.stop()
    }
    await nodes.nth(1).waitFor({ state: 'detached' })
    assert.equal(await workers.count(), 0)
    admin.check()
  },
)

test('a running query is listed without a reload, and cancelled after a question', IN_LONG_RUNS, async () => {
  const { page } = admin
  await page.getByRole('link', { name: 'Queries' }).click()
  await page.waitForURL(/operations\/queries$/)
  await page.getByText('No queries are running').waitFor()
  const { access_token: alice } = await signIn(scene.server, ALICE)
  const running = call('POST', '/query', { Statement: SLOW }, alice)
  const row = page.getByRole('row', { name: /CROSS JOIN.*alice/s })
  await row.waitFor()
  assert.deepEqual(await admin.axe(), [])
  await row.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel query' }).click()
  await page.getByText('The query was cancelled').waitFor()
  assert.notEqual((await running).status, 200)
  await page.getByText('No queries are running').waitFor()
  admin.check()
})

test('a key is rotated, and retiring one as compromised has to be typed', async () => {
  const { page } = admin
  await page.getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('row', { name: /Signs all new tokens/ }).waitFor()
  await page.getByRole('button', { name: 'Rotate…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  const waiting = page.getByRole('row', { name: /Published; will sign later/ })
  await waiting.waitFor()
  await waiting.getByRole('button', { name: /^Actions for key/ }).click()
  await page.getByRole('menuitem', { name: 'Retire as compromised…' }).click()
  const dialog = page.getByRole('dialog')
  assert.ok(await dialog.getByRole('button', { name: 'Retire key' }).isDisabled())
  await dialog.getByLabel(/^Type/).fill('compromised')
  await dialog.getByRole('button', { name: 'Retire key' }).click()
  await page.getByRole('row', { name: /Retired as compromised; its tokens are rejected/ }).waitFor()
  assert.deepEqual(await admin.axe(), [])
  admin.check()
})

test('the audit log is filtered, followed, opened and verified', async () => {
  const { page } = admin
  await page.getByRole('link', { name: 'Audit log' }).click()
  await page.getByRole('row', { name: /Signing key retired.*admin/s }).waitFor()
  await page
    .getByRole('row', { name: /Token issued/ })
    .first()
    .waitFor()
  await page.getByRole('switch', { name: 'Changes only' }).click()
  await page.waitForURL(/audit\?changes=true$/)
  await page.getByRole('row', { name: /Signing key retired.*admin/s }).waitFor()
  await page
    .getByRole('row', { name: /Token issued/ })
    .first()
    .waitFor({ state: 'detached' })
  assert.deepEqual(await admin.axe(), [])
  await page.getByRole('switch', { name: 'Changes only' }).click()
  await page.waitForURL(/audit$/)
  await page.getByLabel('Event').fill('user')
  await page.getByLabel('Actor').fill('admin')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.waitForURL(/audit\?event=user&actor=admin$/)
  await page.getByText('No event matches').waitFor()
  // What was written since the page was loaded is part of what is followed.
  assert.equal((await call('POST', '/admin/users', { username: 'eve', password: 'a-long-password-1' })).status, 201)
  await page.getByRole('switch', { name: 'Follow' }).click()
  const row = page.getByRole('row', { name: /User created.*admin.*eve/s })
  await row.waitFor()
  assert.deepEqual(await admin.axe(), [])
  await row.getByRole('link').click()
  await page.waitForURL(/audit\/\d+\?/)
  await page.getByRole('dialog', { name: 'User created' }).getByText('eve', { exact: true }).waitFor()
  await page.reload()
  await page.getByRole('dialog', { name: 'User created' }).getByText('eve', { exact: true }).waitFor()
  assert.deepEqual(await admin.axe(), [])
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
  await page.getByRole('link', { name: 'Verify the log…' }).click()
  await page.getByRole('button', { name: 'Verify' }).click()
  await page
    .getByText(/The log is intact: \d+ rows verified/)
    .first()
    .waitFor()
  const head = await page.locator('.verify-head code').textContent()
  await page.getByLabel('Recorded head (optional)').fill(`${head?.slice(0, -4)}0000`)
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('cell', { name: /does not have the recorded hash/ }).waitFor()
  assert.deepEqual(await admin.axe(), [])
  admin.check()
})

test('a verification that runs is cancelled, and can be started again', IN_LONG_RUNS, async () => {
  const { page } = admin
  await page.goto(`${scene.server.issuer}/console/operations/audit/verify`)
  const held = Promise.withResolvers<void>()
  await page.route('**/admin/audit/verify*', async (route) => {
    await held.promise
    await route.continue().catch(() => {})
  })
  await page.getByRole('button', { name: 'Verify' }).click()
  const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/audit/verify'))
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('Cancelled. 0 rows verified').waitFor()
  await ended
  held.resolve()
  await page.unroute('**/admin/audit/verify*')
  await page.getByRole('button', { name: 'Verify' }).click()
  await page
    .getByText(/The log is intact: \d+ rows verified/)
    .first()
    .waitFor()
  admin.check()
})

test('settings are searched; each says where it came from and leads to its documentation', IN_LONG_RUNS, async () => {
  const { page } = admin
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByLabel('Search settings').fill('stream drain')
  await page.waitForURL(/search=stream\+drain/)
  await page.getByRole('row', { name: /stream_drain_time.*0.*flag/s }).waitFor()
  assert.equal(await page.getByRole('row').count(), 2)
  const documentation = await page.getByRole('link', { name: /^stream_drain_time/ }).getAttribute('href')
  assert.match(documentation ?? '', /\/docs\/settings#stream_drain_time$/)
  await page.getByLabel('Search settings').fill('master key')
  await page.getByRole('row', { name: /master_key/ }).waitFor()
  assert.deepEqual(await admin.axe(), [])
  await page.getByRole('link', { name: 'Backups' }).click()
  await page.getByText('No backups yet').waitFor()
  assert.deepEqual(await admin.axe(), [])
  admin.check()
})

test('the configuration is exported as a declarative file', IN_LONG_RUNS, async () => {
  const view = await scene.open('/operations/settings')
  const { page } = view
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export configuration' }).click()
  const file = await saved
  assert.equal(file.suggestedFilename(), 'gatehouse.json')
  const { roles, tables } = JSON.parse(await readFile(await file.path(), 'utf8'))
  assert.ok(roles.some(({ name }: { name: string }) => name === 'trader'))
  assert.ok(tables.some(({ name }: { name: string }) => name === 'trades'))
  await page.getByRole('button', { name: 'Export configuration', disabled: false }).waitFor()
  view.check()
  await view.context.close()
})

test('backups are listed as the log has them, and one that is old is a warning', IN_LONG_RUNS, async () => {
  const { page } = admin
  const database = await openDatabase({ dataFolder: scene.place.dataFolder, url: scene.place.databaseUrl })
  const log = openAuditLog(database, {
    clock: Date.now,
    node: 'elsewhere',
    onError: (error) => assert.fail(String(error)),
  })
  log.record({ event: 'backup.taken', details: { rows: 1234, bytes: 5_000_000 } })
  await log.close()
  await database.close()
  await page.reload()
  await page.getByRole('row', { name: /taken.*1,234.*elsewhere/s }).waitFor()
  assert.equal(await page.getByText('there should be one every day').count(), 0)
  await page.clock.setFixedTime(Date.now() + 3 * 86_400_000)
  await page.reload()
  await page.getByText('there should be one every day').waitFor()
  assert.deepEqual(await admin.axe(), [])
  admin.check()
})

test('one who administers identities only sees keys and the audit log; on a telephone nothing is cut off', async () => {
  const user = { username: 'ida', password: 'a-long-password-1' }
  assert.equal((await call('POST', '/admin/roles', { name: 'identity', scopes: ['Identity/Admin'] })).status, 201)
  assert.equal((await call('POST', '/admin/users', { ...user, roles: ['identity'] })).status, 201)
  const view = await scene.open('/operations', { user, width: 390 })
  const { page } = view
  await page.getByRole('row', { name: /Signs all new tokens/ }).waitFor()
  assert.deepEqual(await page.locator('.tab').allTextContents(), ['Keys', 'Audit log'])
  await page.getByRole('link', { name: 'Audit log' }).click()
  await page
    .getByRole('row', { name: /User created/ })
    .first()
    .waitFor()
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
  await page.goto(`${scene.server.issuer}/console/operations/settings`)
  await page.getByText('You have no access to this area').waitFor()
  view.check()
  await view.close()
})
